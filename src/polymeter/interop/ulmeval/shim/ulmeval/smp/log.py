"""Stand-in for ``ulmeval.smp.log``: loggers of benchmarks' and wrappers' own code."""

from __future__ import annotations

import logging

from polymeter.guests.loggers import guest_logger

__all__ = ["get_logger"]


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, file_mode: str = "w"
) -> logging.Logger:
    """The logger of a name. A file that is named is not written, and keys do not get into it."""
    return guest_logger(name)
