"""The reason why a run has no result, or few scores, and the commands that change it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.formatting import count
from polymeter.viewer.shelf import RunInShort

_LARGE = 0.2
"""The share of samples without a score from which a run's page begins with it."""
_ENDED_EARLY = {
    "interrupted": "This run was interrupted",
    "stopped": "This run was stopped before its end",
    "failed": "This run failed",
}
_OF_JUDGE = {"unscored"}
"""Samples with these statuses have an answer, so scoring it again is enough."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A command, and its effect."""

    command: str
    effect: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The state of a run that has no result, or that many samples are missing from.

    Attributes:
        heading: The state in a few words.
        reason: The recorded reason; empty if none is.
        statuses: The samples without a score by status; ``not run`` for those that were not run.
        advice: The commands that help, the best one first.
    """

    heading: str
    reason: str
    statuses: Mapping[str, int]
    advice: tuple[Advice, ...]


def refusal_of(run: RunInShort, results: Mapping[str, Any]) -> Refusal | None:
    """Return why a run has no result, or few scores; ``None`` if it has them, or is still running."""
    if run.is_live:
        return None
    tasks = results.get("tasks", {}).values()
    planned = sum(int(task.get("n_samples") or 0) for task in tasks) or run.n_planned
    scored = sum(int(task.get("n_scored") or 0) for task in tasks)
    statuses = _without_score(results, planned, scored)
    missing = planned - scored
    early = _ENDED_EARLY.get(run.status, "")
    if not early and missing <= planned * _LARGE and scored:
        return None
    return Refusal(_heading(early, missing, planned), run.reason, statuses, tuple(_advice(run, statuses, missing)))


def _heading(early: str, missing: int, planned: int) -> str:
    if not planned:
        return early or "No result: the run has no samples"
    lost = f"{missing:,} of {count(planned, 'sample')} {'has' if missing == 1 else 'have'} no score"
    if missing == planned:
        lost = f"no result: none of {count(planned, 'sample')} has a score"
    if early:
        return f"{early}: {lost}"
    return lost[0].upper() + lost[1:]


def _without_score(results: Mapping[str, Any], planned: int, scored: int) -> dict[str, int]:
    """The number of samples without a score by status."""
    found: dict[str, int] = {}
    n_ended = 0
    for task in results.get("tasks", {}).values():
        for status, n in (task.get("statuses") or {}).items():
            n_ended += int(n)
            if status != "ok":
                found[status] = found.get(status, 0) + int(n)
    if planned > n_ended:
        found["not run"] = planned - n_ended
    n_other = planned - scored - sum(found.values())
    if n_other > 0:
        found["ok, without a score"] = n_other
    return found


def _advice(run: RunInShort, statuses: Mapping[str, int], missing: int) -> list[Advice]:
    if run.imported or not missing:
        return []
    path = shlex.quote(str(run.path))
    resume = Advice(f"polymeter resume {path}", "runs the samples without a score again and keeps the others.")
    if run.status in _ENDED_EARLY:
        resume = Advice(resume.command, "continues this run. Samples that have a score are kept.")
    score = Advice(f"polymeter score {path}", "scores the stored answers again. The model gets no requests.")
    if set(statuses) <= _OF_JUDGE:
        return [score, resume]
    if set(statuses) == {"refused"}:
        effect = "asks the endpoint again for the samples that it refused."
        return [Advice(f"{resume.command} --retry-errors", effect)]
    return [resume, score] if _OF_JUDGE & set(statuses) else [resume]
