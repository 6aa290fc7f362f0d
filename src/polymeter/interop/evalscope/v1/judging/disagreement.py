"""Statistics of judges and passes that differ, on a sample and over a run. No score depends on them."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.judging.aggregation import aggregate_repeat_values, by_metric
from polymeter.interop.evalscope.v1.judging.records import JudgeObservation
from polymeter.interop.evalscope.v1.types.scores import JudgeSummary, SampleScore


def judge_disagreement(
    per_judge: Mapping[str, Sequence[Mapping[str, float]]], observations: Sequence[JudgeObservation]
) -> dict[str, Any]:
    """Return the statistics of one sample: of numbers, of labels, and of placements.

    Args:
        per_judge: Judge → the values of its passes.
        observations: The passes.
    """
    own_means = [aggregate_repeat_values(values, "mean")[0] for values in per_judge.values()]
    is_consistent = list(_placements_agree(observations))
    return {
        "numeric": {
            "all_observations": _spread([value for values in per_judge.values() for value in values]),
            "repeats": {judge: _spread(values) for judge, values in per_judge.items() if len(values) > 1},
            "cross_judge": _spread(own_means),
        },
        "categorical": _labels(observations),
        "position_consistency": sum(is_consistent) / len(is_consistent) if is_consistent else None,
        "swap_flip_count": sum(not agrees for agrees in is_consistent),
    }


def summarize_judge_runs(score_groups: Iterable[Sequence[SampleScore]]) -> JudgeSummary | None:
    """Return how the judges of a run did; ``None`` if none was asked.

    Args:
        score_groups: The scores of each subset.
    """
    own = [
        score.score.judge_summary
        for scores in score_groups
        for score in scores
        if score.score.judge_summary is not None
    ]
    if not own:
        return None
    n_scored = sum(summary.status.is_usable for summary in own)
    failures: Counter[str] = Counter()
    for summary in own:
        failures.update(summary.failures)
    is_whole = all(summary.status is ScoreStatus.SUCCESS for summary in own)
    usable = ScoreStatus.SUCCESS if is_whole else ScoreStatus.DEGRADED
    return JudgeSummary(
        status=usable if n_scored else ScoreStatus.EXCLUDED,
        scored=n_scored,
        total=len(own),
        coverage=n_scored / len(own),
        judge_models=list(dict.fromkeys(model for summary in own for model in summary.judge_models)),
        valid_observations=sum(summary.valid_observations for summary in own),
        total_observations=sum(summary.total_observations for summary in own),
        failures=dict(failures),
        disagreement=summarize_judge_disagreement(own),
    )


def summarize_judge_disagreement(summaries: Sequence[JudgeSummary]) -> dict[str, Any]:
    """Return the statistics of many samples."""
    details = [summary.disagreement for summary in summaries]
    spreads = [detail.get("numeric", {}).get("all_observations", {}) for detail in details]
    labels = [detail.get("categorical", {}) for detail in details]
    consistent = [
        float(detail["position_consistency"]) for detail in details if detail.get("position_consistency") is not None
    ]
    numeric = {}
    for name, found in _collected(spreads, ("std", "range")).items():
        stds, ranges = found["std"], found["range"]
        numeric[name] = {
            "mean_std": _mean(stds) or 0.0,
            "max_range": max(ranges, default=0.0),
            "samples": max(len(stds), len(ranges)),
        }
    categorical = {}
    for name, found in _collected(labels, ("agreement_ratio", "vote_entropy")).items():
        ratios, entropies = found["agreement_ratio"], found["vote_entropy"]
        categorical[name] = {
            "mean_agreement_ratio": _mean(ratios) or 0.0,
            "mean_vote_entropy": _mean(entropies) or 0.0,
            "samples": max(len(ratios), len(entropies)),
        }
    return {
        "numeric": numeric,
        "categorical": categorical,
        "position_consistency": {
            "mean": _mean(consistent),
            "samples": len(consistent),
            "swap_flip_count": sum(int(detail.get("swap_flip_count", 0)) for detail in details),
        },
    }


def _collected(parts: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for part in parts:
        for name, values in part.items():
            for key in keys:
                if key in values:
                    found.setdefault(name, {key: [] for key in keys})[key].append(float(values[key]))
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _spread(values: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"std": statistics.pstdev(items) if len(items) > 1 else 0.0, "range": max(items) - min(items)}
        for name, items in by_metric(values).items()
    }


def _labels(observations: Sequence[JudgeObservation]) -> dict[str, dict[str, Any]]:
    """Agreement on the label of each case, or on the result of a comparison."""
    given: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    order: dict[str, list[str]] = defaultdict(list)
    for observation in observations:
        outcome = None if observation.reduced is None else observation.reduced.outcome
        if outcome is not None:
            found: list[tuple[str, str]] = [(f"pairwise/{outcome.metric_name}", outcome.result)]
        else:
            found = [
                (verdict.case_id, label)
                for verdict in observation.case_verdicts
                if (label := _label(verdict.value)) is not None
            ]
        for case, label in found:
            given[case][observation.judge_id].append(label)
            order[case].append(label)
    return {
        case: {
            **_agreement(order[case]),
            "repeats": {judge: _agreement(labels) for judge, labels in of_judges.items() if len(labels) > 1},
            "cross_judge": _agreement([Counter(labels).most_common(1)[0][0] for labels in of_judges.values()]),
        }
        for case, of_judges in given.items()
    }


def _label(value: Any) -> str | None:
    if isinstance(value, BaseModel) and hasattr(value, "verdict"):
        return str(value.verdict)
    return value if isinstance(value, str) else None


def _agreement(labels: Sequence[str]) -> dict[str, float]:
    shares = [count / len(labels) for count in Counter(labels).values()]
    return {"agreement_ratio": max(shares), "vote_entropy": -sum(share * math.log2(share) for share in shares)}


def _placements_agree(observations: Sequence[JudgeObservation]) -> Iterable[bool]:
    for observation in observations:
        reduced = observation.reduced
        if reduced is None:
            continue
        if reduced.outcome is not None and reduced.outcome.placements:
            yield len({own.result for own in reduced.outcome.placements.values()}) == 1
        elif reduced.position_results:
            yield len(set(reduced.position_results.values())) == 1
