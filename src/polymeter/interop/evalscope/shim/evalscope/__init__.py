"""The modules of EvalScope's shim that have behaviour: runs, summaries, collections, helpers."""

__version__ = "0.17.0"
__release_datetime__ = "2025-07-04 17:00:00"
