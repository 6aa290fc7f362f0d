"""The logger of benchmarks' own code. What it says goes where the run's log goes."""

from __future__ import annotations

from typing import Any

from polymeter.interop.evalscope.tasks.guest import get_logger

__all__ = ["configure_logging", "get_logger", "logger"]

logger = get_logger()


def configure_logging(debug: bool = False, log_file: str | None = None, **kwargs: Any) -> None:
    """Do nothing: a run decides where its log goes."""
