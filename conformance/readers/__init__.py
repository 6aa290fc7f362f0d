"""Exported runs, opened by each tool's own readers: ``python -m conformance.readers``."""
