"""Verdicts are read where a verdict stands, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from polymeter.core.errors import UnscoredError
from polymeter.judge.verdict import Contract, read_bit, read_correctness, read_grade, read_rating, read_yes_no

LABELS = {"A": "CORRECT", "B": "INCORRECT"}


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        ("A", "A"),
        (" B.\n", "B"),
        ("**A**", "A"),
        ('"B"', "B"),
        ("(A)", "A"),
        ("[[B]]", "B"),
        ("A: CORRECT", "A"),
        ("B: incorrect.", "B"),
        ("A\n\nBoth name the same city.", "A"),
        ("The candidate names another city.\n\nB", "B"),
        ("Verdict: A", "A"),
        ("My final verdict is B.", "B"),
        ("It fits.\n**Final grade:** A", "A"),
        ("### Verdict: **B**\nA different city is named.", "B"),
        ("Grade: A: CORRECT", "A"),
        ("B\nBecause …\nVerdict: B", "B"),
    ],
)
def test_a_grade_that_stands_alone_counts(said: str, grade: str) -> None:
    assert read_grade(said, labels=LABELS) == grade


@pytest.mark.parametrize(
    "said",
    [
        "",
        None,
        "As the reference says, this is right.",
        "Both answers are the same.",
        "A candidate's answer like this is wrong.",
        "I would grade this between A and B.",
        "The predicted answer is A.",
        "Answer: B",
        "a",
        "C",
        "B: CORRECT",
        "AB",
        "A\nB",
        "Verdict: A\nVerdict: B",
        "Correct.",
    ],
)
def test_anything_else_is_no_grade(said: str | None) -> None:
    with pytest.raises(UnscoredError, match=r"does not show a verdict \(A, B\)"):
        read_grade(said, labels=LABELS)


def test_the_error_says_what_was_said_and_what_was_expected() -> None:
    with pytest.raises(UnscoredError) as caught:
        read_grade("Well,\nperhaps.", ("yes", "no"))
    assert "does not show a verdict (yes, no): 'Well, perhaps.'" in caught.value.what
    assert "Look at the judge and its prompt" in caught.value.hint


@pytest.mark.parametrize(
    ("pattern", "grades", "said", "grade"),
    [
        ("(A|B|C)", "ABC", "C", "C"),
        ("A|B|C", "ABC", "As it should be.\nC", "C"),
        (r"GRADE: (A|B)", "AB", "It says GRADE: B in the middle.", "B"),
        (r"GRADE: (?:x|y)", ("GRADE: x", "GRADE: y"), "GRADE: x", "GRADE: x"),
        (r"\[\[(\w+)\]\]", ("good", "bad"), "so [[good]], I think", "good"),
        (r"(?i)(yes|no)", ("yes", "no"), "no", "no"),
    ],
)
def test_a_pattern_of_one_s_own(pattern: str, grades: str, said: str, grade: str) -> None:
    assert read_grade(said, grades, pattern=pattern) == grade


@pytest.mark.parametrize("said", ["GRADE: A, or GRADE: B", "GRADE: C", "grade A"])
def test_a_pattern_with_an_anchor_must_agree_and_name_a_grade(said: str) -> None:
    with pytest.raises(UnscoredError):
        read_grade(said, "AB", pattern=r"GRADE: (\w)")


@given(st.text(alphabet="AB ab.\n:*Verdict", max_size=40))
def test_no_text_gives_two_grades_or_an_unknown_one(said: str) -> None:
    try:
        grade = read_grade(said)
    except UnscoredError:
        return
    lines = [line.strip(" .*:\n") for line in said.splitlines()]
    assert any(line.endswith(grade) for line in lines)


@pytest.mark.parametrize(
    ("said", "rating"),
    [("Fine.\nRating: [[0.5]]", 0.5), ("[[1]]", 1.0), ("[[ .25 ]]", 0.25), ("[[0.5]] so again [[0.5]]", 0.5)],
)
def test_a_rating_in_brackets(said: str, rating: float) -> None:
    assert read_rating(said) == rating


@pytest.mark.parametrize("said", ["0.5", "[0.5]", "[[good]]", "[[0.5]] or [[0.7]]", "[[1.5]]", "[[-1]]", "", None])
def test_no_rating(said: str | None) -> None:
    with pytest.raises(UnscoredError, match="a rating from 0 to 1"):
        read_rating(said)


def test_ratings_by_a_pattern_and_without_bounds() -> None:
    assert read_rating("Score: 7", pattern=r"\d+", bounds=None) == 7.0
    assert read_rating("I give <8> of 10", pattern=r"<(\d+)>", bounds=(1, 10)) == 8.0
    with pytest.raises(UnscoredError):
        read_rating("7 of the 10 points", pattern=r"\d+", bounds=None)


class Verdict(BaseModel):
    grade: str = Field(pattern="^[AB]$")
    points: int = Field(ge=0, le=10)


def test_a_contract_tells_the_judge_and_reads_it() -> None:
    contract = Contract(Verdict)
    assert '"points"' in contract.instruction()
    assert contract.read('{"grade": "A", "points": 3}') == Verdict(grade="A", points=3)
    assert contract.read('Here it is:\n```json\n{"grade": "B", "points": 0}\n```').grade == "B"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('{"grade": "C", "points": 3}', "grade"),
        ('{"grade": "A", "points": 11}', "points"),
        ('{"grade": "A", "points": "3"}', "points"),
        ('{"grade": "A"}', "points"),
        ('I say {"grade": "A", "points": 3}', "the whole"),
        ('{"grade": "A", "points": 3} {"grade": "B", "points": 3}', "the whole"),
        ("", "the whole"),
    ],
)
def test_what_does_not_fit_a_contract_is_no_verdict(said: str, why: str) -> None:
    with pytest.raises(UnscoredError, match=why):
        Contract(Verdict).read(said)


@pytest.mark.parametrize(
    "thought", ["<think>It could be A, or 1, or yes.</think>\n", "It could be A, 1, yes.</think>\n\n"]
)
def test_what_a_judge_thinks_aloud_is_no_verdict(thought: str) -> None:
    assert read_grade(f"{thought}B") == "B"
    assert read_rating(f"{thought.replace('1', '[[1]]')}[[0.5]]") == 0.5
    assert read_bit(f"{thought}0") == 0
    assert read_yes_no(f"{thought}No") is False
    assert read_correctness(f"{thought}incorrect") is False
