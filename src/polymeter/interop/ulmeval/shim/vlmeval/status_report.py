"""``vlmeval.smp.status_report``: recognising numbers. A run's outcome is in its run folder."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["is_number", "to_number"]


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number or the text of one; a boolean is not."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def to_number(value: Any) -> float:
    """A value as a number."""
    return float(value)
