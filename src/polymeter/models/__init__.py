"""Models: one file or folder per backend. A backend only answers requests. The engine does batching, stop strings,
defaults and retries.
"""
