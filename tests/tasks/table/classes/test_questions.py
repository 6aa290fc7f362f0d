"""Questions with open answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from polymeter import evaluate
from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.data.formats import dump
from polymeter.tasks.table.classes.cells import list_of, text_of
from polymeter.tasks.table.classes.questions.datasets import (
    CustomVQADataset,
    ImageVQADataset,
    ImageYORNDataset,
    TextQADataset,
)
from polymeter.tasks.table.classes.questions.scoring import by_rules, infer_yes_or_no, main_metric, needs_no_judge
from tests.tasks.table.classes.kit import Judge, played, results, served, write_table


def rows(*answers: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"index": place, "question": f"What {place}?", "answer": text, **more} for place, text in enumerate(answers)
    ]


def test_the_prompt_is_the_question_alone(root: Path) -> None:
    dataset = served(root, [*rows("red"), {"index": 1, "question": "Why?", "answer": "x", "hint": "Look up."}])
    assert dataset.build_prompt(0) == [{"type": "text", "value": "What 0?"}]
    assert dataset.build_prompt(1) == [{"type": "text", "value": "Hint: Look up.\nWhy?"}]


def test_gold_answers_have_full_marks_and_empty_ones_none(root: Path, tmp_path: Path) -> None:
    dataset = served(root, rows("red", '["two", "2"]', "['a cat', 'cat']", "a"))
    gold = results(dataset, played(dataset, ["Red.", "2", "Cat", "A."]), tmp_path)
    empty = results(dataset, played(dataset, ["", "", "", ""]), tmp_path)
    assert list(gold) == ["exact_match", "vqa_match", "anls"]
    assert (gold["exact_match"].value, gold["vqa_match"].value) == (1, 1)
    # The VQA challenge removes articles, so that an empty answer is one.
    assert [found.value for found in empty.values()] == [0, 0.25, 0]


def test_any_of_several_golds_will_do(root: Path) -> None:
    dataset = served(root, rows('["couch", "sofa"]'))
    found = dataset.evaluate_sample(dataset.data.iloc[0], "Sofa")
    assert (found["exact_match"], found["anls"]) == (1, 1)
    assert found["explanation"] == "how compared: rules; right: couch or sofa"


def test_ten_annotators_make_vqa_accuracy(root: Path) -> None:
    dataset = served(root, rows(str(["red"] * 2 + ["pink"] * 8)))
    found = dataset.evaluate_sample(dataset.data.iloc[0], "red")
    assert found["vqa_accuracy"] == pytest.approx((2 * (1 / 3) + 8 * (2 / 3)) / 10)
    assert dataset.evaluate_sample(dataset.data.iloc[0], "pink")["vqa_accuracy"] == 1


class Derived(CustomVQADataset):
    """A class of a guest."""


def test_what_a_guest_inherits_or_calls_keeps_the_rule_of_vlmevalkit(root: Path, tmp_path: Path) -> None:
    table = rows("C", "[3, 5]", image_path="x.png")
    write_table(root / "mine.tsv", table)
    derived, own = Derived(dataset="mine"), CustomVQADataset(dataset="mine")
    said = ["C++", "3"]
    for dataset, expected in ((derived, [1, 1]), (own, [0, 0])):
        found = [dataset.evaluate_sample(dataset.data.iloc[place], said[place]) for place in range(2)]
        assert [each["exact_match"] for each in found] == expected
        path = str(tmp_path / "m_mine.pkl")
        dump(pd.DataFrame(table).assign(prediction=said), path)
        assert dataset.evaluate(path).to_dict("records") == [{"Overall": 100.0}]


def test_several_references_are_shown_as_texts(root: Path, tmp_path: Path) -> None:
    write_table(root / "mine.tsv", rows('["couch", "sofa"]', "[3, 5]", '["red"]'))
    result = evaluate("mock", str(root / "mine.tsv"), output=tmp_path / "run", model_args={"mode": "gold"})
    assert [(sample.target, sample.answer) for sample in result.samples()] == [
        ("couch | sofa", "couch"),
        ("[3, 5]", "[3, 5]"),
        ("red", "red"),
    ]
    assert result.value("mine", "exact_match") == 1


def test_the_judge_is_asked_only_where_no_gold_is_met(root: Path) -> None:
    dataset = served(root, rows("red"))
    judge = Judge("A", "B")
    with answering_through(judge):
        scores = [dataset.evaluate_sample(dataset.data.iloc[0], answer) for answer in ("red", "crimson", "green", "")]
    assert [score["judge_acc"] for score in scores] == [1, 1, 0, 0]
    assert [score["exact_match"] for score in scores] == [1, 0, 0, 0]
    assert len(judge.asked) == 2
    assert scores[1]["explanation"] == "how compared: judge; right: red"


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("the cat", "A cat.", True),
        ("two", "2", True),
        ("don't", "dont", True),
        ("5", "-5", False),
        ("C", "C++", False),
        ("10", "1,0", False),
        ("A", "", False),
        ("0", "none", False),
        ("red", "crimson", False),
    ],
)
def test_only_what_is_right_beyond_doubt_needs_no_judge(reference: str, answer: str, expected: bool) -> None:
    assert needs_no_judge([reference], answer) is expected


def test_no_verdict_is_no_score(root: Path) -> None:
    dataset = served(root, rows("red"))
    judge = Judge("no idea")
    with answering_through(judge), pytest.raises(UnscoredError):
        dataset.evaluate_sample(dataset.data.iloc[0], "crimson")
    assert len(judge.refused) == 1


def test_a_row_without_an_answer_has_no_score(root: Path, tmp_path: Path) -> None:
    dataset = served(root, rows("red", ""))
    assert results(dataset, played(dataset, ["red", "red"]), tmp_path)["exact_match"].n == 1


def test_a_table_without_answers_has_results_without_values(root: Path, tmp_path: Path) -> None:
    served(root, [{"index": 0, "question": "?", "answer": "x"}])
    dataset = TextQADataset("mine")
    dataset.data = dataset.data.drop(columns="answer")
    found = results(dataset, played(dataset, ["x"]), tmp_path)
    assert [(result.n, result.value) for result in found.values()] == [(0, None)]


def test_yes_and_no_are_found_in_sentences(root: Path, tmp_path: Path) -> None:
    dataset = served(root, rows("Yes", "no", "Yes", "No"))
    found = results(dataset, played(dataset, ["Yes, it is.", "No!", "I think so.", "yes or no"]), tmp_path)
    assert list(found) == ["acc", "unparsed"]
    assert (found["acc"].value, found["unparsed"].value) == (0.5, 0.5)
    judge = Judge("A", "Z")
    with answering_through(judge):
        assert dataset.evaluate_sample(dataset.data.iloc[2], "I think so.")["acc"] == 1
        assert dataset.evaluate_sample(dataset.data.iloc[2], "I think so.")["unparsed"] == 0


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("Yes", "Yes"), ("no.", "No"), ("yes and no", None), ("", None), ("nobody", None), ("It is (yes)", "Yes")],
)
def test_yes_or_no(answer: str, expected: str | None) -> None:
    assert infer_yes_or_no(answer) == expected


@pytest.mark.parametrize(
    ("dataset", "metric"),
    [
        ("TextVQA_VAL", "vqa_accuracy"),
        ("ChartQA_TEST", "relaxed_accuracy"),
        ("OCRVQA_TEST", "accuracy"),
        ("GQA_TestDev", "accuracy"),
        ("DocVQA_VAL", "anls"),
        ("mine", "exact_match"),
    ],
)
def test_the_field_reports_some_datasets_by_their_own_metric(dataset: str, metric: str) -> None:
    assert main_metric(dataset) == metric
    values = by_rules(["40"], "40", metric)
    assert metric in values


def test_evaluate_gives_percentages(root: Path, tmp_path: Path) -> None:
    table = rows("40", "50", category="bars")
    write_table(root / "ChartQA_MINE.tsv", table)
    dataset = CustomVQADataset(dataset="ChartQA_MINE")
    path = str(tmp_path / "m_ChartQA_MINE.pkl")
    dump(pd.DataFrame(table).assign(prediction=["41", "70"]), path)
    found = dataset.evaluate(path)
    assert found.to_dict("records") == [{"Overall": 50.0, "bars": 50.0}]
    assert (tmp_path / "m_ChartQA_MINE_acc.csv").is_file()


def test_the_named_classes(root: Path) -> None:
    write_table(root / "mine.tsv", rows("Yes", "red", image_path="x.png"))
    asked = ImageVQADataset(dataset="mine")
    asked.dump_image = lambda line: []  # type: ignore[method-assign, assignment]
    assert asked.build_prompt(0)[-1]["value"] == "What 0?\nAnswer the question using a single word or phrase."
    yes_no = ImageYORNDataset(dataset="mine")
    assert yes_no.TYPE == "Y/N"
    assert yes_no.evaluate_sample(yes_no.data.iloc[0], "yes it is")["acc"] == 1


def test_cells() -> None:
    assert list_of({"answer": "[not a list"}, "answer") == ["[not a list"]
    assert list_of({"answer": "[__import__('os')]"}, "answer") == ["[__import__('os')]"]
    assert list_of({"answer": "[{[]: 1}]"}, "answer") == ["[{[]: 1}]"]
    assert list_of({"answer": 3.0}, "answer") == ["3"]
    assert list_of({"answer": "[1, 2.5, null]"}, "answer") == ["1", "2.5"]
    assert (text_of(float("nan")), text_of(None), text_of("  "), text_of(2.5)) == ("", "", "", "2.5")
