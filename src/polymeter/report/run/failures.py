"""The failures of a run in readable form: each kind once with its count, and the command that shows one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.formatting import clip, count, one_line
from polymeter.store.reading.failures import MOST_SHOWN, FailureKind

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Failures:
    """The shown failures of a run.

    Attributes:
        lines: ``3 × why``, at most five; with the name of the task if the run has several.
        n_more: The number of kinds that are not among them.
        task: The task of the first line.
        sample: A sample of the first line.
        has_several_tasks: Whether a sample's id alone does not name it.
    """

    lines: tuple[str, ...] = ()
    n_more: int = 0
    task: str = ""
    sample: str = ""
    has_several_tasks: bool = False

    @property
    def more(self) -> str:
        """The line for the kinds that are not shown; empty if there are none."""
        return f"and {count(self.n_more, 'more kind')}" if self.n_more else ""

    def command(self, run: str) -> str:
        """Return the command that shows a sample of the first line.

        Args:
            run: The run folder, as the user would write it.
        """
        of_task = ["--task", self.task] if self.has_several_tasks else []
        return shlex.join(["polymeter", "show", run, *of_task, "--sample", self.sample])


def failures_of(results: Mapping[str, Any]) -> Failures:
    """Return the shown failures of a ``results.json``."""
    tasks = results.get("tasks", {})
    kinds = {
        name: [FailureKind(**{"status": "error", **kind}) for kind in task["failures"]]
        for name, task in tasks.items()
        if task.get("failures")
    }
    n_kinds = sum(int(tasks[name].get("n_failure_kinds", len(of_task))) for name, of_task in kinds.items())
    return shown_failures(kinds, n_tasks=len(tasks), n_kinds=n_kinds)


def shown_failures(kinds: Mapping[str, Sequence[FailureKind]], *, n_tasks: int, n_kinds: int = 0) -> Failures:
    """Return the shown lines of some kinds of failure.

    Args:
        kinds: The kinds of each task that has any.
        n_tasks: The number of tasks of the run.
        n_kinds: The number of all kinds; default: those given.
    """
    every = sorted(((task, kind) for task, own in kinds.items() for kind in own), key=lambda pair: -pair[1].n)
    if not every:
        return Failures()
    shown = every[:MOST_SHOWN]
    lines = tuple(
        f"{f'{one_line(task)}: ' if n_tasks > 1 else ''}{kind.n:,} × {clip(one_line(kind.message), _LONGEST)}"
        for task, kind in shown
    )
    task, first = every[0]
    return Failures(lines, max(n_kinds, len(every)) - len(shown), task, first.sample, n_tasks > 1)
