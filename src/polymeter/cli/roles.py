"""Options that name further models of a run, by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from polymeter.cli.pairs import parse_model_args
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.core.model import ModelSpec

JudgeArgs = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-args",
        help="Arguments for the judge: key=value,…",
        metavar="PAIRS",
        rich_help_panel="What to measure",
        show_default=False,
    ),
]


def judge_roles(judge: str | None, args: Sequence[str] | None) -> dict[str, str | ModelSpec]:
    """The roles that ``--judge`` and ``--judge-args`` fill.

    Raises:
        PlanError: if there are arguments without a judge, or not of the form ``key=value``.
    """
    if judge is None:
        if args:
            raise PlanError("--judge-args needs a judge.", where="--judge-args", hint="Add --judge SPEC.")
        return {}
    if not args:
        return {"judge": judge}
    from polymeter.core.model import ModelSpec

    backend, _, name = judge.partition(":")
    return {"judge": ModelSpec(backend, name, parse_model_args(judge, args, "--judge-args"))}
