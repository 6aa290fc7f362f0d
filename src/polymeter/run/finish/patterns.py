"""Patterns among the samples of a task that make its number doubtful: all scores equal, all answers equal or empty, one
option nearly always chosen.

Samples are looked at while a reduction reads them. What is kept of them does not grow with their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polymeter.core.records.attempts import is_of_choices
from polymeter.core.records.spread import Bounds
from polymeter.core.task import MetricKey, Result, Score
from polymeter.core.text.phrases import quoted

_FEWEST = 10
"""Of fewer samples, equal scores or answers may well be chance."""
_FEWEST_EMPTY = 3
_FEWEST_CHOSEN = 20
_MOSTLY = 0.9
_MOSTLY_RIGHT = 0.7
"""The share of one reference from which on a model that nearly always gives it may be right to."""
_MOST_KEPT = 64
_LONGEST_KEPT = 40
_SHOWN = 60
_LETTER = re.compile(r"\W*([A-Za-z])(?:\W*|[).:]\s.*)", re.DOTALL)
_SEVERAL = " | "
"""Between several references of a sample, as they are shown."""


@dataclass(slots=True)
class _CountedAnswers:
    """The counts of short texts, among the first that came."""

    n: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, key: str) -> None:
        """Count a text, normalised."""
        self.n += 1
        if len(key) <= _LONGEST_KEPT and (key in self.counts or len(self.counts) < _MOST_KEPT):
            self.counts[key] = self.counts.get(key, 0) + 1

    def share(self, key: str) -> float:
        return self.counts.get(key, 0) / self.n if self.n else 0.0

    @property
    def most(self) -> str:
        return max(self.counts, key=self.counts.__getitem__, default="")


class ScorePatterns:
    """Patterns of the scored samples of one task."""

    def __init__(self) -> None:
        self._n = 0
        self._n_answers = 0
        self._n_empty = 0
        self._n_right = self._n_holding = 0
        self._answer: str | None = None
        self._given = ""
        self._target: str | None = None
        self._has_other_answer = self._has_other_target = False
        self._answers, self._targets = _CountedAnswers(), _CountedAnswers()
        self._values: dict[MetricKey, tuple[int, float | None]] = {}

    def add(self, score: Score) -> None:
        """Look at the score of one sample."""
        self._n += 1
        for key, value in score.values.items():
            if not is_of_choices(key):
                self._add_value(key, value)
        target, answer = score.target, score.answer
        if target is not None:
            self._has_other_target |= self._target is not None and target != self._target
            self._target = target
            expected = _normalised(target)
            self._targets.add(expected)
        if answer is not None:
            self._n_answers += 1
            if not answer.strip():
                self._n_empty += 1
            if answer != self._answer:
                self._has_other_answer |= self._answer is not None
                self._answer, self._given = answer, _normalised(answer)
            given = self._given
            self._answers.add(given)
            if target is not None:
                if given == expected or (_SEVERAL in target and _is_one_of(given, target)):
                    self._n_right += 1
                if target.casefold() in answer.casefold():
                    self._n_holding += 1

    def _add_value(self, key: MetricKey, value: object) -> None:
        if isinstance(value, (int, float)) and value == value:  # noqa: PLR0124  (only NaN differs from itself)
            n, before = self._values.get(key, (0, float(value)))
            self._values[key] = (n + 1, before if before == value else None)

    def notes(self, task: str, results: Sequence[Result]) -> Iterator[str]:
        """Return the notes on a task.

        Args:
            task: Its name.
            results: Its results: which metrics count, and their directions.
        """
        of_answers = self._of_answers()
        if of_answers:
            yield f"Task {task!r}: {of_answers}"
        else:
            of_scores = self._of_scores(results)
            if of_scores:
                yield f"Task {task!r}: {of_scores}"

    def _of_answers(self) -> str:
        n = self._n_answers
        if n < max(self._n, _FEWEST_EMPTY):
            return ""
        if self._n_empty == n:
            return f"all {n:,} answers that were scored are empty: check the model's answers and the task's filters."
        is_one = n >= _FEWEST and not self._has_other_answer and self._n_right <= _MOSTLY_RIGHT * n
        if is_one and (self._has_other_target or self._target is None):
            return f"all {n:,} answers that were scored are the same, {quoted(self._answer or '', _SHOWN)}."
        return self._of_one_choice()

    def _of_one_choice(self) -> str:
        """Describe that nearly all answers are one option or short text, unlike the references; empty if not so."""
        chosen = self._answers.most
        n = self._answers.counts.get(chosen, 0)
        targets = self._targets
        if (
            n < _FEWEST_CHOSEN
            or n <= _MOSTLY * self._n_answers
            or targets.n < self._n
            or targets.share(targets.most) > _MOSTLY_RIGHT
            or self._n_right > _MOSTLY_RIGHT * self._n_answers
        ):
            return ""
        what = f"option {chosen}" if _LETTER.fullmatch(chosen) else quoted(chosen, _SHOWN)
        return f"{n:,} of {self._n_answers:,} answers are {what}, and {targets.share(chosen):.0%} of the references."

    def _of_scores(self, results: Sequence[Result]) -> str:
        whole = {(result.metric, result.filter): result for result in results if not result.subset}
        values = {
            key: value
            for key, (n, value) in self._values.items()
            if n == self._n and key in whole and whole[key].higher_is_better is not None
        }
        if self._n < _FEWEST or not values or any(value is None for value in values.values()):
            return ""
        equal = {key: value for key, value in values.items() if value is not None}
        are_perfect = all(
            _is_best(value, whole[key].higher_is_better, whole[key].bounds) for key, value in equal.items()
        )
        if are_perfect and max(self._n_right, self._n_holding) >= _MOSTLY * self._n_answers:
            return ""
        shown = ", ".join(f"{key[0]} {value:.4g}" for key, value in _by_metric(equal).items())
        look = "with answers that are not their references" if are_perfect else "whatever the answer"
        return f"all {self._n:,} samples score the same, {shown}, {look}: compare a few answers with their references."


def _by_metric(values: Mapping[MetricKey, float]) -> dict[MetricKey, float]:
    """The values of each metric's first filter."""
    first: dict[str, MetricKey] = {}
    for key in values:
        first.setdefault(key[0], key)
    return {key: values[key] for key in first.values()}


def _is_best(value: float, higher_is_better: bool | None, bounds: Bounds) -> bool:
    """Return whether a value is the best that its metric can have, as far as that is known."""
    low, high = bounds
    if higher_is_better:
        return value >= high if high is not None else value in (1.0, 100.0)
    return value <= low if low is not None else value == 0.0


def _normalised(text: str) -> str:
    """An option's letter if the text is little more than that; else the text without case and what is around it."""
    letter = _LETTER.fullmatch(text)
    return letter[1].upper() if letter else text.casefold().strip(" \t\n.,:;!?'\"()[]*")


def _is_one_of(given: str, targets: str) -> bool:
    return any(given == _normalised(one) for one in targets.split(_SEVERAL))
