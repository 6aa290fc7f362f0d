"""The settings of a run for tasks in Python, and a task's own with them applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polymeter.core.format import OpenContext
from polymeter.core.options import Options, identity
from polymeter.tasks.python.writing.records import PythonTask

_SAYS_HOW = ("temperature", "do_sample", "top_p", "top_k")


class PythonRunOptions(Options):
    """Options of a run for all of its tasks in Python (``--dialect-option python.NAME=VALUE``)."""

    repeats: int = identity(1, "How many times to ask every prompt; a value above 1 wins over the task's own.", ge=1)
    predict_only: bool = identity(False, "Keep the answers and compute no score.")


def read_run_options(options: Mapping[str, Any]) -> PythonRunOptions:
    """Read the options of a run.

    Raises:
        PlanError: if an option is unknown, or a value has the wrong type.
    """
    return PythonRunOptions.make(options, where="dialect_options python")


def task_for_run(task: PythonTask, options: PythonRunOptions) -> PythonTask:
    """Apply the options of the run to a task."""
    if options.repeats == 1 or task.choices is not None:
        return task
    made = replace(task, repeats=options.repeats)
    object.__setattr__(made, "where", task.where)
    return made


def generation_of(task: PythonTask, context: OpenContext) -> dict[str, Any]:
    """The generation settings of a task. Answers are greedy unless the task or the run says otherwise; repeats are
    sampled, because greedy ones would be the same.
    """
    written = dict(task.generation)
    if any(name in written or name in context.generation for name in _SAYS_HOW):
        return written
    return {"do_sample": task.repeats > 1, **written}
