"""Repeats: the ways in which the scores of several answers to one sample become one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import PlanError, ScoreError, did_you_mean
from polymeter.core.records.attempts import majority, pass_all_k, pass_at_k
from polymeter.tasks.python.writing.records import PythonTask
from polymeter.tasks.yaml.scoring.reduction import NO_FILTER

Combine = Callable[[Sequence[Any], Sequence[float]], float]
"""``(answers, their scores) → the score of the sample``."""
_OF_K = re.compile(r"pass(?P<how>[@^])(?P<k>[1-9][0-9]*)")
_WAYS = ("mean", "max", "min", "first", "majority", "pass@K", "pass^K")


def combinations(task: PythonTask) -> Mapping[str, Combine]:
    """Return the ways in which the scores of a task's repeats become one, by the name of the reading.

    Raises:
        PlanError: if a way is unknown, or needs more repeats.
    """
    ways = (task.over_repeats,) if isinstance(task.over_repeats, str) else tuple(task.over_repeats)
    if not ways:
        raise PlanError(f"over_repeats of task {task.name!r} is empty.", where=task.where, hint=_known_ways())
    found = {way: _way(way, task) for way in ways}
    return {NO_FILTER: found["mean"]} if ways == ("mean",) else found


def combined_score(combine: Combine, answers: Sequence[Any], name: str, each: Sequence[Mapping[str, Any]]) -> Any:
    """Combine the values of one metric of a sample. A single answer keeps its value.

    Args:
        combine: How its scores become one.
        answers: The answers.
        name: The metric.
        each: The values for each answer, by metric.

    Raises:
        ScoreError: if there are several answers and a value is not a number.
    """
    known = [(answer, one[name]) for answer, one in zip(answers, each, strict=True) if name in one]
    if len(known) == 1 and len(answers) == 1:
        return known[0][1]
    numbers = [(answer, value) for answer, value in known if value == value]  # noqa: PLR0124  (NaN is not a score)
    if not numbers:
        return math.nan
    other = next((value for _, value in numbers if not isinstance(value, (bool, int, float))), None)
    if other is not None:
        raise ScoreError(f"Scorer {name!r} returned {other!r:.80}, which repeats cannot combine.")
    return float(combine([answer for answer, _ in numbers], [float(value) for _, value in numbers]))


def _known_ways() -> str:
    return f"Known: {', '.join(_WAYS)}."


def _way(way: Any, task: PythonTask) -> Combine:
    plain: Mapping[str, Combine] = {
        "mean": lambda answers, scores: math.fsum(scores) / len(scores),
        "max": lambda answers, scores: max(scores),
        "min": lambda answers, scores: min(scores),
        "first": lambda answers, scores: scores[0],
        "majority": _of_majority,
    }
    if way in plain:
        return plain[way]
    match = _OF_K.fullmatch(way) if isinstance(way, str) else None
    if match is None:
        raise PlanError(
            f"over_repeats of task {task.name!r} has the unknown way {way!r}.",
            where=task.where,
            hint=did_you_mean(str(way), _WAYS, n=1) or _known_ways(),
        )
    k = int(match["k"])
    if k > task.repeats:
        raise PlanError(
            f"{way} of task {task.name!r} needs at least {k} repeats, and there are {task.repeats}.",
            where=task.where,
            hint=f"Write repeats={k}.",
        )
    return _any_of_k(k) if match["how"] == "@" else _all_of_k(k)


def _of_majority(answers: Sequence[Any], scores: Sequence[float]) -> float:
    """Return the score of the most frequent answer, at a tie of the earliest."""
    return scores[majority([str(answer) for answer in answers])]


def _any_of_k(k: int) -> Combine:
    return lambda answers, scores: pass_at_k(len(scores), _n_passed(scores), k)


def _all_of_k(k: int) -> Combine:
    return lambda answers, scores: pass_all_k(len(scores), _n_passed(scores), k)


def _n_passed(scores: Sequence[float]) -> int:
    other = next((score for score in scores if score not in (0, 1)), None)
    if other is not None:
        raise ScoreError(
            f"pass@K counts answers that pass, and a score is {other}.",
            hint="Return 0 or 1, or use over_repeats='mean'.",
        )
    return sum(score == 1 for score in scores)
