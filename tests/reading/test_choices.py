"""Which option an answer chooses: the cases are data, and what holds for any answer is tested with any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.reading.choices import ChoiceReading, choice_reading, option_labels, read_choice
from polymeter.reading.choices.option_texts import has_equal
from scripts import fuzz_reading

_FOLDER = Path(__file__).parent / "cases"
_CASES = [
    (file.stem, number, case)
    for file in sorted(_FOLDER.glob("choice_*.json"))
    for number, case in enumerate(json.loads(file.read_text(encoding="utf-8"))["cases"])
]
_OPTIONS = ("bus", "dog", "bike", "none")
_PIECES = st.sampled_from(
    [
        "the answer is ",
        "A",
        "B",
        "(C)",
        "dog",
        "bus",
        " ",
        ".",
        "\n",
        "not ",
        "if ",
        "**",
        "\\boxed{",
        "}",
        "答案",
        "是",
        '"',
    ]
)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{stem}-{number}-{case['language']}") for stem, number, case in _CASES]
)
def test_case(case: dict[str, Any]) -> None:
    labels = case.get("labels")
    index = read_choice(case["answer"], case["options"], labels)
    if "read" not in case:
        assert index == case["index"], case["why"]
        return
    shown = labels or option_labels(len(case["options"]))
    assert (None if index is None else shown[index]) == case["read"], case["why"]


def test_the_cases_are_many_and_in_many_languages() -> None:
    assert len(_CASES) >= 300
    assert len({case["language"] for _, _, case in _CASES} - {"-"}) >= 14
    assert all(case["why"] for _, _, case in _CASES)


def test_a_reading_names_its_rule() -> None:
    assert choice_reading("The answer is B.", _OPTIONS) == ChoiceReading(1, "announced")
    assert choice_reading("b", _OPTIONS) == ChoiceReading(1, "letter")
    assert choice_reading("a dog", _OPTIONS) == ChoiceReading(1, "text")
    assert choice_reading("Cannot be determined.", _OPTIONS) == ChoiceReading(None, "none")


def test_labels_go_on_with_two_letters() -> None:
    assert option_labels(3) == ("A", "B", "C")
    labels = option_labels(60)
    assert (labels[25:28], labels[51:53]) == (("Z", "AA", "AB"), ("AZ", "BA"))


def test_labels_go_on_with_three_letters() -> None:
    labels = option_labels(800)
    assert (labels[700:704], len(set(labels))) == (("ZY", "ZZ", "AAA", "AAB"), 800)
    options = [f"thing number {number}" for number in range(800)]
    assert read_choice("The answer is AAB.", options) == read_choice("aab", options) == 703
    assert read_choice("The answer is USA.", options) is None


def test_equal_options_are_the_same_text_but_for_white_space() -> None:
    assert has_equal(["dog", " dog\n"])
    assert not has_equal(["dog", "Dog"])


@given(st.one_of(st.text(max_size=80), st.lists(_PIECES, max_size=12).map("".join)))
def test_only_an_option_is_ever_chosen(answer: str) -> None:
    assert read_choice(answer, _OPTIONS) in (None, 0, 1, 2, 3)


@given(st.binary(max_size=12))
def test_wrapped_answers_are_read_and_nothing_is_credited(case: bytes) -> None:
    fuzz_reading.check(case)


@pytest.mark.parametrize(
    "piece",
    [
        "the answer is ",
        "answer: ",
        "A B ",
        "dog ",
        "B\n",
        "A. bus\n",
        "(",
        "*",
        "_",
        "if the answer is B ",
        "答案是",
        "<",
        " ",
        "\\boxed{",
        "B is correct ",
        "not ",
        "é",
        "1,000,",
        "1 000 ",
        "✅",
        "not A but ",
        "wait ",
        "each option:\n",
        "- [ ] A\n",
        "no image ",
        "Answer A\n",
    ],
)
def test_a_hostile_answer_takes_no_more_than_its_length(piece: str) -> None:
    # In time that grows with the square of the length, these would not end within the suite's limit.
    assert read_choice(f"answer {piece * (300_000 // len(piece))}", _OPTIONS) in (None, 0, 1)
