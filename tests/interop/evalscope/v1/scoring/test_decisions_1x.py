"""Decisions with probabilities: losses, and their numbers, with values seen from the wheel 1.14.1."""

from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.interop.evalscope.v1.registries import get_aggregation, get_metric
from polymeter.interop.evalscope.v1.scoring.decisions import average_ranks, decision_score, ece
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore

LABELS = {"noul": ["no", "yes"], "score": ["0", "1", "2"], "choice": ["x", "y"]}


def scored(kind: str, *decisions: tuple[list[float], Any], **settings: Any) -> list[SampleScore]:
    scores = []
    for at, (probabilities, gold) in enumerate(decisions):
        given = dict(zip(LABELS[kind], probabilities, strict=True))
        answer = SimpleNamespace(type=kind, probabilities=given, confidence=None)
        scores.append(SampleScore(score=decision_score(answer, gold, LABELS[kind], **settings), sample_id=at))
    return scores


def numbers(scores: list[SampleScore]) -> dict[str, AggScore]:
    return {number.metric_name: number for number in get_aggregation("decision")()(scores)}


@pytest.mark.parametrize(
    ("name", "probabilities", "gold", "loss"),
    [
        ("nll", "[0.25, 0.75]", "1", 0.2876820724517809),
        ("nll", "[1, 0]", "1", 27.631021115928547),
        ("brier", "[0.25, 0.75]", "1", 0.125),
        ("binary_brier", "[0.25, 0.75]", "0", 0.5625),
        ("rps", "[0.5, 0.25, 0.25]", "1", 0.15625),
        ("mae", "[0.5, 0.25, 0.25]", "1.5", 0.75),
    ],
)
def test_a_loss_of_probabilities(name: str, probabilities: str, gold: str, loss: float) -> None:
    assert get_metric(f"decision_{name}")()(probabilities, gold) == pytest.approx(loss)


def test_numbers_of_yes_and_no() -> None:
    found = numbers(scored("noul", ([0.2, 0.8], "yes"), ([0.6, 0.4], "yes"), ([0.9, 0.1], "no"), ([0.3, 0.7], "no")))
    expected = {"accuracy": 0.5, "precision": 0.5, "recall": 0.5, "f1": 0.5, "auroc": 0.75, "auprc": 5 / 6, "ece": 0.4}
    assert {name: found[name].score for name in expected} == pytest.approx(expected)
    assert found["nll"].dimensions == {"kind": "noul"}
    assert found["aurc"].dimensions["confidence"] == "top_probability"
    curve = (found["aurc"].metadata or {})["risk_coverage_top_probability"]
    assert [point["risk"] for point in curve] == pytest.approx([0, 0, 1 / 3, 0.5])


def test_numbers_of_levels() -> None:
    scores = scored("score", ([0.8, 0.2, 0], "0"), ([0, 1, 0], "1"), ([0, 0.5, 0.5], "2"))
    found = numbers(scores)
    assert found["spearman"].score == pytest.approx(1)
    assert found["mae"].score == pytest.approx(0.7 / 3)
    assert found["mae"].dimensions == {"kind": "score", "levels": 3}
    alone = numbers(scored("score", ([0.8, 0.2, 0], 0.4), continuous=True))
    assert "ece" not in alone
    assert (alone["mae"].metadata, alone["aurc"].metadata["unavailable"]) == (  # type: ignore[index]
        None,
        {"correlations": "Need nonconstant predictions and golds."},
    )


def test_losses_of_different_kinds_are_kept_apart() -> None:
    mixed = scored("noul", ([0.2, 0.8], "yes")) + scored("choice", ([0.5, 0.5], "y"), family="f", fixed_classes=True)
    found = get_aggregation("decision")()(mixed)
    assert [number.aggregation for number in found if number.metric_name == "accuracy"] == [
        "mean",
        "decision",
        "decision",
    ]
    assert found[-1].metric_name == "family_macro"
    assert found[-1].metadata == {"families": {"f": 0.0}}


def test_calibration_and_ranks() -> None:
    assert ece([(0.05, 1), (0.95, 0), (1.0, 1)]) == pytest.approx(0.6333333333)
    assert average_ranks([3, 1, 3, 2]) == [3.5, 1, 3.5, 2]
    with pytest.raises(ValueError, match="threshold"):
        scored("noul", ([0.5, 0.5], "yes"), threshold=2)
