"""Multiple choice: the prompt, the scores, and the table that others print."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError, UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.data.formats import dump, load
from polymeter.tasks.table.classes.multiple_choice.datasets import ImageMCQDataset, TextMCQDataset
from tests.tasks.table.classes.kit import Judge, played, results, served, write_table

_VAGUE = "the one that lives in the sea"


def animals(n: int = 4) -> list[dict[str, Any]]:
    """Questions whose answers are A, B, C, A, …"""
    return [
        {
            "index": number,
            "question": f"Which is number {number}?",
            "A": "lion",
            "B": "mouse",
            "C": "whale",
            "answer": "ABC"[number % 3],
            "category": "even" if number % 2 == 0 else "odd",
            "l2-category": "coarse_perception",
        }
        for number in range(n)
    ]


def image(colour: str = "red") -> str:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_the_prompt_is_the_published_one(root: Path) -> None:
    dataset = served(root, [{**animals(1)[0], "hint": "Think.", "D": ""}])
    assert dataset.build_prompt(0) == [
        {
            "type": "text",
            "value": "Hint: Think.\nQuestion: Which is number 0?\nOptions:\nA. lion\nB. mouse\nC. whale\n"
            "Please select the correct answer from the options above. \n",
        }
    ]


def test_options_are_shown_as_they_are_written(root: Path) -> None:
    options = {"A": "1.50", "B": "TRUE", "C": "007"}
    rows = [{"index": number, "question": "Which?", **options, "answer": "A"} for number in range(2)]
    assert "A. 1.50\nB. TRUE\nC. 007\n" in served(root, rows).build_prompt(0)[0]["value"]

    class Theirs(TextMCQDataset):
        pass

    theirs = Theirs("mine").data
    assert (theirs["A"][0], theirs["B"][0]) == (1.5, True), "code of others has what pandas gives it"


def test_images_come_first(root: Path) -> None:
    dataset = served(root, [{**animals(1)[0], "image": image()}])
    first, second = dataset.build_prompt(dataset.data.iloc[0])
    assert first["type"] == "image"
    with Image.open(first["value"]) as shown:
        assert shown.size == (8, 8)
    assert second["value"].startswith("Question: ")


def test_rows_without_an_image_are_asked_without_one(root: Path) -> None:
    first, second = animals(2)
    dataset = served(root, [{**first, "image": image()}, {**second, "image": ""}])
    assert [[item["type"] for item in dataset.build_prompt(place)] for place in range(2)] == [
        ["image", "text"],
        ["text"],
    ]


def test_gold_answers_have_full_marks_and_empty_ones_none(root: Path, tmp_path: Path) -> None:
    dataset = served(root, animals())
    gold = results(dataset, played(dataset, list(dataset.data["answer"])), tmp_path)
    empty = results(dataset, played(dataset, [""] * 4), tmp_path)
    assert (gold["acc"].value, gold["unparsed"].value) == (1, 0)
    assert (empty["acc"].value, empty["unparsed"].value) == (0, 1)


def test_results_by_category_follow_the_whole(root: Path, tmp_path: Path) -> None:
    dataset = served(root, animals())
    found = results(dataset, played(dataset, ["A", "mouse", "A", None]), tmp_path)
    assert list(found) == ["acc", "acc category/even", "acc category/odd", "unparsed"]
    assert [(found[name].value, found[name].n) for name in list(found)[:3]] == [
        (pytest.approx(2 / 3), 3),
        (0.5, 2),
        (1, 1),
    ]
    assert found["acc"].no_interval == "fewer than 20 samples"
    assert found["unparsed"].higher_is_better is False


def test_every_sample_says_how_its_answer_was_read(root: Path) -> None:
    dataset = served(root, animals(1))
    line = dataset.data.iloc[0]
    scores = dataset.evaluate_sample(line, "lion")
    assert (scores["answer"], scores["explanation"]) == ("A", "how read: rules; chosen: A; right: A")
    scores = dataset.evaluate_sample(line, _VAGUE)
    assert (scores["answer"], scores["unparsed"]) == ("", 1)
    assert scores["explanation"].startswith("how read: none")
    with answering_through(Judge("C")):
        scores = dataset.evaluate_sample(line, _VAGUE)
    assert (scores["acc"], scores["unparsed"]) == (0, 0)
    assert scores["explanation"] == "how read: judge; chosen: C; right: A"


def test_no_verdict_is_no_score(root: Path) -> None:
    dataset = served(root, animals(1))
    with answering_through(Judge("who knows")), pytest.raises(UnscoredError):
        dataset.evaluate_sample(dataset.data.iloc[0], _VAGUE)


def test_the_answer_may_be_written_as_the_options_text(root: Path) -> None:
    dataset = served(root, [{**animals(1)[0], "answer": "whale"}, {**animals(2)[1], "answer": "b"}])
    assert dataset.evaluate_sample(dataset.data.iloc[0], "C")["acc"] == 1
    assert dataset.evaluate_sample(dataset.data.iloc[1], "B")["acc"] == 1


def test_an_answer_that_is_no_option_is_that_rows_error(root: Path) -> None:
    dataset = served(root, [{**animals(1)[0], "answer": "E"}, *animals(2)[1:]])
    with pytest.raises(
        DataError, match=r"The answer 'E' is none of the options A 'lion', .*\. \[row '?0'?, column 'answer'\]"
    ):
        dataset.evaluate_sample(dataset.data.iloc[0], "A")
    assert dataset.evaluate_sample(dataset.data.iloc[1], "B")["acc"] == 1


def test_a_row_without_an_answer_has_no_score(root: Path, tmp_path: Path) -> None:
    dataset = served(root, [{**animals(1)[0], "answer": ""}, *animals(2)[1:]])
    assert results(dataset, played(dataset, ["A", "B"]), tmp_path)["acc"].n == 1


def test_an_open_question_is_held_against_its_text(root: Path) -> None:
    row = {"index": 9, "question": "What?", "A": "", "B": "", "C": "", "answer": "a sperm whale"}
    dataset = served(root, [*animals(1), row])
    line = dataset.data.iloc[1]
    assert dataset.build_prompt(1)[-1]["value"] == "Question: What?\n"
    assert dataset.evaluate_sample(line, "It is a sperm whale")["acc"] == 1
    assert dataset.evaluate_sample(line, "A")["acc"] == 0
    with answering_through(Judge("A")):
        assert dataset.evaluate_sample(line, "cachalot")["acc"] == 1


def test_a_question_without_text_is_that_rows_error(root: Path) -> None:
    dataset = served(root, [{**animals(1)[0], "question": ""}, *animals(2)[1:]])
    with pytest.raises(DataError, match="The question of this row is empty"):
        dataset.build_prompt(0)
    assert dataset.build_prompt(1)


class OwnChoices(TextMCQDataset):
    """As somebody writes it over a table of his own."""

    DATASET_URL: ClassVar = {"own_choices": ""}


def test_only_our_own_classes_may_be_scored_in_parallel(root: Path) -> None:
    write_table(root / "own_choices.tsv", animals())
    assert not OwnChoices(dataset="own_choices").is_thread_safe
    assert TextMCQDataset(dataset="own_choices").is_thread_safe


def predictions(folder: Path, rows: list[dict[str, Any]], answers: list[Any]) -> str:
    path = str(folder / "model_own_choices.pkl")
    dump(pd.DataFrame(rows).assign(prediction=answers), path)
    return path


def test_evaluate_gives_the_table_that_others_print(root: Path, tmp_path: Path) -> None:
    rows = [{**row, "split": "dev" if row["index"] < 2 else "test"} for row in animals()]
    write_table(root / "own_choices.tsv", rows)
    dataset = OwnChoices(dataset="own_choices")
    path = predictions(tmp_path, rows, ["A", "A", "C", "Failed to obtain answer via API."])
    table = dataset.evaluate(path, nproc=2)
    assert list(table.columns) == ["split", "Overall", "CP", "even", "odd"]
    assert table["split"].tolist() == ["dev", "test"]
    assert table["Overall"].tolist() == [0.5, 1.0]
    assert table["odd"].tolist()[0] == 0
    assert load(str(tmp_path / "model_own_choices_acc.csv"))["Overall"].tolist() == [0.5, 1.0]
    assert load(str(tmp_path / "model_own_choices_exact_matching_result.pkl"))["hit"].tolist()[:3] == [1, 0, 1]


def test_evaluate_does_not_do_without_a_judge_that_is_named(root: Path, tmp_path: Path) -> None:
    write_table(root / "own_choices.tsv", animals())
    dataset = OwnChoices(dataset="own_choices")
    path = predictions(tmp_path, animals(), [_VAGUE] * 4)
    with pytest.raises(PlanError, match="The judge 'gpt-4o' is needed to read answers"):
        dataset.evaluate(path, model="gpt-4o")
    judge = Judge("C")
    with answering_through(judge):
        table = dataset.evaluate(path, model="gpt-4o")
    assert table["Overall"].tolist() == [0.25]
    assert len(judge.asked) == 4


def test_a_file_without_predictions_is_refused(root: Path, tmp_path: Path) -> None:
    write_table(root / "own_choices.tsv", animals())
    path = str(tmp_path / "x.pkl")
    dump(pd.DataFrame(animals()), path)
    with pytest.raises(DataError, match="no table with a column 'prediction'"):
        OwnChoices(dataset="own_choices").evaluate(path)


def test_the_image_class_names_no_dataset_itself() -> None:
    assert ImageMCQDataset.supported_datasets() == []
    assert ImageMCQDataset.TYPE == "MCQ"
