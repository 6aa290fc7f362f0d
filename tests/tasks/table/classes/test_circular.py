"""Circular evaluation: all rotations of a question, and a score of each protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import DataError
from polymeter.data.formats import dump
from polymeter.tasks.table.classes.columns import OPTION_COLUMNS
from polymeter.tasks.table.classes.multiple_choice import circular
from tests.tasks.table.classes.kit import played, results, served


def questions(n: int = 3, **more: Any) -> list[dict[str, Any]]:
    options = {"A": "lion", "B": "mouse", "C": "whale"}
    return [{"index": number, "question": f"Number {number}?", **options, "answer": "B", **more} for number in range(n)]


def rotated(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return circular.with_rotations(pd.DataFrame(rows), OPTION_COLUMNS)


def test_each_rotation_moves_options_and_answer_alike() -> None:
    found = rotated(questions(1))
    assert found["index"].tolist() == [0, 1_000_000, 2_000_000]
    assert found["g_index"].tolist() == [0, 0, 0]
    assert found[["A", "B", "C", "answer"]].values.tolist() == [
        ["lion", "mouse", "whale", "B"],
        ["whale", "lion", "mouse", "C"],
        ["mouse", "whale", "lion", "A"],
    ]


def test_an_answer_in_small_letters_or_as_text_stays_right() -> None:
    assert rotated(questions(1, answer=" b"))["answer"].tolist() == [" b", "C", "A"]
    assert rotated(questions(1, answer="mouse"))["answer"].tolist() == ["mouse"] * 3


@given(
    st.lists(st.sampled_from(["lion", "mouse", "whale", "crab", "yak"]), min_size=2, max_size=5, unique=True), st.data()
)
def test_the_right_option_is_the_same_text_in_every_rotation(texts: list[str], data: st.DataObject) -> None:
    gold = data.draw(st.integers(0, len(texts) - 1))
    row = {"index": 7, "question": "?", **dict(zip("ABCDE", texts, strict=False)), "answer": "ABCDE"[gold]}
    found = rotated([row])
    assert len(found) == len(texts)
    assert [line[line["answer"]] for _, line in found.iterrows()] == [texts[gold]] * len(texts)
    assert {tuple(line[letter] for letter in "ABCDE"[: len(texts)]) for _, line in found.iterrows()} == {
        tuple(texts[-turn:] + texts[:-turn]) for turn in range(len(texts))
    }


@pytest.mark.parametrize("last", ["All of the above", "None of these", "Both A and B", "A, B"])
def test_an_option_about_the_others_stays_last(last: str) -> None:
    found = rotated(questions(1, C=last))
    assert found["C"].tolist() == [last, last]
    assert found["A"].tolist() == ["lion", "mouse"]


def test_rows_without_many_options_are_left_alone() -> None:
    assert len(rotated(questions(2, B="", C="", answer="A"))) == 2


def test_large_indices_leave_room_for_the_copies() -> None:
    row = {**questions(1)[0], "index": 2_000_001}
    assert rotated([row])["index"].tolist() == [2_000_001, 12_000_001, 22_000_001]


def test_an_index_must_be_a_number() -> None:
    with pytest.raises(DataError, match="not every index is a whole number"):
        rotated([{**questions(1)[0], "index": "x1"}])


def test_both_scores_are_reported_under_their_protocols_names(root: Path, tmp_path: Path) -> None:
    dataset = served(root, questions())
    dataset.data = dataset.expand(dataset.data)
    answers = list(dataset.data["answer"])
    answers[4] = "C" if answers[4] != "C" else "A"
    found = results(dataset, played(dataset, answers), tmp_path)
    assert list(found) == ["acc", "circular_acc", "rotation_acc", "unparsed"]
    assert (found["acc"].value, found["acc"].n) == (1, 3)
    assert (found["circular_acc"].value, found["circular_acc"].n) == (pytest.approx(2 / 3), 3)
    assert (found["rotation_acc"].value, found["rotation_acc"].n) == (pytest.approx(8 / 9), 9)
    assert (found["acc"].n_planned, found["circular_acc"].n_planned, found["rotation_acc"].n_planned) == (3, 3, None)
    assert found["circular_acc"].no_interval == "fewer than 20 samples"
    assert found["rotation_acc"].stderr_method == "clustered"


def test_always_the_same_letter_is_never_right_all_round(root: Path, tmp_path: Path) -> None:
    dataset = served(root, questions())
    dataset.data = dataset.expand(dataset.data)
    found = results(dataset, played(dataset, ["B"] * 9), tmp_path)
    assert (found["acc"].value, found["circular_acc"].value) == (1, 0)


def test_a_question_with_a_failed_rotation_is_left_out(root: Path, tmp_path: Path) -> None:
    dataset = served(root, questions())
    dataset.data = dataset.expand(dataset.data)
    answers = [None, "wrong", *list(dataset.data["answer"])[2:]]
    found = results(dataset, played(dataset, answers), tmp_path)
    assert (found["acc"].n, found["circular_acc"].n, found["circular_acc"].value) == (2, 2, 1)
    assert (found["acc"].n_planned, found["circular_acc"].n_planned) == (3, 3)


def test_questions_that_a_limit_cuts_are_not_missed(root: Path, tmp_path: Path) -> None:
    dataset = served(root, questions())
    dataset.data = dataset.expand(dataset.data)
    found = results(dataset, played(dataset, ["B"] * 4), tmp_path)
    assert (found["acc"].n, found["acc"].n_planned) == (2, 2)
    assert (found["circular_acc"].n, found["circular_acc"].n_planned) == (1, 1)


def test_groups_may_have_any_names(root: Path, tmp_path: Path) -> None:
    rows = rotated(questions(2)).assign(g_index=["a"] * 3 + ["b"] * 3).to_dict("records")
    for row in rows:
        row["index"] = f"{row['g_index']}" if row["index"] < 2 else f"{row['g_index']}{row['index']}"
    dataset = served(root, rows)
    found = results(dataset, played(dataset, [row["answer"] for row in rows]), tmp_path)
    assert (found["acc"].n, found["circular_acc"].n, found["circular_acc"].value) == (2, 2, 1)


def test_tables_with_rotations_are_recognised(root: Path, tmp_path: Path) -> None:
    rows = rotated(questions()).drop(columns="g_index").sort_values("index").to_dict("records")
    dataset = served(root, rows)
    assert dataset.expand(dataset.data) is dataset.data
    found = results(dataset, played(dataset, [str(line["answer"]) for line in rows]), tmp_path)
    assert (found["acc"].n, found["circular_acc"].n, found["circular_acc"].value) == (3, 3, 1)
    assert dataset.cluster(dataset.data.iloc[0]) == dataset.cluster(dataset.data.iloc[3])


def test_large_indices_alone_are_no_rotations(root: Path, tmp_path: Path) -> None:
    dataset = served(root, [{**row, "index": 1_000_000 + row["index"]} for row in questions()])
    assert list(results(dataset, played(dataset, ["B"] * 3), tmp_path)) == ["acc", "unparsed"]
    assert dataset.cluster(dataset.data.iloc[0]) is None


def test_rotations_share_their_questions_images(root: Path) -> None:
    from tests.tasks.table.classes.test_multiple_choice import image

    dataset = served(root, questions(1, image=image()))
    dataset.data = dataset.expand(dataset.data)
    assert len({dataset.build_prompt(place)[0]["value"] for place in range(3)}) == 1


def test_evaluate_reports_both_protocols(root: Path, tmp_path: Path) -> None:
    rows = rotated(questions()).drop(columns="g_index").to_dict("records")
    dataset = served(root, rows)
    path = str(tmp_path / "model_mine.pkl")
    dump(pd.DataFrame(rows).assign(prediction="B"), path)
    table = dataset.evaluate(path)
    assert table[["protocol", "Overall"]].values.tolist() == [["circular", 0.0], ["plain", 1.0]]
