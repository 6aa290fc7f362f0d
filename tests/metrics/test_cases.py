"""Every case of ``cases/``: our value is the expected one, and the expected one is the reference library's."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from polymeter.core.names.registries import AGGREGATIONS, METRICS
from tests.metrics import naive


def as_value(value: Any) -> Any:
    """JSON has lists where values have tuples."""
    return tuple(as_value(item) for item in value) if isinstance(value, list) else value


def test_score(score_case: dict[str, Any]) -> None:
    score = METRICS.get(score_case["metric"]).score
    assert score is not None
    found = score(references=score_case["references"], predictions=score_case["predictions"], **score_case["kwargs"])
    expected = as_value(score_case["expected"])
    if isinstance(expected, float):
        assert isinstance(found, float)
        assert found == pytest.approx(expected, abs=score_case["tolerance"]), score_case["why"]
    else:
        assert found == expected, score_case["why"]


def test_aggregate(aggregate_case: dict[str, Any]) -> None:
    aggregate = AGGREGATIONS.get(aggregate_case["aggregation"]).aggregate
    expected, tolerance = aggregate_case["expected"], aggregate_case["tolerance"]
    found = aggregate([as_value(value) for value in aggregate_case["values"]])
    assert type(found) in (float, int)
    assert found == pytest.approx(expected, abs=tolerance, rel=0), aggregate_case["why"]


def test_expected_is_the_reference_librarys(aggregate_case: dict[str, Any]) -> None:
    reference = REFERENCES.get(aggregate_case["reference"])
    if reference is not None:
        assert aggregate_case["expected"] == pytest.approx(reference(aggregate_case["values"]), abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "answer"), [("kitten", "sitting"), ("flaw", "lawn"), ("", "abc"), ("größe", "grosse")]
)
def test_error_rates_are_rapidfuzz_distances(gold: str, answer: str) -> None:
    score = METRICS.get("cer").score
    assert score is not None
    assert score(references=[gold], predictions=[answer]) * max(len(gold), 1) == Levenshtein.distance(gold, answer)


def _f1(values: list[Any]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(*zip(*values, strict=True), zero_division=0))


def _mcc(values: list[Any]) -> float:
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(*zip(*values, strict=True)))


def _brier(values: list[Any]) -> float:
    golds, probabilities = zip(*values, strict=True)
    errors = np.array(probabilities) - np.eye(len(probabilities[0]))[list(golds)]
    return float(np.mean(np.sum(errors**2, axis=1)))


def _sacrebleu(name: str) -> Callable[[list[Any]], float]:
    def score(values: list[Any]) -> float:
        import sacrebleu

        golds, answers = zip(*values, strict=True)
        streams = list(zip(*[[gold] if isinstance(gold, str) else gold for gold in golds], strict=True))
        return float(getattr(sacrebleu, f"corpus_{name}")(list(answers), streams).score)

    return score


def _ratio(values: Sequence[Any]) -> float:
    numerators, weights = zip(*values, strict=True)
    return float(-sum(numerators) / sum(weights))


REFERENCES: dict[str, Callable[[list[Any]], float]] = {
    "f1": _f1,
    "mcc": _mcc,
    "brier": _brier,
    "bleu": _sacrebleu("bleu"),
    "chrf": _sacrebleu("chrf"),
    "ter": _sacrebleu("ter"),
    "perplexity": lambda values: float(np.exp(-np.mean(values))),
    "weighted_perplexity": lambda values: math.exp(_ratio(values)),
    "bits_per_byte": lambda values: _ratio(values) / math.log(2),
    "cider": naive.cider,
    "error_rate": lambda values: sum(edits for edits, _ in values) / sum(length for _, length in values),
    "mean": lambda values: float(np.mean(values)),
    "median": lambda values: float(np.median(values)),
    "sum": lambda values: float(np.sum(values)),
    "max": lambda values: float(np.max(values)),
    "min": lambda values: float(np.min(values)),
}
