"""Readers for the values of flags that several commands share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from polymeter.core.errors import PlanError


def thresholds(texts: Iterable[str] | None) -> dict[str, float]:
    """The least values that ``--fail-under`` names, by task and metric.

    Raises:
        PlanError: if a text is not of the form ``TASK.METRIC=VALUE``, or names a number twice.
    """
    least: dict[str, float] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if not equals or "." not in name.strip("."):
            raise _no_threshold(text)
        try:
            limit = float(value)
        except ValueError:
            raise _no_threshold(text) from None
        if not math.isfinite(limit):
            raise _no_threshold(text)
        if name in least:
            raise PlanError(f"{name!r} is given twice.", where="--fail-under")
        least[name] = limit
    return least


def _no_threshold(text: str) -> PlanError:
    return PlanError(
        f"{text!r} is not of the form TASK.METRIC=VALUE.",
        where="--fail-under",
        hint="Write --fail-under demo.anls=0.9, once for each score.",
    )


def count_or_all(text: str | None, option: str) -> int | Literal["all"] | None:
    """A whole number of at least 1, or ``all``."""
    if text is None:
        return None
    if text == "all":
        return "all"
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(f"{text!r} is not a positive whole number.", where=option, hint="Write a number, or all.")
    return int(text)


def number_or_auto(text: str | None, option: str) -> int | str | None:
    """A whole number of at least 1, or ``auto``."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(f"{text!r} is not a positive whole number.", where=option, hint="Write a number, or auto.")
    return int(text)
