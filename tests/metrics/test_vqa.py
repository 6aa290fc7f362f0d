"""Answers as the VQA challenge compares them, and numbers off charts."""

from __future__ import annotations

import pytest

from polymeter.metrics.vqa import relaxed_match, vqa_accuracy, vqa_match


@pytest.mark.parametrize(
    ("matches", "expected"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)], ids=str
)
def test_vqa_accuracy_of_ten_annotators(matches: int, expected: float) -> None:
    # The published table: leaving each annotator out in turn gives 0.3, 0.6, 0.9, 1.
    golds = ["red"] * matches + ["blue"] * (10 - matches)
    assert vqa_accuracy(golds, ["Red"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [("two", "2", 1), ("a cat", "the cat", 1), ("dont", "don't", 1), ("cat", "cats", 0), ("", "", 1)],
)
def test_vqa_match(gold: str, answer: str, expected: float) -> None:
    assert vqa_match(["other", gold], [answer]) == expected


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("100", "105", 1),
        ("100", "105.1", 0),
        ("-100", "-95", 1),
        ("12%", "0.12", 1),
        ("0", "0", 1),
        ("0", "0.01", 0),
        ("Red", "red", 1),
        ("nan", "nan", 1),
        ("100", "about 100", 0),
    ],
)
def test_relaxed_match(gold: str, answer: str, expected: float) -> None:
    assert relaxed_match([gold], [answer]) == expected
