"""The parts of third-party packages that guests get in place of the original: local data, our metrics, packages that
are not installed.
"""
