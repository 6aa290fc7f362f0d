"""Verdicts of judges, in eleven languages, in all widths and wrappings: each is read as it is meant, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Request, Response
from polymeter.judge.forms import folded
from polymeter.judge.pairwise import read_preference
from polymeter.judge.passages import RULES
from polymeter.judge.verdict import Contract, read_bit, read_correctness, read_grade, read_rating, read_yes_no

CASES = Path(__file__).parent / "cases"
LABELS = {"A": "CORRECT", "B": "INCORRECT"}


class Fields(BaseModel):
    """The verdict of a rubric."""

    grade: str


READERS: dict[str, Callable[[str], Any]] = {
    "grade": lambda text: read_grade(text, labels=LABELS),
    "rating": lambda text: read_rating(text, bounds=(0, 10)),
    "correctness": read_correctness,
    "yes_no": read_yes_no,
    "bit": read_bit,
    "preference": read_preference,
    "rubric": Contract(Fields).read,
}


def cases(name: str) -> Iterator[Any]:
    told = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    for case in told["cases"]:
        reader = case.get("reader", told.get("reader", ""))
        yield pytest.param(reader, case["said"], case.get("right"), id=f"{reader} {case['said'][:30]!r}: {case['why']}")


@pytest.mark.parametrize(
    ("reader", "said", "right"),
    [*cases("verdict_grades"), *cases("verdict_ratings"), *cases("verdict_either")],
)
def test_a_verdict_is_read_as_it_is_meant_or_not_at_all(reader: str, said: str, right: Any) -> None:
    try:
        read = READERS[reader](said)
    except UnscoredError:
        read = None
    assert read == right
    assert type(read) is (float if reader == "rating" and right is not None else type(right))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("_", "said", "__"), [*cases("verdict_cut_off")])
def test_a_judge_that_was_cut_off_in_its_reasoning_gave_no_verdict(reader: str, said: str, _: str, __: Any) -> None:
    with pytest.raises(UnscoredError, match=r"ended inside its reasoning \(token limit\).*Raise the judge's max_new_"):
        READERS[reader](said)


def test_the_documentation_names_every_rule() -> None:
    page = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    assert [rule for rule in RULES if f"`{rule}`" not in page] == []


@pytest.mark.parametrize(
    ("reader", "said", "rule"),
    [
        ("grade", "评分：A", "after a marker"),
        ("grade", "<verdict>A</verdict>", "after a marker"),
        ("grade", "\\boxed{A}", "the whole answer"),
        ("grade", '{"评分": "A"}', "JSON"),
        ("rating", "[[８]]", "double brackets"),
        ("rating", "理由。\n8分", "its last line"),
        ("correctness", "判断：正确", "a line of its own"),
        ("yes_no", "はい、正しいです。", "its first word"),
        ("yes_no", "I would say yes to that.", "the only one in the text"),
    ],
)
def test_the_rule_is_kept_beside_the_verdict(reader: str, said: str, rule: str) -> None:
    class Client:
        rules: ClassVar[list[str]] = []

        def __call__(self, role: str, request: Request) -> Response:
            raise NotImplementedError

        def note_reading(self, rule: str) -> None:
            self.rules.append(rule)

    with answering_through(Client()):
        READERS[reader](said)
    assert Client.rules == [rule]


@given(
    grade=st.sampled_from("AB"),
    name=st.sampled_from(
        ["Verdict", "评分", "最终判定", "評価", "평가", "التقييم", "Оценка", "Calificación", "Bewertung"]
    ),
    wrapping=st.sampled_from(
        [
            "{}",
            "**{}**",
            "（{}）",
            "【{}】",
            "[[{}]]",
            "\\boxed{{{}}}",
            "$\\boxed{{\\text{{{}}}}}$",
            "「{}」。",
            "`{}`.",
        ]
    ),
    colon=st.sampled_from([": ", "：", " : ", "\u00a0: ", "** : "]),
    is_wide=st.booleans(),
    thought=st.sampled_from(["", "<think>A or B\nVerdict: A\nVerdict: B</think>\n", "[THINK]评分：B[/THINK]"]),
    around=st.sampled_from(
        ["{}", "The candidate said C.\n{}", "{}\n理由：参考。", "A candidate's B.\n\n{}\n\nSo it is."]
    ),
)
def test_a_verdict_is_read_in_any_wrapping(
    grade: str, name: str, wrapping: str, colon: str, is_wide: bool, thought: str, around: str
) -> None:
    letter = chr(ord(grade) + 0xFEE0) if is_wide else grade
    emphasis = "**" if colon.startswith("**") else ""
    assert read_grade(thought + around.format(emphasis + name + colon + wrapping.format(letter))) == grade


@given(
    st.lists(
        st.sampled_from([*"AB ab.，。\n:：（）【】評分评判断是不如果8/10", "Verdict", " not ", " if ", "\\boxed{"]),
        max_size=25,
    )
)
def test_no_text_is_read_as_a_verdict_that_it_does_not_end_a_line_with(said: list[str]) -> None:
    text = "".join(said)
    try:
        grade = read_grade(text)
    except UnscoredError:
        return
    lines = [re.sub(r"[\W_]+$", "", folded(line)) for line in text.splitlines()]
    assert any(line.endswith(grade) for line in lines)
