"""Options that several commands have in common, and how their values are read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Literal

import typer

from polymeter.core.errors import PlanError

Parity = Annotated[
    str | None,
    typer.Option(
        "--parity",
        help="Where Polymeter differs from another system on purpose, take that system's values; none: its own.",
        metavar="SYSTEM",
        show_default=False,
    ),
]
StrictResume = Annotated[
    bool | None,
    typer.Option(
        "--strict-resume/--no-strict-resume",
        help="Refuse to continue a run whose endpoint, task sources or Polymeter code changed since it began.",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a number lacks a whole member or subset.")]
FailUnder = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        help="Exit with 3 if this number is lower, or missing: demo.anls=0.9. May be given several times.",
        metavar="TASK.METRIC=VALUE",
        show_default=False,
    ),
]
LogTo = Annotated[
    list[str] | None,
    typer.Option(
        "--log-to",
        help="Send the finished run to a tracker: wandb:project=vlm. May be given several times.",
        metavar="TRACKER[:KEY=VALUE,…]",
        show_default=False,
    ),
]
ReportSamples = Annotated[
    str | None,
    typer.Option(
        "--report-samples",
        help="Samples of each task in the HTML report, or all; default: as many as fit 20 MB, failures and the worst "
        "first.",
        metavar="N",
        show_default=False,
    ),
]
AllowGeneratedCode = Annotated[
    bool,
    typer.Option(
        "--allow-generated-code",
        help="Allow tasks that run code written by the model; each program runs in a process of its own, with limits.",
        rich_help_panel="What to measure",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the results, no progress.")]


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
        hint="Write --fail-under demo.anls=0.9, once for each number.",
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
