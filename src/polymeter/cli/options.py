"""Options that several commands have in common, and how their values are read."""

from __future__ import annotations

from typing import Annotated

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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the results, no progress.")]


def number_or_auto(text: str | None, option: str) -> int | str | None:
    """A whole number of at least 1, or ``auto``."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(f"{text!r} is not a positive whole number.", where=option, hint="Write a number, or auto.")
    return int(text)
