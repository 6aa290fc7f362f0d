"""Stand-in for ``lmms_eval.loggers``: results go to files. They are sent nowhere."""

from __future__ import annotations

from typing import Any

from polymeter.core.errors import PlanError
from polymeter.interop.lmms_eval.shim.lmms_eval.loggers.evaluation_tracker import EvaluationTracker

__all__ = ["EvaluationTracker", "SwanLabLogger", "WandbLogger"]


class WandbLogger:
    """Sends results to Weights & Biases.

    Raises:
        PlanError: Always.
    """

    def __init__(self, **kwargs: Any) -> None:
        raise PlanError(
            f"{type(self).__name__} is not there: results are written to files and sent nowhere.",
            hint="Send what simple_evaluate gives back yourself.",
        )


class SwanLabLogger(WandbLogger):
    """As ``WandbLogger``."""
