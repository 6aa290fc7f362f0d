"""From the values of a judge's passes to the judge's, and from the judges' to the sample's."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from polymeter.interop.evalscope.v1.judging.records import (
    JudgeObservation,
    PairwiseOutcome,
    PairwisePlacementOutcome,
    PairwiseResult,
)

Method = Literal["mean", "median", "majority_vote"]


def by_metric(values: Iterable[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the values of each metric, in order."""
    found: dict[str, list[float]] = defaultdict(list)
    for own in values:
        for name, value in own.items():
            found[name].append(float(value))
    return found


def aggregate_repeat_values(
    values: Sequence[Mapping[str, float]], method: Method
) -> tuple[dict[str, float], list[str]]:
    """Join the passes of one judge.

    Returns:
        Metric → value, and the metrics of which several values are the most frequent: of those the first counts.
    """
    found: dict[str, float] = {}
    ties = []
    for name, items in by_metric(values).items():
        if method == "majority_vote":
            winner, is_tied = _majority(items)
            if is_tied:
                ties.append(name)
            found[name] = items[0] if is_tied else winner
        else:
            found[name] = _middle(items, method)
    return found, ties


def aggregate_judge_values(
    judge_values: Mapping[str, Mapping[str, float]], method: Method, primary: str
) -> tuple[dict[str, float] | None, bool, list[str]]:
    """Join judges of equal weight.

    Args:
        judge_values: Judge → metric → value.
        method: How.
        primary: The judge whose value counts where several are the most frequent.

    Returns:
        Metric → value (``None`` if there is none), whether the primary judge decided anything, and the metrics of which
        it could not, for it has no value.
    """
    found: dict[str, float] = {}
    is_decided = False
    open_ties = []
    for name, items in by_metric(judge_values.values()).items():
        if method != "majority_vote":
            found[name] = _middle(items, method)
            continue
        winner, is_tied = _majority(items)
        if not is_tied:
            found[name] = winner
        elif name in judge_values.get(primary, {}):
            found[name] = judge_values[primary][name]
            is_decided = True
        else:
            open_ties.append(name)
    return found or None, is_decided, open_ties


def aggregate_pairwise_outcomes(
    observations: Sequence[JudgeObservation], primary: str, min_valid_judges: int
) -> tuple[PairwiseOutcome | None, bool]:
    """Join results of comparisons by votes: of a judge's passes, then of the judges; and so for each placement.

    Args:
        observations: The passes.
        primary: The judge that decides a tie of judges.
        min_valid_judges: How many judges have to have a result.

    Returns:
        The result (``None`` if there is none), and whether the judges were tied.
    """
    outcomes: dict[str, list[PairwiseOutcome]] = defaultdict(list)
    placed: dict[str, dict[str, list[PairwisePlacementOutcome]]] = defaultdict(lambda: defaultdict(list))
    for observation in observations:
        own = None if observation.reduced is None else observation.reduced.outcome
        if own is None:
            continue
        outcomes[observation.judge_id].append(own)
        for placement, result in own.placements.items():
            placed[placement][observation.judge_id].append(result)
    if len(outcomes) < min_valid_judges:
        return None, False
    voted, is_tied = _vote_of_judges(outcomes, primary)
    if voted is None:
        return None, False
    placements: dict[str, PairwisePlacementOutcome] = {}
    for placement, of_judges in placed.items():
        if len(of_judges) < min_valid_judges:
            continue
        placed_vote, is_placement_tied = _vote_of_judges(of_judges, primary)
        if placed_vote is None:
            return None, False
        placements[placement] = placed_vote
        is_tied = is_tied or is_placement_tied
    every = [own for of_judge in outcomes.values() for own in of_judge]
    name = every[0].metric_name
    final = PairwiseOutcome(metric_name=name, result=voted.result, strength=voted.strength, placements=placements)
    return final, is_tied


def _vote_of_judges(
    outcomes: Mapping[str, Sequence[PairwisePlacementOutcome]], primary: str
) -> tuple[PairwisePlacementOutcome | None, bool]:
    """The judges' vote, each by the vote of its own passes, in which a tie is a draw."""
    own = {judge: _vote(results, "tie")[0] for judge, results in outcomes.items()}
    decider = own.get(primary)
    voted, is_tied = _vote(list(own.values()), None if decider is None else decider.result)
    return (None if is_tied and decider is None else voted), is_tied


def _vote(
    outcomes: Sequence[PairwisePlacementOutcome], in_a_tie: PairwiseResult | None
) -> tuple[PairwisePlacementOutcome, bool]:
    counts = Counter(own.result for own in outcomes)
    most = max(counts.values())
    winners = [result for result, count in counts.items() if count == most]
    is_tied = len(winners) > 1
    result = in_a_tie if is_tied and in_a_tie is not None else winners[0]
    alike = [own for own in outcomes if own.result == result]
    is_strong = result != "tie" and sum(own.strength == "strong" for own in alike) * 2 > len(alike)
    return PairwisePlacementOutcome(result=result, strength="strong" if is_strong else "weak"), is_tied


def _middle(items: Sequence[float], method: Method) -> float:
    return float(statistics.median(items)) if method == "median" else sum(items) / len(items)


def _majority(items: Sequence[float]) -> tuple[float, bool]:
    counts = Counter(items)
    most = max(counts.values())
    winners = [value for value, count in counts.items() if count == most]
    return winners[0], len(winners) > 1
