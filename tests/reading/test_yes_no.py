"""Answers that are yes or no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.reading.yes_no import read_yes_or_no

_CASES = json.loads((Path(__file__).parent / "cases" / "yes_no.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", _CASES, ids=[str(number) for number, _ in enumerate(_CASES)])
def test_case(case: dict[str, Any]) -> None:
    expected = {"Yes": True, "No": False, None: None}[case["read"]]
    assert read_yes_or_no(case["answer"]) is expected, case["why"]


@given(st.text(max_size=60))
def test_any_text_is_yes_no_or_neither(answer: str) -> None:
    assert read_yes_or_no(answer) in (True, False, None)


@pytest.mark.parametrize(
    "piece", ["yes no ", "actually ", "wait ", "the answer is ", "no image ", "\n", "**", "cannot "]
)
def test_a_hostile_answer_takes_no_more_than_its_length(piece: str) -> None:
    # In time that grows with the square of the length, these would not end within the suite's limit.
    assert read_yes_or_no(f"maybe {piece * (300_000 // len(piece))}") in (True, False, None)
