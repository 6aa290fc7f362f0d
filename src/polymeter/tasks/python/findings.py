"""Findings about a task before anything is asked: missing or constant references, a missing judge."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from polymeter.core.errors import DataError, PlanError, ScoreError, count, enumerated
from polymeter.core.format import OpenContext
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import RolloutSteps, Sample
from polymeter.data import Rows
from polymeter.data.rows import is_missing
from polymeter.tasks.constant_targets import constant_target, equal_targets
from polymeter.tasks.python.fields import BoundFields
from polymeter.tasks.python.rows import PythonSamples, row_of
from polymeter.tasks.python.scoring.bound_scorers import BoundScorer
from polymeter.tasks.python.writing.records import PythonTask

_MOST_ROWS = 2000
"""The largest number of rows that are looked at before a run."""
_DEEPEST = 3
_JUDGES = "polymeter.judge"
_WRITE_IT = "Write it into the row, or leave the row out."


def reference_column(fields: BoundFields, rows: Rows, scorers: Sequence[BoundScorer]) -> str:
    """Return the column of text that answers are compared with; empty if there is none, or a function reads it."""
    column = fields.task.reference
    is_compared = any(one.needs_reference for one in scorers)
    return column if isinstance(column, str) and is_compared and column not in rows.media else ""


def asking_if_scorable(
    rollout: Callable[[Sample], RolloutSteps], task: PythonTask, column: str
) -> Callable[[Sample], RolloutSteps]:
    """Wrap a rollout so that nothing is sent about a sample without a reference: no answer to it can be scored."""
    if not column:
        return rollout

    def asking(sample: Sample) -> RolloutSteps:
        if is_missing(sample.doc.get(column)):
            what = f"Sample {sample.id} has no reference: column {column!r} is empty there."
            raise DataError(what, where=task.where, hint=_WRITE_IT)
        return (yield from rollout(sample))

    return asking


def reference_findings(
    fields: BoundFields, samples: PythonSamples, column: str, context: OpenContext
) -> Iterator[LintFinding]:
    """Yield findings about the references in a column. Functions are not called for this: they may cost anything.

    Raises:
        PlanError: if no row has one, or a row names no choice.
    """
    task = fields.task
    if not column:
        return
    measured = context.measured(len(samples))[:_MOST_ROWS]
    asked = samples[measured.start : measured.stop]
    missing = [sample.id for sample in asked if is_missing(sample.doc.get(column))]
    if missing and len(missing) == len(asked):
        raise PlanError(
            f"Column {column!r}, the reference of task {task.name!r}, is empty in every row.",
            where=task.where,
            hint="Name the column that has the answers.",
        )
    if task.choices is not None and not callable(task.choices):
        _check_choices(fields, [sample for sample in asked if sample.id not in missing])
    if missing:
        have, are, fail = ("has", "It is", "fails") if len(missing) == 1 else ("have", "They are", "fail")
        text = (
            f"{len(missing)} of {count(len(asked), 'sample')} {have} no reference: column {column!r} is empty in "
            f"{enumerated('sample', missing)}. {are} not sent to the model and {fail}."
        )
        yield LintFinding("row-without-target", text, task.name, task.where, _WRITE_IT)
    values = equal_targets(samples, lambda sample: sample.doc.get(column))
    yield from constant_target(task.name, task.where, values, len(samples), has_choices=task.choices is not None)


def _check_choices(fields: BoundFields, samples: Sequence[Sample]) -> None:
    """Refuse a row whose reference names no choice.

    Raises:
        PlanError: if there is one.
    """
    for sample in samples:
        try:
            fields.right_choices(row_of(sample))
        except ScoreError as error:
            raise PlanError(f"Sample {sample.id}: {error.what}", where=error.where, hint=error.hint) from error
        except DataError:
            continue  # it fails alone


def fewshot_findings(task: PythonTask, context: OpenContext) -> Iterator[LintFinding]:
    """Yield a finding if the run asks for examples, which only the prompt function can show."""
    if context.num_fewshot is not None:
        text = "It makes its own prompts: --num-fewshot has no effect on it."
        yield LintFinding("ignored-few-shot", text, task.name, severity="note")


def judge_findings(task: PythonTask, scorers: Sequence[BoundScorer], context: OpenContext) -> Iterator[LintFinding]:
    """Yield a finding if a scorer may ask a judge and the run has none."""
    if any(role.startswith("judge") for role in context.roles):
        return
    names = [one.name for one in scorers if one.scorer is not None and _asks_judge(one.scorer.function)]
    if names:
        text = (
            f"Scorer {names[0]!r} may ask a judge, but the run has none: samples that need a verdict will have no "
            "score."
        )
        hint = "Name one (--judge openai:NAME), or judge the answers later (polymeter score RUN --judge openai:NAME)."
        yield LintFinding("missing-judge", text, task.name, hint=hint)


def _asks_judge(function: Callable[..., Any], depth: int = 0) -> bool:
    """Return whether a function uses an object of ``polymeter.judge``, itself or through functions of its module."""
    plain = inspect.unwrap(function)
    if not isinstance(plain, FunctionType) or depth > _DEEPEST:
        return False
    for name in plain.__code__.co_names:
        used = plain.__globals__.get(name)
        home = getattr(used, "__module__", "") if not isinstance(used, type(sys)) else used.__name__
        if str(home or "").startswith(_JUDGES) or type(used).__module__.startswith(_JUDGES):
            return True
        if isinstance(used, FunctionType) and used.__module__ == plain.__module__ and _asks_judge(used, depth + 1):
            return True
    return False
