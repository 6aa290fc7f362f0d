"""Count of the scored samples of a task. A sample may end well and have no value all the same: nothing could score its
answer, or its author's code returned none. A task of such samples alone is a failure, not a result without a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from polymeter.core.records.attempts import is_of_choices
from polymeter.core.task import Result, Score

_NO_NUMBER = "Its scoring returned no value for any answer."


@dataclass(slots=True)
class ValueCount:
    """The number of samples of a task that have a value.

    Attributes:
        n: How many.
        why_none: What the first sample without one says about it; empty if it says nothing.
        n_unfinished: How many answers of all samples ended inside their reasoning.
    """

    n: int = 0
    why_none: str = ""
    n_unfinished: int = 0

    def add(self, score: Score) -> None:
        """Count one sample."""
        self.n_unfinished += score.n_unfinished
        for key, value in score.values.items():
            if _is_value(value) and not is_of_choices(key):
                self.n += 1
                return
        if not self.why_none:
            self.why_none = score.explanation or ""


def n_scored(count: ValueCount, n_ok: int, results: Sequence[Result]) -> int:
    """Return the number of a task's samples that are scored: those that have a value, or that a result of the whole
    task depends on (which its author's code may compute from all answers together).

    Args:
        count: Of its samples.
        n_ok: How many of them ended without a failure.
        results: Of the task.
    """
    whole = [result for result in results if not result.subset and not _is_of_choices(result)]
    if not count.n and whole and all(result.n == result.n_planned for result in whole):
        return n_ok  # each is about a part of the task, as one of a collection's datasets is, and lacks no sample of it
    return min(n_ok, max([count.n, *(result.n for result in whole)]))


def why_unscored(count: ValueCount, n_ok: int, results: Sequence[Result]) -> str | None:
    """Return the reason why nothing of a task is scored: a sentence, empty if all samples failed with errors of their
    own; ``None`` if something is scored.
    """
    if n_scored(count, n_ok, results) or any(
        _is_value(result.value) and not _is_of_choices(result) for result in results
    ):
        return None
    return (count.why_none or _NO_NUMBER) if n_ok else ""


def _is_of_choices(result: Result) -> bool:
    return is_of_choices((result.metric, result.filter))


def _is_value(value: Any) -> bool:
    """Return whether a value says anything: not ``None``, not NaN, and no collection of these alone."""
    if type(value) is float or isinstance(value, Real):
        return bool(value == value)  # noqa: PLR0124  (only NaN differs from itself)
    if isinstance(value, Mapping):
        return any(map(_is_value, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_value, value))
    return value is not None
