"""Models: one file or folder per backend. A backend only answers requests; batching, stop strings, defaults and retries
are the engine's.
"""
