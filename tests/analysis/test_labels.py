"""Labels that people gave are read by the words that judges' verdicts are read by."""

import pytest

from polymeter.analysis.labels import label_of
from polymeter.core.errors import PlanError


@pytest.mark.parametrize(
    ("cell", "label"),
    [
        ("correct", 1.0),
        ("Wrong", 0.0),
        ("正确", 1.0),
        ("不正确", 0.0),
        ("否", 0.0),
        ("いいえ", 0.0),
        ("정답", 1.0),
        ("خطأ", 0.0),
        ("Верно", 1.0),
        ("falso", 0.0),
        ("Oui", 1.0),
        ("nein", 0.0),
        ("１", 1.0),
        ("٠", 0.0),
        ("０．５", 0.5),
        ("3", 3.0),
        (0.25, 0.25),
        (True, 1.0),
        ("", None),
        (None, None),
    ],
)
def test_a_label_in_any_of_the_languages(cell: object, label: float | None) -> None:
    assert label_of(cell, "The label", "labels.csv:2") == label


@pytest.mark.parametrize("cell", ["partially correct", "maybe", "nan", "0,5", "correct?!no"])
def test_anything_else_is_no_label(cell: str) -> None:
    with pytest.raises(PlanError, match="is not a label that scores can be compared with") as caught:
        label_of(cell, "The label", "labels.csv:2")
    assert "one of yes, true, correct, right, no, false, incorrect, wrong" in caught.value.hint
