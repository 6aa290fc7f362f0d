"""Tables of accuracies that classes of VLMEvalKit import from ``vlmeval.dataset.utils.multiple_choice``."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice import (
    MMMU_preproc,
    report_acc_MMSci,
    report_acc_MMT,
    report_acc_MMVP,
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
    table = report_acc_MMVP(pd.DataFrame({"index": ["1", "2", "3", "4", "5", "6"], "hit": [1, 1, 1, 0, 1, math.nan]}))
    assert table["case_accuray"][0] == 0.5
    assert table["question_accuray"][0] == pytest.approx(0.8)


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
