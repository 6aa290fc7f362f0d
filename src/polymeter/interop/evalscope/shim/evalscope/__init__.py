"""What EvalScope's own modules do, where it is more than a name of ours: runs, summaries, collections, helpers."""

__version__ = "0.17.0"
__release_datetime__ = "2025-07-04 17:00:00"
