"""Checks of the values of a metric's arguments, before any request is made."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean


def check_choice(metric: str, argument: str, value: Any, known: Collection[str]) -> None:
    """Check that an argument has one of the known values.

    Raises:
        PlanError: if it has another. The message names the nearest.
    """
    if isinstance(value, str) and value in known:
        return
    hint = (did_you_mean(value, known) if isinstance(value, str) else "") or f"Known: {', '.join(known)}."
    raise PlanError(f"Metric {metric!r} has no {argument} {value!r}.", hint=hint)


def check_number(
    metric: str, argument: str, value: Any, least: float = 0.0, most: float = math.inf, *, whole: bool = False
) -> None:
    """Check that an argument is a finite number from ``least`` to ``most``, or a whole one.

    Raises:
        PlanError: if it is not.
    """
    kind: Any = int if whole else (int, float)
    if isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value) and least <= value <= most:
        return
    limits = f"from {least:g} to {most:g}" if math.isfinite(most) else f"of at least {least:g}"
    raise PlanError(
        f"Metric {metric!r} has the {argument} {value!r}.",
        hint=f"Give a {'whole number' if whole else 'number'} {limits}.",
    )


def check_flag(metric: str, argument: str, value: Any) -> None:
    """Check that an argument is true or false.

    Raises:
        PlanError: if it is not.
    """
    if not isinstance(value, bool):
        raise PlanError(f"Metric {metric!r} has the {argument} {value!r}.", hint="Write true or false.")
