"""From the scores of a subset's samples to its numbers, by the names that benchmarks declare.

A sample without a value for a metric takes no part in it: the number of samples shrinks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from polymeter.interop.evalscope.tasks.scoring.metrics import pass_at_k_of
from polymeter.interop.evalscope.v1.registries import register_aggregation
from polymeter.interop.evalscope.v1.scoring.functions import calculate_pass_hat_k, mean
from polymeter.interop.evalscope.v1.types.scores import Aggregator, AggScore, SampleScore

METRIC_WEIGHTS_KEY = "metric_weights"
"""The key of a score's metadata under which ``weighted_mean`` finds the weight of each metric: the number of units that
its value is a mean of.
"""


@dataclass(frozen=True, slots=True)
class RepeatGroup:
    """The answers to one question.

    Attributes:
        key: The question.
        attempts: The answers by their planned place; ``None`` for one that has no value.
    """

    key: Any
    attempts: Mapping[int, SampleScore | None]

    def values(self, metric: str) -> list[float]:
        """The values of all answers that have one."""
        return [float(attempt.score.value[metric]) for attempt in self.attempts.values() if attempt is not None]

    def first(self, k: int) -> list[SampleScore]:
        """The first k answers."""
        return [attempt for at in range(k) if (attempt := self.attempts.get(at)) is not None]


@register_aggregation("mean")
class Mean(Aggregator):
    """The plain mean of each metric."""

    name = "mean"

    def agg_func(self, values: list[float]) -> float:
        """The number of some values."""
        return mean(values)

    def __call__(self, scores: Sequence[SampleScore]) -> list[AggScore]:
        """One number for each metric, in the order in which they first occur."""
        return [
            AggScore(
                score=self.agg_func([value for value, _ in found]),
                metric_name=metric,
                aggregation=self.name,
                num=len(found),
                ids=_ids(found),
            )
            for metric, found in _by_metric(scores).items()
        ]


@register_aggregation("clipped_mean")
class ClippedMean(Mean):
    """The mean, brought between two bounds.

    Args:
        clip_min: The lower bound.
        clip_max: The upper bound.
    """

    name = "clipped_mean"

    def __init__(self, clip_min: float = 0.0, clip_max: float = 1.0) -> None:
        self.clip_min = clip_min
        self.clip_max = clip_max

    def agg_func(self, values: list[float]) -> float:
        """The number of some values."""
        return min(max(mean(values), self.clip_min), self.clip_max)


@register_aggregation("weighted_mean")
class WeightedMean(Aggregator):
    """The mean weighted by the units of each sample; the plain mean for a metric of which a sample declares none."""

    name = "weighted_mean"

    def __call__(self, scores: Sequence[SampleScore]) -> list[AggScore]:
        """One number for each metric. A metric whose weights are all 0 has none."""
        numbers = []
        for metric, found in _by_metric(scores).items():
            values = [value for value, _ in found]
            weights = [weight for _, score in found if (weight := _weights(score).get(metric)) is not None]
            is_weighted = len(weights) == len(values)
            if is_weighted and not sum(weights):
                continue
            total: float = sum(weights) if is_weighted else float(len(values))
            number = sum(v * w for v, w in zip(values, weights, strict=True)) / total if is_weighted else mean(values)
            numbers.append(
                AggScore(
                    score=number,
                    metric_name=metric,
                    aggregation=self.name if is_weighted else "mean",
                    num=int(total),
                    ids=_ids(found),
                    metadata={"weighted": is_weighted, "samples": len(values), "total_weight": total},
                )
            )
        return numbers


class MeanAndAtK(Aggregator):
    """The mean of each metric, then for each k a number of the first answers to each question.

    Where some answers have no value, k ends at the shortest group, and a group counts for k if its first k answers have
    one.
    """

    kind: ClassVar[str]

    def __call__(self, scores: Sequence[SampleScore]) -> list[AggScore]:
        """The means, then the numbers of each metric for k from 1 on."""
        numbers = Mean()(scores)
        for metric in _by_metric(scores):
            groups = _groups(scores, metric)
            for k, eligible in _eligible(groups):
                values = [self.of_group(group, metric, k) for group in eligible]
                numbers.append(
                    AggScore(
                        score=mean(values),
                        metric_name=metric,
                        aggregation=self.kind,
                        dimensions={"k": k},
                        num=len(values),
                        ids=[group.key for group in eligible],
                        metadata={
                            "eligible": len(values),
                            "total": len(groups),
                            "coverage": len(values) / len(groups),
                            "excluded": len(groups) - len(values),
                        },
                    )
                )
        return numbers

    def of_group(self, group: RepeatGroup, metric: str, k: int) -> float:
        """The number of one question."""
        raise NotImplementedError


@register_aggregation("mean_and_pass_at_k")
class MeanPassAtK(MeanAndAtK):
    """pass@k: the probability that one of k answers is right, estimated from all answers."""

    name = "mean_and_pass_at_k"
    kind = "pass_at_k"

    def of_group(self, group: RepeatGroup, metric: str, k: int) -> float:
        """The estimate of one question. Values between 0 and 1 are added up and rounded down."""
        values = group.values(metric)
        return pass_at_k_of(len(values), int(sum(values)), k)


@register_aggregation("mean_and_vote_at_k")
class MeanVoteAtK(MeanAndAtK):
    """vote@k: whether the most frequent of the first k answers is right; of equally frequent ones the first."""

    name = "mean_and_vote_at_k"
    kind = "vote_at_k"

    def of_group(self, group: RepeatGroup, metric: str, k: int) -> float:
        """1 if an answer like the winner scored exactly 1. Empty answers have no vote."""
        votes = [(attempt.score.extracted_prediction, attempt.score.value[metric]) for attempt in group.first(k)]
        counts: dict[Any, int] = defaultdict(int)
        for answer, _ in votes:
            if answer is not None and str(answer).strip():
                counts[answer] += 1
        winner = max(counts, key=counts.__getitem__, default=None)
        return float(winner is not None and any(answer == winner and value == 1.0 for answer, value in votes))


@register_aggregation("mean_and_pass_hat_k")
class MeanPassHatK(MeanAndAtK):
    """pass^k: the probability that k answers are all right, estimated from all answers."""

    name = "mean_and_pass_hat_k"
    kind = "pass_hat_k"

    def of_group(self, group: RepeatGroup, metric: str, k: int) -> float:
        """The estimate of one question."""
        values = group.values(metric)
        return float(calculate_pass_hat_k(len(values), int(sum(values)), k))


def collect_metric_names(scores: Sequence[SampleScore]) -> list[str]:
    """The metrics of some samples, in the order in which they first occur."""
    return list(_by_metric(scores))


def collect_metric_weights(score: SampleScore) -> dict[str, int]:
    """The weights that a sample declares; those that are no whole numbers from 0 on are left out."""
    return _weights(score)


def _by_metric(scores: Sequence[SampleScore]) -> dict[str, list[tuple[float, SampleScore]]]:
    found: dict[str, list[tuple[float, SampleScore]]] = defaultdict(list)
    for score in scores:
        for metric, value in score.score.value.items():
            found[metric].append((value, score))
    return dict(found)


def _ids(found: Sequence[tuple[float, SampleScore]]) -> Any:
    return [score.sample_id for _, score in found]


def _weights(score: SampleScore) -> dict[str, int]:
    declared = (score.score.metadata or {}).get(METRIC_WEIGHTS_KEY)
    return {
        metric: int(weight)
        for metric, weight in (declared.items() if isinstance(declared, dict) else ())
        if isinstance(weight, (int, float))
        and not isinstance(weight, bool)
        and isfinite(weight)
        and weight >= 0
        and float(weight).is_integer()
    }


def _groups(scores: Sequence[SampleScore], metric: str) -> list[RepeatGroup]:
    attempts: dict[Any, dict[int, SampleScore | None]] = defaultdict(dict)
    for score in scores:
        of_question = attempts[score.sample_id if score.group_id is None else score.group_id]
        at = len(of_question) if score.generation_index is None else score.generation_index
        of_question[at] = score if metric in score.score.value else None
    return [RepeatGroup(key, of_question) for key, of_question in attempts.items()]


def _eligible(groups: Sequence[RepeatGroup]) -> Iterator[tuple[int, list[RepeatGroup]]]:
    """The groups that count for each k, as long as there are any."""
    for k in range(1, min((max(group.attempts) + 1 for group in groups), default=0) + 1):
        eligible = [group for group in groups if len(group.first(k)) == k]
        if eligible:
            yield k, eligible
