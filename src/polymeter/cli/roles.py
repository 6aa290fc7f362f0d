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
        help="Arguments for the judge: key=value,… With several judges once for each of them, in order; '' for none.",
        metavar="PAIRS",
        rich_help_panel="What to measure",
        show_default=False,
    ),
]


def judge_roles(
    judges: Sequence[str] | None, args: Sequence[str] | None
) -> dict[str, str | ModelSpec | list[str | ModelSpec]]:
    """The roles that ``--judge`` and ``--judge-args`` fill.

    Raises:
        PlanError: if there are arguments without a judge, not as often as there are judges, or not of the form
            ``key=value``.
    """
    if not judges:
        if args:
            raise PlanError("--judge-args needs a judge.", where="--judge-args", hint="Add --judge SPEC.")
        return {}
    if len(judges) == 1:
        return {"judge": _with_args(judges[0], args) if args else judges[0]}
    if not args:
        return {"judge": [*judges]}
    if len(args) != len(judges):
        raise PlanError(
            f"There are {len(judges)} judges, and arguments for {len(args)}.",
            where="--judge-args",
            hint="Give --judge-args once for each --judge, in their order; '' for a judge that needs none.",
        )
    return {"judge": [_with_args(judge, [own]) if own else judge for judge, own in zip(judges, args, strict=True)]}


def _with_args(judge: str, args: Sequence[str]) -> ModelSpec:
    from polymeter.core.model import ModelSpec

    backend, _, name = judge.partition(":")
    return ModelSpec(backend, name, parse_model_args(judge, args, "--judge-args"))
