"""Correction of a judge's mean by a labelled part of the samples, with an interval that includes the judge's error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.report.formatting import count

if TYPE_CHECKING:
    from polymeter.stats import CorrectedMean, Estimate

Key = tuple[str, str, str]
"""Task, metric and filter."""
_UNLIKELY = 0.01


@dataclass(frozen=True, slots=True)
class Correction:
    """The mean of one metric by the judge, by the labels, and by both.

    Attributes:
        task: The task.
        metric: The metric.
        filter: The filter that the answers went through.
        run: The run.
        labels: The source of the labels.
        judge: The mean of the judge's scores of all samples. Its interval does not include the judge's error.
        labelled: The mean of the labels alone.
        corrected: The mean of the labels of all samples, estimated with the judge's scores.
        p_random: The probability of so large a difference between the judge's means of labelled and of other samples,
            if the labelled ones were selected at random; ``None``: not tested.
    """

    task: str
    metric: str
    filter: str
    run: str
    labels: str
    judge: Estimate
    labelled: Estimate
    corrected: CorrectedMean
    p_random: float | None

    def document(self) -> dict[str, Any]:
        """Return the correction as plain data."""
        found = self.corrected
        return {
            "task": self.task,
            "metric": self.metric,
            "filter": self.filter,
            "run": self.run,
            "labels": self.labels,
            "n_labelled": found.n_labelled,
            "n_unlabelled": found.n_unlabelled,
            "judge": _estimate(self.judge),
            "labelled": _estimate(self.labelled),
            "corrected": {
                "value": found.value,
                "stderr": found.stderr,
                "interval": None if found.interval is None else list(found.interval),
                "method": "ppi++",
                **({"no_interval": found.no_interval} if found.no_interval else {}),
            },
            "judge_weight": found.weight,
            "judge_bias": found.bias,
            "p_random": self.p_random,
        }

    def notes(self) -> list[str]:
        """Return notes for the reader."""
        if self.p_random is None or self.p_random > _UNLIKELY:
            return []
        return [
            f"{self.task}, {self.metric}: the judge scores the {count(self.corrected.n_labelled, 'labelled sample')} "
            "differently from the rest, by more than chance explains. If they were not selected at random, the "
            "corrected mean is wrong."
        ]


def correct(
    key: Key,
    run: str,
    source: str,
    scores: Mapping[str, float],
    labels: Mapping[str, float | None],
    clusters: Mapping[str, str | None],
    seed: int,
) -> Correction | None:
    """Correct a mean. Return ``None`` if every scored sample has a label, or none has.

    Args:
        key: Task, metric and filter.
        run: The run's name.
        source: The source of the labels.
        scores: The judge's scores, by sample.
        labels: The labels, by sample; ``None`` for a missing one.
        clusters: The labels that samples share with others.
        seed: For resampling.
    """
    from polymeter.metrics.basic import MEAN
    from polymeter.stats import Partition, corrected_mean, estimate

    labelled = {name: value for name in scores if (value := labels.get(name)) is not None}
    others = [name for name in scores if name not in labelled]
    if not labelled or not others:
        return None
    names = [*labelled, *others]
    groups = [clusters.get(name) for name in names]
    is_clustered = any(group is not None for group in groups)

    def mean_of(values: Sequence[float], own: Sequence[str | None]) -> Estimate:
        return estimate(values, MEAN, clusters=Partition.of(own) if is_clustered else None, seed=seed)

    by_judge = [scores[name] for name in names]
    n = len(labelled)
    return Correction(
        *key,
        run,
        source,
        mean_of(by_judge, groups),
        mean_of([*labelled.values()], groups[:n]),
        corrected_mean([*labelled.values()], by_judge[:n], by_judge[n:], clusters=groups if is_clustered else None),
        _p_random(by_judge[:n], by_judge[n:], groups if is_clustered else None),
    )


def _p_random(labelled: Sequence[float], others: Sequence[float], groups: Sequence[str | None] | None) -> float | None:
    """Apply Welch's test to the judge's means of labelled and of other samples; not for clusters or few samples."""
    from polymeter.stats import standard_error, t_test_p_value
    from polymeter.stats.means.moments import FEWEST_SAMPLES

    if groups is not None or min(len(labelled), len(others)) < FEWEST_SAMPLES:
        return None
    one, two = standard_error(labelled) or 0.0, standard_error(others) or 0.0
    variance = one**2 + two**2
    if variance <= 0:
        return None
    difference = math.fsum(labelled) / len(labelled) - math.fsum(others) / len(others)
    df = variance**2 / (one**4 / (len(labelled) - 1) + two**4 / (len(others) - 1))
    return t_test_p_value(difference / math.sqrt(variance), df)


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "stderr": found.stderr,
        "interval": None if found.interval is None else list(found.interval),
        "method": found.method,
    }
