"""Finite numbers, in values of any type."""

from __future__ import annotations

import math
from typing import Any


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a number other than NaN and infinity; a truth value is one."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def finite_number(value: Any) -> float | None:
    """The finite number that a value is or spells; ``None`` if it is no such number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
