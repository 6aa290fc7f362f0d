"""Whose rules read multiple choice over tables: ours, but VLMEvalKit's for classes of guests."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.tasks.table.classes.multiple_choice.datasets import TextMCQDataset
from polymeter.tasks.table.classes.multiple_choice.reading import OptionRead, read_choice
from tests.tasks.table.classes.kit import served, write_table

ROW = {"index": 0, "question": "?", "A": "10", "B": "100", "C": "1000", "answer": "B"}
OURS = {"100": "B", "b": "B", "答案：B": "B", "The answer is B. A number has digits.": "B", "1000m": ""}
THEIRS = {"100": "", "b": "", "答案：B": "", "The answer is B. A number has digits.": "B", "1000m": ""}


@pytest.mark.parametrize("answer", OURS)
def test_plain_tables_are_read_by_our_rule(root: Path, answer: str) -> None:
    assert served(root, [ROW]).evaluate_sample(ROW, answer)["answer"] == OURS[answer]


@pytest.mark.parametrize("answer", THEIRS)
def test_classes_that_derive_from_ours_keep_their_rule(root: Path, answer: str) -> None:
    class Theirs(TextMCQDataset):
        pass

    write_table(root / "mine.tsv", [ROW])
    assert Theirs("mine").evaluate_sample(ROW, answer)["answer"] == THEIRS[answer]


def test_equal_options_are_noted(root: Path) -> None:
    dataset = served(root, [ROW, {**ROW, "index": 7, "C": " 100 "}])
    (note,) = dataset.notes()
    assert note.startswith("1 of the 2 rows looked at have equal options (the first is row 7).")
    assert dataset.evaluate_sample({**ROW, "C": "100"}, "100")["unparsed"] == 1


def test_without_letters_a_text_in_a_long_answer_shows_nothing() -> None:
    choices = {"A": "whale", "B": "Other Answers"}
    long = "There are many animals in the sea, for instance the whale, and it is hard to say more."
    kept = {"is_judged": False, "by_letter": False}
    assert read_choice("It is a whale.", choices, "", **kept) == OptionRead("A", "rules")
    assert read_choice(long, choices, "", **kept) == OptionRead(None, "none")
    assert read_choice("The answer is whale, because " + long, choices, "", **kept) == OptionRead("A", "rules")
