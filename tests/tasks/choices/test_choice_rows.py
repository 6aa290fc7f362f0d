"""Choices in rows of many forms: found, moved with the answer, or refused."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from polymeter.core.errors import DataError, ScoreError
from polymeter.core.task import Sample
from polymeter.tasks.choices.cells import option_cells
from polymeter.tasks.choices.prompts import relisted
from polymeter.tasks.choices.rows import (
    NO_CHOICES,
    NOT_FOLLOWED,
    NOT_FOUND,
    NOT_SHOWN,
    RowForms,
    RowOrders,
)

ORDER = (2, 0, 1)
PETS = ["a cat", "a dog", "a bird"]


def listing(texts: Sequence[Any]) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in zip(string.ascii_uppercase, texts, strict=False))


def orders(
    text: Callable[[dict[str, Any]], str],
    target: Callable[[dict[str, Any]], Any] = lambda row: row["answer"],
    choices: Callable[[dict[str, Any]], list[str]] | None = None,
    *,
    lists_choices: bool = False,
    others: Sequence[dict[str, Any]] = (),
) -> RowOrders:
    forms = RowForms(
        "pets",
        lambda sample: text(sample.doc),
        lambda sample: target(sample.doc),
        None if choices is None else lambda sample: choices(sample.doc),
        lists_choices=lists_choices,
        where="pets.yaml:3",
    )
    return RowOrders(forms, [Sample("pets", str(number), number, row) for number, row in enumerate(others)])


def sample(row: dict[str, Any]) -> Sample:
    return Sample("pets", "0", 0, row)


FORMS: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], str], dict[str, Any]]] = {
    "columns": (
        {"A": "a cat", "B": "a dog", "C": "a bird", "answer": "B"},
        lambda row: listing([row[letter] for letter in "ABC"]),
        {"A": "a bird", "B": "a cat", "C": "a dog", "answer": "C"},
    ),
    "columns with a gap": (
        {"A": "a cat", "B": "a dog", "C": "", "D": "a bird", "answer": "d"},
        lambda row: "\n".join(f"{letter}. {row[letter]}" for letter in "ABCD" if row[letter]),
        {"A": "a bird", "B": "a cat", "C": "", "D": "a dog", "answer": "a"},
    ),
    "numbered columns": (
        {"choice1": "a cat", "choice2": "a dog", "choice3": "a bird", "answer": "a dog"},
        lambda row: listing([row[f"choice{number}"] for number in (1, 2, 3)]),
        {"choice1": "a bird", "choice2": "a cat", "choice3": "a dog", "answer": "a dog"},
    ),
    "a list, and the answer thrice": (
        {"options": PETS, "answer": "(B)", "answer_index": 1, "label_number": "2"},
        lambda row: listing(row["options"]),
        {"options": ["a bird", "a cat", "a dog"], "answer": "(C)", "answer_index": 2, "label_number": "3"},
    ),
    "a list with letters": (
        {"options": ["A. a cat", "B. a dog", "C. a bird"], "answer": "B. a dog"},
        lambda row: "\n".join(row["options"]),
        {"options": ["A. a bird", "B. a cat", "C. a dog"], "answer": "C. a dog"},
    ),
    "texts beside labels": (
        {"choices": {"text": PETS, "label": ["A", "B", "C"]}, "answerKey": "A", "answer": "A"},
        lambda row: listing(row["choices"]["text"]),
        {"choices": {"text": ["a bird", "a cat", "a dog"], "label": ["A", "B", "C"]}, "answerKey": "B", "answer": "B"},
    ),
    "mappings": (
        {"options": [{"key": "A", "text": "a cat"}, {"key": "B", "text": "a dog"}], "answer": "A"},
        lambda row: listing([one["text"] for one in row["options"]]),
        {"options": [{"key": "A", "text": "a dog"}, {"key": "B", "text": "a cat"}], "answer": "B"},
    ),
    "by letter": (
        {"options": {"A": "a cat", "B": "a dog", "C": "a bird"}, "answer": "C"},
        lambda row: listing([*row["options"].values()]),
        {"options": {"A": "a bird", "B": "a cat", "C": "a dog"}, "answer": "A"},
    ),
    "a printed list": (
        {"options": "['a cat', 'a dog', 'a bird']", "answer": "B"},
        lambda row: listing(__import__("ast").literal_eval(row["options"])),
        {"options": "['a bird', 'a cat', 'a dog']", "answer": "C"},
    ),
    "lines of the question": (
        {"question": "Which?\nA. a cat\nB. a dog\nC. a bird\nAnswer with a letter.", "answer": "A"},
        lambda row: row["question"],
        {"question": "Which?\nA. a bird\nB. a cat\nC. a dog\nAnswer with a letter.", "answer": "B"},
    ),
    "several right ones": (
        {"options": PETS, "answer": ["A", "C"]},
        lambda row: listing(row["options"]),
        {"options": ["a bird", "a cat", "a dog"], "answer": ["B", "A"]},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_choices_and_answers_move_together(form: str) -> None:
    row, text, wanted = FORMS[form]
    found = orders(text)
    before = {name: str(value) for name, value in row.items()}
    assert not found.listed(sample(row)).fixed
    order = ORDER if len(found.listed(sample(row)).texts) == 3 else (1, 0)
    assert found.reordered(sample(row), order).doc == wanted
    assert {name: str(value) for name, value in row.items()} == before, "the row itself is unchanged"


@pytest.mark.parametrize(("first", "wanted"), [(0, 2), (1, 3)])
def test_numbers_count_from_the_first_one_that_the_rows_show(first: int, wanted: int) -> None:
    row = {"options": PETS, "answer": 1 + first}
    others = [{"options": PETS, "answer": number + first} for number in range(3)]
    found = orders(lambda row: listing(row["options"]), others=others)
    assert found.reordered(sample(row), ORDER).doc["answer"] == wanted


def test_indices_of_compared_choices() -> None:
    row = {"options": PETS, "label": 1, "question": "Which?"}
    found = orders(lambda row: listing(row["options"]), lambda row: row["label"], lambda row: ["A", "B", "C"])
    assert found.reordered(sample(row), ORDER).doc["label"] == 2
    shifted = orders(lambda row: listing(row["options"]), lambda row: row["label"] - 1, lambda row: row["options"])
    assert shifted.reordered(sample(row), ORDER).doc["label"] == 2


@pytest.mark.parametrize(
    ("row", "text", "choices", "why"),
    [
        ({"question": "Which?", "answer": "x"}, lambda row: "Which?", None, NO_CHOICES),
        ({"options": PETS, "answer": "A"}, lambda row: "Which?", lambda row: row["options"], NOT_SHOWN),
        ({"options": PETS, "answer": "A"}, lambda row: listing(PETS), lambda row: PETS, NOT_FOLLOWED),
        ({"answer": "A"}, lambda row: listing(PETS), lambda row: PETS, NOT_FOUND),
        ({"options": PETS, "answer": "A"}, lambda row: listing(sorted(row["options"])), None, NOT_FOLLOWED),
        (
            {"options": PETS, "answer": "A"},
            lambda row: f"{listing(row['options'])} {row['answer']}",
            None,
            NOT_FOLLOWED,
        ),
        ({"options": PETS, "answer": "A", "key": "A"}, lambda row: listing(row["options"]) + row["key"], None, ""),
    ],
)
def test_what_does_not_follow_keeps_its_order(row: Any, text: Any, choices: Any, why: str) -> None:
    found = orders(text, choices=choices)
    assert found.listed(sample(row)).fixed == why
    if why:
        with pytest.raises(DataError, match="cannot be asked in another order"):
            found.reordered(sample(row), ORDER)


@pytest.mark.parametrize("answer", ["a fish", "D", 7, ["A", "a fish"]])
def test_an_answer_that_is_no_choice(answer: Any) -> None:
    found = orders(lambda row: listing(row["options"]), others=[{"options": PETS, "answer": 0}])
    with pytest.raises(ScoreError, match="is none of its choices 'a cat', 'a dog', 'a bird'") as error:
        found.listed(sample({"options": PETS, "answer": answer}))
    assert error.value.where == "pets.yaml:3"


def test_equal_choices() -> None:
    row = {"options": ["yes", "no", "yes"], "answer": "C"}
    found = orders(lambda row: listing(row["options"]))
    assert found.reordered(sample(row), ORDER).doc == {"options": ["yes", "yes", "no"], "answer": "A"}


def test_numbers_without_letters_are_no_choices() -> None:
    assert not [*option_cells({"1": "x", "2": "y", "image_1": b"", "image_2": b""})]


def test_the_last_list_of_a_prompt_is_that_of_the_question() -> None:
    text = "Example:\nA) a cat\nB) a dog\nC) a bird\nANSWER: A\n\nWhich?\nA) a cat\nB) a dog\nC) a bird\n"
    made = relisted(text, PETS, ORDER)
    assert made == text[: text.rindex("A)")] + "A) a bird\nB) a cat\nC) a dog\n"
    assert relisted("Which? a cat, a dog or a bird", PETS, ORDER) is None
