"""The verdicts that a task allows on a sample: a score for each metric that has one, and the labels of a choice or of a
judge.

All of it comes from the run folder: the scores of the sample, the ranges in the results, the choices in the stored
request or row, and the stored prompts of a judge. No code of a task runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np

from polymeter.core.errors import PlanError
from polymeter.core.records.attempts import is_of_part
from polymeter.core.records.stored_samples import model_exchanges, named, numbers_of
from polymeter.report.content.choices import matching
from polymeter.report.formatting import clip, one_line
from polymeter.report.table import bounds_of
from polymeter.store.verdicts import LONGEST_LABEL
from polymeter.viewer.browsing import Browsed
from polymeter.viewer.sample_index import SCORE
from polymeter.viewer.verdicts.judge_values import judge_grades, judge_levels

_FEW = 2_000
"""The values of a metric that are looked at to find whether all are 0 or 1."""
_RIGHT_OR_WRONG = ("acc", "acc_norm", "accuracy", "correct", "exact_match", "relaxed_accuracy")
"""Metrics without values between right and wrong. Another one may have them, even if no sample of a run has."""
_LISTS = ("choices", "options")
"""Columns of rows that hold the choices as a list."""


@dataclass(frozen=True, slots=True)
class AllowedScore:
    """A metric that a person can score.

    Attributes:
        name: Its name (``metric`` or ``metric,filter``).
        low: The least value; ``None``: none.
        high: The greatest value; ``None``: none.
        is_binary: Whether the run's samples are right or wrong by it.
        is_graded: Whether other values than right and wrong are offered.
        right: The value of a right answer of a binary metric.
        given: The value that the run has.
        levels: The only values, in order; empty: all within the range.
    """

    name: str
    low: float | None
    high: float | None
    is_binary: bool
    is_graded: bool
    right: float
    given: float
    levels: tuple[float, ...] = ()

    @property
    def wrong(self) -> float:
        """The value of a wrong answer of a binary metric."""
        return 1.0 - self.right

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        return "" if self.low is None else f"{self.low:g} or more"

    def check(self, text: str) -> float:
        """Return the score in a form.

        Raises:
            PlanError: if the metric does not allow it.
        """
        try:
            value = float(text.strip().replace(",", ".")) if len(text) < 40 else float("nan")
        except ValueError:
            value = float("nan")
        low, high = -float("inf") if self.low is None else self.low, float("inf") if self.high is None else self.high
        if self.levels and value not in self.levels:
            listed = ", ".join(f"{level:g}" for level in self.levels)
            raise PlanError(f"{text[:40]!r} is not a score of {self.name}.", hint=f"Choose one of {listed}.")
        if not low <= value <= high or abs(value) == float("inf"):
            allowed = f" from {self.range}" if self.low is not None and self.high is not None else ""
            raise PlanError(f"{text[:40]!r} is not a score of {self.name}.", hint=f"Enter a number{allowed}.")
        return value


@dataclass(frozen=True, slots=True)
class AllowedLabel:
    """A label that a person can give.

    Attributes:
        label: The label as it is stored.
        text: Its text for a list.
        values: The scores that follow, by metric.
    """

    label: str
    text: str
    values: Mapping[str, float]


def has_repeats(sample: Mapping[str, Any]) -> bool:
    """Return whether a sample has several answers, each with a score of its own."""
    return any(is_of_part(name) for _, name in numbers_of(sample))


def allowed_scores(own: Browsed, sample: Mapping[str, Any]) -> list[AllowedScore]:
    """Return the metrics that a sample has a score for; none if it has repeats, of which a verdict judges one only."""
    if sample["status"] != "ok" or has_repeats(sample):
        return []
    levels = judge_levels(sample)
    return [
        _allowed(own, metric, name, value, levels.get(metric.rpartition("/")[2], ()))
        for (metric, name), value in numbers_of(sample).items()
    ]


def allowed_labels(own: Browsed, sample: Mapping[str, Any], scores: Sequence[AllowedScore]) -> list[AllowedLabel]:
    """Return the labels of a sample with what each is worth: the grades of its judge, else its choices."""
    grades = judge_grades(sample, own.folder.read_manifest())
    judged = _judged(own, scores)
    if grades and judged is not None and all(_is_within(judged, value) for value in grades.values()):
        return [
            AllowedLabel(clip(one_line(name), LONGEST_LABEL), clip(one_line(name), 60), {judged.name: value})
            for name, value in grades.items()
        ]
    return _choice_labels(sample, scores)


def _judged(own: Browsed, scores: Sequence[AllowedScore]) -> AllowedScore | None:
    """Return the metric that the judge decides; ``None`` if the run does not record it."""
    panel = (own.of_task.get("judges") or {}).get("metrics") or ()
    names = {named(str(one["metric"]), str(one.get("filter") or "none")) for one in panel}
    found = [score for score in scores if score.name in names] if names else list(scores)
    return found[0] if len(found) == 1 else None


def _is_within(score: AllowedScore, value: float) -> bool:
    return (score.low is None or score.low <= value) and (score.high is None or value <= score.high)


def _choice_labels(sample: Mapping[str, Any], scores: Sequence[AllowedScore]) -> list[AllowedLabel]:
    """Return the choices of a sample: a right answer for the target, else a wrong one. None, if no choice is the target
    or no metric counts right answers.
    """
    texts = _choices(sample)
    target = matching(sample.get("target"), texts) if texts else None
    binary = [score for score in scores if score.is_binary]
    if target is None or not binary:
        return []
    found = {}
    for place, text in enumerate(texts):
        letter = ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)
        # Choices that are letters themselves need no second one.
        label = text.strip() if len(text.strip()) == 1 else f"{letter}. {one_line(text.strip())}"
        values = {score.name: score.right if place == target else score.wrong for score in binary}
        found[label] = AllowedLabel(clip(label, LONGEST_LABEL), clip(label, 60), values)
    return [*found.values()]


def _allowed(own: Browsed, metric: str, name: str, value: float, levels: tuple[float, ...]) -> AllowedScore:
    result = next(_results(own, metric, name), {})
    low, high = bounds_of(result)
    full = named(metric, name)
    is_binary = (low, high) == (0.0, 1.0) and value in (0.0, 1.0) and _is_binary(own, full)
    right = 0.0 if result.get("higher_is_better") is False else 1.0
    is_graded = not is_binary or metric.rpartition("/")[2] not in _RIGHT_OR_WRONG
    return AllowedScore(full, low, high, is_binary, is_graded, right, value, levels)


def _results(own: Browsed, metric: str, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the results of a metric; a value with keys is one metric in the results."""
    for result in own.of_task.get("results", ()):
        is_metric = metric == result["metric"] or metric.startswith(f"{result['metric']}/")
        if is_metric and str(result.get("filter") or "none") == name and not result.get("subset"):
            yield result


def _is_binary(own: Browsed, metric: str) -> bool:
    index = own.found.index
    if index is None or metric not in index.metrics:
        return False
    values = index.column(SCORE + metric)[:_FEW]
    return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())


def _choices(sample: Mapping[str, Any]) -> list[str]:
    """Return the texts of a sample's choices: of its request for log-probabilities, or of its row."""
    for exchange in model_exchanges(sample):
        asked = (exchange.get("request") or {}).get("ask") or {}
        texts = asked.get("continuations")
        if isinstance(texts, list) and len(texts) > 1:
            return [str(text) for text in texts]
    row = sample.get("doc")
    if not isinstance(row, Mapping):
        return []
    for column in _LISTS:
        listed = row.get(column)
        if isinstance(listed, list) and len(listed) > 1 and all(isinstance(text, (str, int, float)) for text in listed):
            return [str(text) for text in listed]
    cells = [row.get(letter) for letter in ascii_uppercase]
    filled = cells[: next((place for place, cell in enumerate(cells) if cell in (None, "")), len(cells))]
    return [str(cell) for cell in filled] if len(filled) > 1 else []
