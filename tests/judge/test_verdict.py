"""Verdicts are read where a verdict stands, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Request, Response
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


class Client:
    """A role client that keeps the rules that verdicts were read by."""

    def __init__(self) -> None:
        self.rules: list[str] = []

    def __call__(self, role: str, request: Request) -> Response:
        raise NotImplementedError

    def note_reading(self, rule: str) -> None:
        self.rules.append(rule)


def rule_of(read: Callable[[], object]) -> str:
    client = Client()
    with answering_through(client):
        read()
    assert len(client.rules) == 1
    return client.rules[0]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("7", "the whole answer"),
        ("7.0", "the whole answer"),
        ("**7**", "the whole answer"),
        ("7/10", "the whole answer"),
        ("7 out of 10", "the whole answer"),
        ("(7 points)", "the whole answer"),
        ("[7]", "the whole answer"),
        ("7\n\nThe sky is missing.", "its first line"),
        ("The sky is missing.\n\n7/10.", "its last line"),
        ("Score: 7", "after a marker"),
        ("Score: 7/10", "after a marker"),
        ("Rating: **7**", "after a marker"),
        ("**Rating:** 7", "after a marker"),
        ("### Final score: 7 / 10\nThe sky is missing.", "after a marker"),
        ("The overall rating is 7.", "after a marker"),
        ("The sky is missing. [[7]]", "double brackets"),
        ("Good.\nRating: [[7]]", "double brackets"),
        ("[[7/10]]", "double brackets"),
        ('{"score": 7}', "JSON"),
        ('{"reasons": "3 of 5 are there", "final_rating": "7/10"}', "JSON"),
        ('Here it is:\n```json\n{"score": 7.0, "why": "no sky"}\n```', "JSON"),
        ("```\n7\n```", "a code block"),
        ("So:\n```text\nScore: 7\n```\nThat is all.", "after a marker"),
        ("7\nbecause …\nScore: 7/10", "after a marker"),
    ],
)
def test_a_rating_as_people_write_it(said: str, rule: str) -> None:
    assert read_rating(said, bounds=(0, 10)) == 7.0
    assert rule_of(lambda: read_rating(said, bounds=(0, 10))) == rule


@pytest.mark.parametrize(
    "said",
    [
        "7/5",
        "Score: 3/5",
        "[[70/100]]",
        '{"score": "4/5"}',
        "Score: 11",
        "7\nScore: 8",
        "[[7]]\n8",
        '{"score": 7, "final_score": 8}',
        '```json\n{"score": 7}\n```\nScore: 6',
        "I would say 7 of the 10.",
        "Between 7 and 8",
        "7-8",
        "70%",
        '{"score": true}',
        '{"score": null}',
        '{"points": 7}',
    ],
)
def test_two_readings_another_scale_or_none_are_unusable(said: str) -> None:
    with pytest.raises(UnscoredError, match="a rating from 0 to 10"):
        read_rating(said, bounds=(0, 10))


def test_without_a_declared_scale_the_number_counts() -> None:
    assert read_rating("7/10", bounds=None) == 7.0
    assert read_rating("Score: 85", bounds=None) == 85.0
    with pytest.raises(UnscoredError):
        read_rating("11/10", bounds=None)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("B", "the whole answer"),
        ('{"verdict": "B"}', "JSON"),
        ('```json\n{"grade": "B", "why": "A differs"}\n```', "JSON"),
        ("```\nB\n```", "a code block"),
        ("It is wrong.\n**Verdict:** B", "after a marker"),
        ("B\nIt is wrong.", "its first line"),
    ],
)
def test_the_rule_of_a_grade(said: str, rule: str) -> None:
    assert read_grade(said, labels=LABELS) == "B"
    assert rule_of(lambda: read_grade(said, labels=LABELS)) == rule
    assert rule_of(lambda: read_grade("GRADE: B", pattern="GRADE: (A|B)")) == "its pattern"


@pytest.mark.parametrize("said", ['{"verdict": "A"}\n```\nB\n```', 'A\n```json\n{"verdict": "B"}\n```'])
def test_two_grades_are_unusable(said: str) -> None:
    with pytest.raises(UnscoredError):
        read_grade(said)


@pytest.mark.parametrize(
    ("said", "yes", "rule"),
    [
        ("Yes", True, "a line of its own"),
        ("**No.**", False, "a line of its own"),
        ("I would say yes to that.", True, "the only one in the text"),
        ('{"verdict": "yes", "reason": "no mistake"}', True, "JSON"),
        ('```json\n{"decision": "No", "reason": "yes, almost"}\n```', False, "JSON"),
    ],
)
def test_yes_and_no(said: str, yes: bool, rule: str) -> None:
    assert read_yes_no(said) is yes
    assert rule_of(lambda: read_yes_no(said)) == rule


@pytest.mark.parametrize(
    ("said", "bit", "rule"),
    [
        ("1", 1, "a line of its own"),
        ("It names 0 cities.\nScore: 1", 1, "a line of its own"),
        ('{"score": 1, "reason": "0 mistakes"}', 1, "JSON"),
        ('{"correct": 0}', 0, "JSON"),
    ],
)
def test_one_and_zero(said: str, bit: int, rule: str) -> None:
    assert read_bit(said) == bit
    assert rule_of(lambda: read_bit(said)) == rule


def test_right_and_wrong() -> None:
    assert read_correctness('{"is_correct": true, "reason": "not incorrect"}') is True
    assert rule_of(lambda: read_correctness("That is not correct.")) == "the only one in the text"
    with pytest.raises(UnscoredError):
        read_correctness('{"verdict": "correct", "grade": "incorrect"}')


@pytest.mark.parametrize("said", ["[[good]]", "[[0.5]] or [[0.7]]", "[[1.5]]", "[[-1]]", "", None])
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
