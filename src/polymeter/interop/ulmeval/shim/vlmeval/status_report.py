"""``vlmeval.smp.status_report``: telling numbers. What became of a run stands in its run folder."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["is_number", "to_number"]


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, or the text of one; a truth value is none."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def to_number(value: Any) -> float:
    """A value as a number."""
    return float(value)
