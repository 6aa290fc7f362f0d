"""Notes and warnings about a task before anything is asked: missing references, a missing judge."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from polymeter.core.errors import DataError, PlanError, ScoreError, enumerated
from polymeter.core.format import OpenContext
from polymeter.data import Rows
from polymeter.data.rows import is_missing
from polymeter.tasks.python.fields import BoundFields
from polymeter.tasks.python.rows import PythonSamples, row_of
from polymeter.tasks.python.scoring.bound_scorers import BoundScorer
from polymeter.tasks.python.writing.records import PythonTask

_MOST_ROWS = 2000
"""The largest number of rows that are looked at before a run."""
_DEEPEST = 3
_JUDGES = "polymeter.judge"


def reference_notes(
    fields: BoundFields, rows: Rows, samples: PythonSamples, scorers: Sequence[BoundScorer], context: OpenContext
) -> Iterator[str]:
    """Yield a note if some rows have no reference. Functions are not called for this: they may cost anything.

    Raises:
        PlanError: if none has one, or a row names no choice.
    """
    task, column = fields.task, fields.task.reference
    is_compared = any(one.needs_reference for one in scorers)
    if not isinstance(column, str) or not is_compared or column in rows.media or callable(task.choices):
        return
    measured = context.measured(len(samples))[:_MOST_ROWS]
    asked = samples[measured.start : measured.stop]
    missing = [sample.id for sample in asked if is_missing(sample.doc.get(column))]
    if missing and len(missing) == len(asked):
        raise PlanError(
            f"Column {column!r}, the reference of task {task.name!r}, is empty in all {len(asked)} rows.",
            where=task.where,
            hint="Name the column that has the answers.",
        )
    for sample in asked if task.choices is not None else ():
        if sample.id in missing:
            continue
        try:
            fields.right_choices(row_of(sample))
        except ScoreError as error:
            raise PlanError(f"Sample {sample.id}: {error.what}", where=error.where, hint=error.hint) from error
        except DataError:
            continue  # it fails alone
    if missing:
        shown = enumerated("sample", missing)
        yield (
            f"Task {task.name!r}: {len(missing)} of {len(asked)} samples have no reference ({shown}) and will fail: "
            f"column {column!r} is empty there."
        )


def fewshot_notes(task: PythonTask, context: OpenContext) -> Iterator[str]:
    """Yield a note if the run asks for examples, which only the prompt function can show."""
    if context.num_fewshot is not None:
        yield f"Task {task.name!r} makes its own prompts: --num-fewshot has no effect on it."


def judge_warnings(task: PythonTask, scorers: Sequence[BoundScorer], context: OpenContext) -> Iterator[str]:
    """Yield a warning if a scorer may ask a judge and the run has none."""
    if any(role.startswith("judge") for role in context.roles):
        return
    names = [one.name for one in scorers if one.scorer is not None and _asks_judge(one.scorer.function)]
    if names:
        yield (
            f"Scorer {names[0]!r} of task {task.name!r} may ask a judge, but the run has none: samples that need a "
            "verdict will have no score. Name one (--judge openai:NAME), or judge the answers later (polymeter score "
            "RUN --judge openai:NAME)."
        )


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
