"""Bayes@N: correctness of a benchmark with its uncertainty, from N answers to each question (arXiv:2510.04265)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import fsum, sqrt
from typing import Any

from polymeter.interop.evalscope.v1.registries import register_aggregation
from polymeter.interop.evalscope.v1.types.identities import canonicalize_producer_identity
from polymeter.interop.evalscope.v1.types.scores import Aggregator, AggScore, SampleScore

_METRICS = ("accuracy", "exact_match")


@register_aggregation("bayes_at_n")
class BayesAtN(Aggregator):
    """The mean and the standard deviation of the posterior of correctness, with the prior Beta(1, 1) of each question.

    Args:
        repeats: The planned number of answers to each question.

    Raises:
        ValueError: if it is no positive whole number.
    """

    name = "bayes_at_n"

    def __init__(self, repeats: int = 1) -> None:
        if type(repeats) is not int or repeats < 1:
            raise ValueError(f"bayes_at_n needs a positive whole number of repeats, not {repeats!r}.")
        self.repeats = repeats

    def __call__(self, scores: Sequence[SampleScore]) -> list[AggScore]:
        """The two numbers of each metric.

        Raises:
            ValueError: if an answer is missing or has no score, or a score is neither 0 nor 1.
        """
        groups = self._checked_groups(scores)
        n, total = self.repeats, self.repeats + 2
        numbers = []
        for metric in scores[0].score.value:
            right = [sum(attempt.score.value[metric] for attempt in group) for group in groups.values()]
            center = fsum((c + 1) / total for c in right) / len(groups)
            spread = sqrt(fsum((c + 1) * (n - c + 1) / (total * total * (total + 1)) for c in right)) / len(groups)
            metadata = {
                "questions": len(groups),
                "generations": len(scores),
                "repeats": n,
                "prior": "beta(1,1)",
                "posterior_mean": center,
                "posterior_sd": spread,
            }
            for aggregation, value in ((self.name, center), ("bayes_at_n_sd", spread)):
                numbers.append(
                    AggScore(
                        metric_name=metric,
                        aggregation=aggregation,
                        dimensions={"n": n},
                        score=value,
                        num=len(groups),
                        ids=list(groups),
                        metadata=metadata,
                    )
                )
        return numbers

    def _checked_groups(self, scores: Sequence[SampleScore]) -> dict[Any, list[SampleScore]]:
        ids = [score.sample_id for score in scores]
        _require(bool(scores), "needs a question with all its answers")
        _require(None not in ids and len({*ids}) == len(ids), "needs samples with different ids")
        names = set(scores[0].score.value)
        canonical = [canonicalize_producer_identity(name, self.name).name for name in names]
        groups: dict[Any, list[SampleScore]] = defaultdict(list)
        places = set()
        for score in scores:
            group, place = score.group_id, score.generation_index
            _require(group is not None and place is not None, "needs the group and the place of each answer")
            _require(place in range(self.repeats), f"has planned {self.repeats} answers to each question")
            _require((group, place) not in places, "needs answers with different places")
            _require(score.score.status.is_usable and bool(score.score.value), "needs a score of each answer")
            _require(set(score.score.value) == names, "needs the same metrics of each answer")
            _require(all(value in (0, 1) for value in score.score.value.values()), "needs scores of 0 or 1")
            places.add((group, place))
            groups[group].append(score)
        _require(all(name in _METRICS for name in canonical), f"is for the metrics {' and '.join(_METRICS)} alone")
        _require(len({*canonical}) == len(canonical), "has one metric under two names")
        _require(all(len(group) == self.repeats for group in groups.values()), "needs all answers to each question")
        return groups


def _require(is_so: bool, need: str) -> None:
    if not is_so:
        raise ValueError(f"bayes_at_n {need}.")
