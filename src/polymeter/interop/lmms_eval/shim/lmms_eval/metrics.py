"""``lmms_eval.api.metrics``: Polymeter's metrics under the names that tasks import."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polymeter.core.guest_context import guest_context
from polymeter.core.names.registries import AGGREGATIONS


def levenshtein_distance(s1: Sequence[Any], s2: Sequence[Any]) -> int:
    """The smallest number of insertions, deletions and substitutions that turns one sequence into the other."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(s1, s2))


def anls(references: Sequence[str], predictions: Sequence[str], thresh_hold: float = 0.5) -> dict[str, float]:
    """Average normalised Levenshtein similarity of the first prediction to the nearest reference."""
    from polymeter.metrics import as_written

    return {"anls": as_written.anls(references, [predictions[0]], threshold=thresh_hold)}


def exact_match_fn(**kwargs: Any) -> dict[str, float]:
    """The fraction of predictions that equal their reference; see ``polymeter.metrics.as_written.exact_match``."""
    from polymeter.metrics import as_written

    return {"exact_match": as_written.exact_match(**kwargs)}


def mean(arr: Sequence[float]) -> Any:
    return _aggregated("mean", arr)


def median(arr: Sequence[float]) -> Any:
    """Return the middle of the sorted values; at parity with lmms-eval, of the values in their order."""
    if guest_context().parity.on("median-order"):
        return arr[len(arr) // 2]
    return _aggregated("median", arr)


def perplexity(items: Sequence[float]) -> Any:
    return _aggregated("perplexity", items)


def weighted_perplexity(items: Sequence[tuple[float, float]]) -> Any:
    return _aggregated("weighted_perplexity", items)


def bits_per_byte(items: Sequence[tuple[float, float]]) -> Any:
    return _aggregated("bits_per_byte", items)


def f1_score(items: Sequence[tuple[Any, Any]]) -> Any:
    return _aggregated("f1", items)


def matthews_corrcoef(items: Sequence[tuple[Any, Any]]) -> Any:
    return _aggregated("matthews_corrcoef", items)


def brier_score(items: Sequence[Any]) -> Any:
    return _aggregated("brier_score", items)


def bleu(items: Sequence[Any]) -> Any:
    return _aggregated("bleu", items)


def chrf(items: Sequence[Any]) -> Any:
    return _aggregated("chrf", items)


def ter(items: Sequence[Any]) -> Any:
    return _aggregated("ter", items)


def acc_all(items: Sequence[tuple[Any, Mapping[str, Any]]]) -> Any:
    return _aggregated("acc_all", items)


def bypass_agg(arr: Sequence[Any]) -> Any:
    return _aggregated("bypass", arr)


def weighted_mean(items: Iterable[tuple[float, float]]) -> float:
    values, weights = zip(*items, strict=True)
    return float(sum(values) / sum(weights))


def pop_stddev(arr: Sequence[float]) -> float:
    return _spread(arr, len(arr))


def sample_stddev(arr: Sequence[float]) -> float:
    return _spread(arr, len(arr) - 1)


def mean_stderr(arr: Sequence[float]) -> float:
    return sample_stddev(arr) / math.sqrt(len(arr))


def metric_max_over_ground_truths(
    metric_fn: Callable[[Any, Any], Any], prediction: Any, ground_truths: Iterable[Any]
) -> Any:
    """The highest value of a metric over several references."""
    return max(metric_fn(prediction, truth) for truth in ground_truths)


def is_non_str_iterable(obj: Any) -> bool:
    return isinstance(obj, Iterable) and not isinstance(obj, str)


def _aggregated(name: str, values: Sequence[Any]) -> Any:
    return AGGREGATIONS.get(name).aggregate(values)


def _spread(values: Sequence[float], divisor: int) -> float:
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / divisor)
