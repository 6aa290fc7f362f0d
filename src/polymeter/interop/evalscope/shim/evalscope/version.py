"""The version whose interface is stood in for."""

__version__ = "0.17.0"
__release_datetime__ = "2025-07-04 17:00:00"
