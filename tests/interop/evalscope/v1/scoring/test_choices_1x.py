"""Prompts of options, and the options that a text chooses, as the wheel 1.14.1 has them."""

import hashlib
from types import SimpleNamespace

import pytest

from polymeter.interop.evalscope.v1.scoring.choice_parsing import (
    extract_answer_line,
    parse_answers,
    parse_answers_zh,
)
from polymeter.interop.evalscope.v1.scoring.choice_templates import (
    FEW_SHOT_TEMPLATE,
    MultipleChoiceTemplate,
    answer_character,
    answer_index,
    format_example,
    prompt,
    valid_template,
)
from polymeter.interop.evalscope.v1.types.state import Choices, Target

DIGESTS = {
    "CHINESE_FEW_SHOT_TEMPLATE": "c35109a3540165f0",
    "CHINESE_MULTIPLE_ANSWER_TEMPLATE": "435e7c9be0ff6086",
    "CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT": "76867440574b469e",
    "CHINESE_SINGLE_ANSWER_TEMPLATE": "b4e03be507f9c64d",
    "CHINESE_SINGLE_ANSWER_TEMPLATE_COT": "53033f941b15e693",
    "MULTIPLE_ANSWER": "eca8bc203e9716e5",
    "MULTIPLE_ANSWER_COT": "d41d05facef1841e",
    "SINGLE_ANSWER": "ba74492bd78ec5a4",
    "SINGLE_ANSWER_COT": "f759b2cf67b53500",
}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def state(n: int = 4) -> SimpleNamespace:
    return SimpleNamespace(choices=Choices(["x"] * n), output=SimpleNamespace(completion="ANSWER: A"))


def test_the_prompts_are_the_same_bytes() -> None:
    assert {name: digest(getattr(MultipleChoiceTemplate, name)) for name in DIGESTS} == DIGESTS
    assert digest(FEW_SHOT_TEMPLATE) == "a23b0603c6c33367"


@pytest.mark.parametrize(
    ("text", "single", "several"),
    [
        ("The last line is 'ANSWER: [LETTER]'.\nANSWER: D", "D", "D"),
        ("ANSWER: B, not C", "B", "B"),
        ("ANSWER: A. Paris", "A", "A"),
        ("ANSWER: b", "", ""),
        ("I pick B. The End", "", ""),
        ("So it is B", "B", "B"),
        (r"ANSWER: \boxed{B}", "B", "B"),
        ("answer : **$B$**", "B", "B"),
        (r"ANSWER: $\boxed{\text{C}}$", "C", "C"),
        ("ANSWER: AB", "", "AB"),
        ("ANSWER: A,C", "", "AC"),
        ("ANSWER: (A, C)", "", "AC"),
        ("ANSWER: A and C", "", "AC"),
        ("ANSWER: A/C", "", "AC"),
        ("ANSWER: A, B and D", "", "ABD"),
        ("ANSWER: AB,CD", "", "ABCD"),
        ("ANSWER: A\nANSWER: none", "A", "A"),
        ("", "", ""),
    ],
)
def test_the_labels_behind_the_last_marker_are_the_answer(text: str, single: str, several: str) -> None:
    assert "".join(sorted(parse_answers(state(), completion=text))) == single
    assert "".join(sorted(parse_answers(state(), True, text))) == several


@pytest.mark.parametrize(
    ("text", "single", "several"),
    [
        ("答案：A、C", "", "AC"),
        ("答案: **B**", "B", "B"),
        ("答案：【D】", "D", "D"),
        ("ANSWER: A", "A", "A"),
        ("选 C", "C", "C"),
    ],
)
def test_chinese_answers_have_a_marker_of_their_own(text: str, single: str, several: str) -> None:
    assert "".join(sorted(parse_answers_zh(state(), completion=text))) == single
    assert "".join(sorted(parse_answers_zh(state(), True, text))) == several


def test_without_a_text_the_whole_answer_is_read() -> None:
    assert parse_answers(state()) == {"A"}


def test_labels_go_on_with_numbers_after_z() -> None:
    assert [answer_character(at) for at in (0, 25, 26, 30)] == ["A", "Z", "1", "5"]
    assert [answer_index(label) for label in ("A", "z", "1", "5")] == [0, 25, 26, 30]
    assert parse_answers(state(30), completion="ANSWER: 4") == {"4"}
    with pytest.raises(ValueError, match="no label"):
        answer_index("?")


def test_a_template_is_filled_with_the_options() -> None:
    text = prompt("Q?", ["one", "two"], "{question}|{choices}|{letters}")
    assert text == "Q?|A) one\nB) two|A,B"
    assert prompt("Q?", ["one"], "{fewshot}{question}{choices}", fewshot="E") == "EQ?A) one"
    with pytest.raises(KeyError):
        prompt("Q?", ["one"], "{fewshot}{question}{choices}")
    assert format_example("Q?", Choices(["one", "two"]), Target(["A", "B"])) == "Q?\nA) one\nB) two\nANSWER: AB"
    assert valid_template("{question} {choices}")
    assert not valid_template("{question}")


@pytest.mark.parametrize(
    ("text", "line"), [("**ANSWER: 45**\nx", "45"), ("Answer: **45 kg**", "45 kg"), ("45", None), ("answer:", "")]
)
def test_the_line_of_the_last_marker(text: str, line: str | None) -> None:
    assert extract_answer_line(text) == line
