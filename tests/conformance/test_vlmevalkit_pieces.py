"""The parts of the suite for VLMEvalKit that need no checkout: tables, the scripted judge, results by name."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pandas
import pytest
from PIL import Image

from conformance.comparing import check_rows, compare
from conformance.frame import Observation
from conformance.vlmevalkit.book import leaves
from conformance.vlmevalkit.hints import HINTS, hints_for, rows_for
from conformance.vlmevalkit.judging import joined, judged, plain_message
from conformance.vlmevalkit.suite import EXPECTED, changed_answers, expected_of, pair_questions, run
from conformance.vlmevalkit.tables import with_rotations, write_table


def test_rotations_keep_the_right_option_and_the_first_image(tmp_path: Path) -> None:
    row = {"index": 3, "A": "red", "B": "blue", "C": "green", "D": "black", "answer": "B"}
    rows = with_rotations([{**row, "image": Image.new("RGB", (4, 4), "red")}])
    assert [one["index"] for one in rows] == [3, 1_000_003, 2_000_003, 3_000_003]
    assert {one[one["answer"]] for one in rows} == {"blue"}
    assert [one["image"] for one in rows[1:]] == ["3", "3", "3"]
    write_table(rows, tmp_path / "t.tsv")
    csv.field_size_limit(sys.maxsize)
    with (tmp_path / "t.tsv").open(newline="") as file:
        assert [line["A"] for line in csv.DictReader(file, delimiter="\t")] == ["red", "blue", "green", "black"]


def test_results_are_named_by_the_texts_of_a_table() -> None:
    table = pandas.DataFrame({"split": ["dev", "test"], "Overall": [0.5, float("nan")]})
    found = dict(leaves({"by split": table, "n": 4}))
    assert found["/by split/dev/Overall"] == 0.5
    assert found["/by split/test/Overall"] == "nan"
    assert found["/n"] == 4
    assert dict(leaves({"details": "/home/me/run/scores.xlsx"})) == {"/details": "scores.xlsx"}
    assert dict(leaves({"split": ["dev", "test"], "Overall": [0.5, None]})) == {
        name.removeprefix("/by split"): value for name, value in found.items() if name != "/n"
    }


@pytest.mark.parametrize(
    ("question", "forms"),
    [
        ("Model respone: it is **4**\nExtracted answer:", {"4"}),
        ("…[Begin Correctness]yes|no[End Correctness]", {"yes", "no"}),
        ("\nQuestion: Which?\nOptions: A. red B. blue\nAnswer: x\nYour output: ", {"A", "B"}),
        ("One class only:\n1_full_refusal\n2_partial_refusal\n\nRESPONSE: no", {"1_full_refusal", "2_partial_refusal"}),
        ("请只输出：评分为x分（x为1/2/3）。", {"评分为1分", "评分为2分", "评分为3分"}),
        ("Creativity … Image Relationship Understanding: {'Dimension One': Rating}", {"'Creativity': "}),
    ],
)
def test_the_judge_says_what_the_question_wants(question: str, forms: set[str]) -> None:
    said = judged(plain_message(question))
    assert any(form in said for form in forms)
    assert judged(plain_message(question)) == said


def test_adjacent_texts_of_a_question_are_one() -> None:
    items = [{"type": "text", "value": "a"}, {"type": "text", "value": "b"}]
    assert joined(plain_message(items, "Be short.")) == [["system", "text", "Be short."], ["user", "text", "a\nb"]]


def test_hints_of_a_set_add_to_those_of_its_class() -> None:
    found = hints_for("ImageMCQDataset", "MMT-Bench_VAL")
    assert found["A"] == HINTS["ImageMCQDataset"]["A"]
    assert found["category"] == HINTS["MMT-Bench*"]["category"]
    assert rows_for(10, "MMT-Bench_VAL") == 36
    assert rows_for(10, "MMStar") == 10


def test_expected_differences_have_rows() -> None:
    assert check_rows(EXPECTED) == []


def asked(*questions: str, value: float = 0.5) -> dict[tuple[str, str], Observation]:
    prompts = {f"judge {number:04}": text for number, text in enumerate(sorted(questions))}
    cells = {"1": {"prediction": "nan"}, "2": {"prediction": "B"}}
    made = {}
    for model in ("right", "wrong", "messy"):
        said = cells if model == "messy" else {"1": {"prediction": "A"}}
        made["Case", model] = Observation("Case", model, {"acc": value}, said, {"1": "?", **prompts})
    return made


def test_one_question_that_differs_leaves_the_others_equal() -> None:
    there, here = asked("a: nan", "b", "b", "c"), asked("b", "b", "c", "a: ")
    for key, one in there.items():
        pair_questions(one, here[key])
    assert [(one.there, one.here) for one in compare(there, here).differences] == [("a: nan", "a: ")] * 3


def test_a_difference_is_expected_only_where_a_spreadsheet_changed_an_answer() -> None:
    answers = {"Case": {"right": {"1": "A"}, "wrong": {"1": "A"}, "messy": {"1": "", "2": "B"}}}
    there = asked("nan")
    changed = changed_answers(there, answers)
    assert changed == [("Case", "messy")]
    rows = [*expected_of(changed)]
    assert {one.model for one in compare(there, asked("", value=0.25), rows).differences} == {"right", "wrong"}


def test_without_a_checkout_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLMEVALKIT", raising=False)
    assert not run(1, tmp_path, "both", "*")
    assert not any(tmp_path.iterdir())
