"""Tables of accuracies that classes of VLMEvalKit import from ``vlmeval.dataset.utils.multiple_choice``."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice import (
    MMMU_preproc,
    get_dimension_rating,
    report_acc_MMSci,
    report_acc_MMT,
    report_acc_MMVP,
    report_topviewrs_acc,
)
from polymeter.interop.ulmeval.shim.vlmeval.vqa_eval import relaxed_correctness


def test_an_ability_is_the_mean_of_its_tasks_and_not_of_its_questions() -> None:
    rows = [("val", "read", "ocr", 1), ("val", "read", "ocr", 1), ("val", "write", "ocr", 0), ("test", "see", "P", 1)]
    table = report_acc_MMT(pd.DataFrame(rows, columns=["split", "category", "l2-category", "hit"])).set_index("split")
    assert list(table.index) == ["test", "val", "ALL"]
    assert table.loc["ALL", "Overall"] == 0.75
    assert (table.loc["val", "read"], table.loc["val", "write"], table.loc["val", "OCR"]) == (1.0, 0.0, 0.5)
    assert math.isnan(table.loc["test", "read"])
    assert table.loc["ALL", "P"] == 1.0


def test_a_table_without_tasks_has_the_overall_accuracy() -> None:
    table = report_acc_MMT(pd.DataFrame({"hit": [1, 0]}))
    assert table.to_dict("list") == {"split": ["none", "ALL"], "Overall": [0.5, 0.5]}


def test_settings_subjects_and_categories() -> None:
    rows = [("Fig2Cap", "bio", "life", 1), ("SubCap2Fig", "bio", "life", 0), ("Fig2Cap", "art", "arts", 1)]
    rows.append(("other", "bio", "life", 0))
    table = report_acc_MMSci(pd.DataFrame(rows, columns=["setting", "subject", "category", "hit"]))
    table = table.set_index("subject")
    assert list(table.index) == ["art", "bio", "CATEGORY_arts", "CATEGORY_life", "Overall"]
    assert list(table.loc["Overall"]) == [1.0, 0.0, 0.5]
    assert list(table.loc["bio"]) == [1.0, 0.0, 0.5]


def test_a_pair_is_right_where_both_are_and_nothing_without_a_verdict() -> None:
    questions = ["a", "a", "b", "b", "c", "d", "d"]
    table = report_acc_MMVP(pd.DataFrame({"question": questions, "hit": [1, 1, 1, 0, 1, 1, math.nan]}))
    assert table["Overall"][0] == 0.5, "of the pair of d one half has no verdict, and the other half of c is missing"
    assert table["Average"][0] == pytest.approx(5 / 6)


def test_partial_matches_stand_beside_accuracies() -> None:
    rows = pd.DataFrame({"hit": [1, 0], "partial_match": [1, 0.5], "category": ["a", "b"]})
    table = report_topviewrs_acc(rows).to_dict("list")
    assert table == {
        "split": ["none"], "Overall": [0.5], "Overall_PM": [0.75], "a": [1], "a_PM": [1], "b": [0], "b_PM": [0.5]
    }  # fmt: skip
    assert list(rows["split"]) == ["none", "none"]


def test_the_table_of_mme_real_world(tmp_path: Path) -> None:
    rows = [("Reasoning/Monitoring", "Color/Attribute/car", 1), ("Reasoning/Monitoring", "Color/Attribute/bus", 0)]
    rows += [("Reasoning/Monitoring", "Count", -1), ("Perception/Remote Sensing", "Count", 1)]
    file = tmp_path / "x.xlsx"
    pd.DataFrame(rows, columns=["category", "l2-category", "score"]).to_excel(file, index=False)
    found = get_dimension_rating(str(file))
    assert found["Reasoning"]["Monitoring"] == {"color/attribute": 0.5, "Avg": 0.5}
    assert (found["Reasoning"]["Avg"], found["Perception"]["Avg"], found["Overall"]) == (0.5, 1, pytest.approx(2 / 3))
    assert found["Perception"]["Monitoring"] == {"Avg": 0}


def test_open_questions_become_a_choice() -> None:
    made = MMMU_preproc(pd.DataFrame({"A": ["x", None], "B": ["y", None], "answer": ["A", "42"]}))
    assert made.to_dict("list") == {"A": ["x", "42"], "B": ["y", "Other Answers"], "answer": ["A", "42"]}


@pytest.mark.parametrize(
    ("target", "answer", "expected", "why"),
    [
        ("nan", "nan", False, "a missing reference is like nothing, as in VLMEvalKit"),
        ("nan", "5", False, "also not like a number"),
        ("inf", "inf", False, "nor is an infinite one"),
        ("nan", "x", False, "nor like a text"),
        ("5", "5.2", True, "within 5 %"),
        ("0", "0", True, "a reference of 0 is a text"),
        ("Nan", "nancy", False, "another word"),
    ],
)
def test_what_is_close_to_a_reference(target: str, answer: str, expected: bool, why: str) -> None:
    assert relaxed_correctness(target, answer) is expected, why
