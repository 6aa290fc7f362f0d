"""Panels of several judges in one run: their combined verdict on a sample, and their agreement.

The first judge has the role ``judge``, the others ``judge_2``, ``judge_3`` and so on. Each of them scores a sample
once, so a panel works for any code that asks the judge. The values of the scores are then combined.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from polymeter.core.errors import ScoreError
from polymeter.core.records.attempts import is_of_part
from polymeter.core.text.codec import is_nan
from polymeter.judge.llm_judge import ROLE
from polymeter.stats.intervals import ends_of

if TYPE_CHECKING:
    from polymeter.core.task import MetricKey, Score
    from polymeter.stats import Estimate

Rule = Literal["mean", "majority"]
BY_JUDGE = "judges"
"""The key of each judge's own values in the log of a score, by role and then by ``metric,filter``."""
WITHOUT = "judges_without_verdict"
"""The key of the reasons for missing verdicts in the log of a score, by role."""
_SEAT = re.compile(rf"{ROLE}(?:_(\d+))?")


@dataclass(frozen=True, slots=True)
class Panel:
    """Several judges.

    Attributes:
        seats: Their roles, in order.
        rule: How values are combined: ``mean``, or ``majority`` for the most frequent value (the mean of several
            equally frequent ones).
        quorum: The number of verdicts that a sample needs; with fewer it has no score.
    """

    seats: tuple[str, ...]
    rule: Rule
    quorum: int


def seat(number: int) -> str:
    """Return the role of a judge, by its number from 0."""
    return ROLE if number == 0 else f"{ROLE}_{number + 1}"


def seats_of(roles: Collection[str]) -> tuple[str, ...]:
    """Return the roles of judges among the roles of a run, in order."""
    found = {int(match[1] or 1): role for role in roles if (match := _SEAT.fullmatch(role))}
    return tuple(found[number] for number in sorted(found))


def combined(values: Sequence[Mapping[MetricKey, Any]], panel: Panel) -> dict[MetricKey, Any]:
    """Combine the values of a panel for a sample.

    A metric has no value (NaN) if fewer judges than the quorum give a number.

    Args:
        values: The values of the judges that gave a verdict.
        panel: The panel.

    Raises:
        ScoreError: if the judges' values are not numbers, not collections of numbers of one shape, and not equal.
    """
    keys = dict.fromkeys(key for own in values for key in own)
    return {key: _one([own.get(key, math.nan) for own in values], panel, key[0]) for key in keys}


def by_judge(scores: Mapping[str, Mapping[MetricKey, Any]]) -> dict[str, dict[str, Any]]:
    """Return each judge's values in the form of the log: by role, then by ``metric,filter``."""
    return {role: {f"{metric},{name}": value for (metric, name), value in own.items()} for role, own in scores.items()}


def _one(values: Sequence[Any], panel: Panel, metric: str) -> Any:
    first = values[0]
    if all(_is_scalar(value) for value in values):
        numbers = [float(value) for value in values if not is_nan(value)]
        if len(numbers) < panel.quorum:
            return math.nan
        if len(set(numbers)) == 1:
            return next(value for value in values if not is_nan(value))
        return math.fsum(numbers) / len(numbers) if panel.rule == "mean" else _majority(numbers)
    if all(isinstance(value, Mapping) and value.keys() == first.keys() for value in values):
        return {key: _one([value[key] for value in values], panel, metric) for key in first}
    if all(type(value) is type(first) and isinstance(value, (list, tuple)) for value in values) and (
        len({len(value) for value in values}) == 1
    ):
        return type(first)([_one(column, panel, metric) for column in zip(*values, strict=True)])
    if all(type(value) is type(first) and value == first for value in values):
        return first
    raise ScoreError(
        f"The judges' values of {metric!r} cannot be combined: they are not numbers, and they differ.",
        hint="Name a single judge.",
    )


def _majority(numbers: Sequence[float]) -> float:
    counts = Counter(numbers)
    most = max(counts.values())
    winners = [value for value, n in counts.items() if n == most]
    return math.fsum(winners) / len(winners)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (int, float)) or (hasattr(value, "dtype") and getattr(value, "shape", None) == ())


@dataclass(slots=True)
class PanelTally:
    """A tally of the judges' own values for the samples of a task."""

    panel: Panel
    values: dict[tuple[str, str], list[dict[str, float]]] = field(default_factory=dict)
    clusters: dict[tuple[str, str], list[str | None]] = field(default_factory=dict)

    def add(self, score: Score, cluster: str | None) -> None:
        """Count the score of a sample, if judges gave it."""
        own = score.log.get(BY_JUDGE)
        if not isinstance(own, Mapping):
            return
        numbers: dict[tuple[str, str], dict[str, float]] = {}
        for role, values in own.items():
            for key, value in values.items():
                metric, _, name = str(key).rpartition(",")
                # The value of a metric with repeats is their mean; each alone would be the same comparison again.
                if _is_scalar(value) and not is_nan(value) and not is_of_part(name):
                    numbers.setdefault((metric, name), {})[str(role)] = float(value)
        for key, given in numbers.items():
            self.values.setdefault(key, []).append(given)
            self.clusters.setdefault(key, []).append(cluster)

    def document(self, names: Mapping[str, str], seed: int) -> dict[str, Any] | None:
        """Return each judge's own mean and the agreement of the judges, as plain data, or ``None`` if no judge was
        asked.

        Args:
            names: The names of the models, by role.
            seed: For resampling.
        """
        if not self.values:
            return None
        seats = self.panel.seats
        return {
            "rule": self.panel.rule,
            "quorum": self.panel.quorum,
            "models": {role: names.get(role, "") for role in seats},
            "metrics": [
                {"metric": metric, "filter": name, **self._agreement((metric, name), seed)}
                for metric, name in self.values
            ],
        }

    def _agreement(self, key: tuple[str, str], seed: int) -> dict[str, Any]:
        from polymeter.judge.agreement import agreement
        from polymeter.judge.krippendorff import krippendorff_alpha

        seats, rows = self.panel.seats, self.values[key]
        clusters = self.clusters[key] if any(label is not None for label in self.clusters[key]) else None
        columns = {role: [row.get(role) for row in rows] for role in seats}
        pairs = []
        for first, second in combinations(seats, 2):
            found = agreement(columns[first], columns[second], clusters=clusters, seed=seed)
            pairs.append(
                {
                    "first": first,
                    "second": second,
                    "n": found.n,
                    "agreement": _estimate_document(found.raw),
                    "kappa": _estimate_document(found.kappa),
                    "spearman": None if found.spearman is None else _estimate_document(found.spearman),
                }
            )
        ratings = [[row.get(role) for role in seats] for row in rows]
        return {
            "judges": [{"role": role, **_mean_of(columns[role], clusters)} for role in seats],
            "pairs": pairs,
            "alpha": _estimate_document(krippendorff_alpha(ratings, clusters=clusters, seed=seed)),
        }


def _mean_of(column: Sequence[float | None], clusters: Sequence[str | None] | None) -> dict[str, Any]:
    from polymeter.metrics.basic import MEAN
    from polymeter.stats import Partition, estimate

    kept = [number for number, value in enumerate(column) if value is not None]
    values = [value for value in column if value is not None]
    if not values:
        return {"n": 0, "value": None, "stderr": None, "interval": None}
    partition = None if clusters is None else Partition.of(clusters[number] for number in kept)
    return {"n": len(values), **_estimate_document(estimate(values, MEAN, clusters=partition))}


def _estimate_document(found: Estimate) -> dict[str, Any]:
    return {"value": found.value, "stderr": found.stderr, "interval": ends_of(found.interval)}
