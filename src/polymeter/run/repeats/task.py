"""A task whose questions are asked several times, made of any compiled task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from polymeter.core.errors import UnfitError
from polymeter.core.identity import fingerprint
from polymeter.core.records.attempts import estimates_among
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.request import Generate
from polymeter.core.settings.needs import SKIP_UNFIT
from polymeter.core.task import Result, Task
from polymeter.run.repeats.asking import ask_repeats
from polymeter.run.repeats.reducing import reduce_repeats
from polymeter.run.repeats.scoring import score_repeats

_VERSION = 1
_OPTION = "--repeats"


def repeated(task: Task, n: int) -> Task:
    """Return a task that asks every question ``n`` times.

    Raises:
        UnfitError: if it asks for log-probabilities, which are the same each time.
    """
    if n == 1:
        return task
    name = task.spec.name
    if "loglikelihood" in task.needs.requests:
        raise UnfitError(
            f"Task {name!r} asks for log-probabilities, which are the same each time: it cannot be repeated.",
            where=_OPTION,
            hint=f"Leave {_OPTION} out, or for multiple choice of task YAML ask for text: --mcq text. {SKIP_UNFIT}",
        )

    def finish(results: Sequence[Result], report_path: Path) -> None:
        made = estimates_among({(result.metric, result.filter) for result in results})
        task.finish([result for result in results if (result.metric, result.filter) not in made], report_path)

    return replace(
        task,
        rollout=partial(ask_repeats, task.rollout, n),
        score=partial(score_repeats, task.score),
        reduce=partial(reduce_repeats, task.reduce, n, further_subsets=task.further_subsets),
        finish=finish,
        score_digest=fingerprint([task.score_digest, "repeats", n, _VERSION]),
        notes=(*task.notes, *_notes(task, n)),
        findings=(*task.findings, *_findings(task, n)),
    )


def _notes(task: Task, n: int) -> Iterator[str]:
    if task.repeats > 1:
        yield (
            f"Task {task.spec.name!r} itself asks each question {task.repeats} times and scores these answers "
            f"together. Each of the {n} repeats does so: {n * task.repeats} answers to a question."
        )


def _findings(task: Task, n: int) -> Iterator[LintFinding]:
    """A warning if all answers to a question will be the same."""
    asked = task.parameters
    if asked and all(isinstance(one, Generate) and _is_greedy(one) for one in asked):
        yield LintFinding(
            "equal-repeats",
            f"Its answers are greedy (temperature 0), so the {n} repeats of a question are likely equal.",
            task.spec.name,
            _OPTION,
            "Sample them: --gen-kwargs temperature=0.7",
        )


def _is_greedy(parameters: Generate) -> bool:
    is_sampled = parameters.extra.get("do_sample") is not False
    return parameters.temperature == 0 or (parameters.temperature is None and not is_sampled)
