"""Rules that find the option in an answer: their results are cases, and they hold for any answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.tasks.table.classes.multiple_choice import extract

_CASES = json.loads((Path(__file__).parent / "cases" / "extraction.json").read_text(encoding="utf-8"))
_WORDS = st.sampled_from(
    ["A", "B", "C", "D", "Z", "(A)", "B.", "*C*", "the", "answer", "is", "cat", "dog", "A dog", "first", "步骤 1"]
)
_ANSWERS = st.one_of(st.text(max_size=60), st.lists(_WORDS, max_size=9).map(" ".join))
_CHOICES = st.integers(2, 5).flatmap(
    lambda n: st.lists(st.sampled_from(["cat", "dog", "black cat", "7", "red one"]), min_size=n, max_size=n).map(
        lambda texts: dict(zip("ABCDE", texts, strict=False))
    )
)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['function']}:{case['name']}")
def test_case(case: dict[str, Any]) -> None:
    assert getattr(extract, case["function"])(case["answer"], case["choices"]) == case["expected"], case["why"]


@given(_ANSWERS, _CHOICES)
def test_only_an_option_is_ever_named(answer: str, choices: dict[str, str]) -> None:
    before = dict(choices)
    for infer in (extract.can_infer_option, extract.can_infer_text, extract.can_infer):
        assert infer(answer, choices) in (*choices, extract.NO_OPTION, False)
    order = extract.can_infer_sequence(answer, choices)
    assert order is False or sorted(order) == ["A", "B", "C", "D"]
    assert choices == before


@given(st.sampled_from("ABCD"), st.integers(0, 3), st.sampled_from(["{}", "({})", "The answer is {}.", "**{}**"]))
def test_naming_by_letter_turns_with_the_options(letter: str, turn: int, form: str) -> None:
    choices = dict.fromkeys("ABCD", "x")
    turned = "ABCD"[("ABCD".index(letter) + turn) % 4]
    assert extract.can_infer(form.format(turned), choices) == turned


@given(st.integers(0, 3), st.integers(0, 3))
def test_naming_by_text_turns_with_the_options(place: int, turn: int) -> None:
    texts = ["lion", "mouse", "tiger", "whale"]
    turned = {"ABCD"[(i + turn) % 4]: text for i, text in enumerate(texts)}
    assert extract.can_infer(f"It is a {texts[place]}", turned) == "ABCD"[(place + turn) % 4]


def test_a_puzzle_is_an_order_or_an_option() -> None:
    choices = dict.fromkeys("ABCD", "x")
    assert extract.can_infer_lego("DCBA", "sort", choices) == "DCBA"
    assert extract.can_infer_lego("B", "multiple-choice", choices) == "B"
    assert extract.can_infer_lego("DCBA", "multiple-choice", choices) is False
