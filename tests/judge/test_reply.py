"""What a judge said and what it is shown: without reasoning, and no verdict where its tokens ended within it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image as PillowImage

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Error, Output, Request, Response, Usage
from polymeter.judge import GRADE_PROMPT, LLMJudge, checklist, scale, weighted_rubric
from polymeter.judge.reply import reply_of, shown
from polymeter.tasks.table.classes.multiple_choice.reading import OptionRead, read_choice
from polymeter.tasks.table.classes.questions.scoring import by_judge, read_yes_or_no

IMAGE = PillowImage.new("RGB", (8, 8))
WHY = r"ended inside its reasoning \(token limit\), before a verdict. Raise the judge's max_new_tokens"
CUT_OFF = {
    "tags in the text": Output(text="<think>Verdict: A\n\nA", finish_reason="length"),
    "tags of another family": Output(text="[THINK]Verdict: A", finish_reason="length"),
    "tags, and nobody knows why it ended": Output(text="<think>A"),
    "a field of its own": Output(text="", reasoning="Verdict: A", finish_reason="length"),
    "a field of its own, and white space": Output(text=" \n", reasoning="Verdict: A", finish_reason="length"),
    "reasoning that is hidden": Output(text="", usage=Usage(9, 64, reasoning_tokens=64), finish_reason="length"),
}
WHOLE = {
    "reasoning in the text": (Output(text="<think>B</think>A", finish_reason="stop"), "<think>B</think>A"),
    "reasoning in a field": (Output(text="A", reasoning="B", finish_reason="stop"), "A"),
    "a verdict before the limit": (Output(text="A\nIt is", reasoning="B", finish_reason="length"), "A\nIt is"),
    "nothing said": (Output(text="", reasoning="B", finish_reason="stop"), ""),
}


class RoleClient:
    """Says one thing and notes what it was asked and told."""

    roles = frozenset({"judge"})

    def __init__(self, output: Output) -> None:
        self.output = output
        self.asked: list[Request] = []
        self.refused: list[str] = []

    def __call__(self, role: str, request: Request) -> Response:
        self.asked.append(request)
        return Response((self.output,))

    def refuse(self, why: str) -> None:
        self.refused.append(why)


ASKERS: dict[str, Callable[[], Any]] = {
    "a grade": lambda: LLMJudge()("p"),
    "a rating": lambda: LLMJudge(score_type="numeric")("p"),
    "a rubric": lambda: weighted_rubric("p", IMAGE),
    "a checklist": lambda: checklist("p", IMAGE, ["It is red."]),
    "a scale": lambda: scale("p", IMAGE),
    "an option": lambda: read_choice("the king", {"A": "lion", "B": "mouse"}, "q", is_judged=True),
    "yes or no": lambda: read_yes_or_no("perhaps", "q", is_judged=True),
    "an open answer": lambda: by_judge(["red"], "crimson", "q", is_right=False),
}


@pytest.mark.parametrize("asker", ASKERS)
@pytest.mark.parametrize("output", CUT_OFF)
def test_a_judge_that_was_cut_off_in_its_reasoning_gives_no_verdict(asker: str, output: str) -> None:
    client = RoleClient(CUT_OFF[output])
    with answering_through(client), pytest.raises(UnscoredError, match=WHY):
        ASKERS[asker]()
    assert len(client.refused) == 1  # whoever swallows the error has no score either


@pytest.mark.parametrize(("output", "text"), WHOLE.values(), ids=WHOLE)
def test_any_other_answer_is_handed_on_as_it_came(output: Output, text: str) -> None:
    client = RoleClient(output)
    with answering_through(client):
        assert LLMJudge()("p") == text
    assert client.refused == []


def test_a_failed_request_is_another_reason() -> None:
    with pytest.raises(UnscoredError, match="could not be asked: out of order"):
        reply_of(Response(error=Error("permanent", "out of order")))


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("Paris", "Paris"),
        ("  Paris\n", "  Paris\n"),
        ("", ""),
        ("<think>London?</think>\n\nParis\n", "Paris"),
        ("London?</think>Paris", "Paris"),
        ("[THINK]London?[/THINK]Paris", "Paris"),
        ("<|channel|>analysis<|message|>London?<|end|><|start|>assistant<|channel|>final<|message|>Paris", "Paris"),
        ("<think>London, or", ""),
    ],
)
def test_a_judge_is_not_shown_reasoning(answer: str, seen: str) -> None:
    """And of an answer without reasoning every character, so that verdicts of earlier runs stay valid."""
    assert shown(answer) == seen
    assert shown(seen) == seen
    prompt = LLMJudge().build_prompt(answer, "<think>", "</think>")
    assert prompt == GRADE_PROMPT.format(question="</think>", gold="<think>", pred=seen)


def test_tags_of_ones_own_are_those_that_count() -> None:
    assert shown("<r>London?</r>Paris", (("<r>", "</r>"),)) == "Paris"
    assert shown("<think>Paris</think>", ()) == "<think>Paris</think>"


@pytest.mark.parametrize("asker", ["an option", "yes or no", "an open answer"])
def test_a_judge_of_a_table_sees_the_answer_alone(asker: str) -> None:
    client = RoleClient(Output(text="A", finish_reason="stop"))
    answer = "<think>the mouse or the lion, yes or no</think>the king, perhaps crimson"
    with answering_through(client):
        if asker == "an option":
            read_choice(answer, {"A": "Leo", "B": "Mickey"}, "q", is_judged=True)
        elif asker == "yes or no":
            read_yes_or_no(answer.replace("yes or no", "maybe"), "q", is_judged=True)
        else:
            by_judge(["red"], answer, "q", is_right=False)
    (request,) = client.asked
    assert "the king, perhaps crimson" in request.text
    assert "mouse" not in request.text


def test_reasoning_that_was_cut_off_is_an_empty_answer_which_no_judge_is_asked_about() -> None:
    client = RoleClient(Output(text="A", finish_reason="stop"))
    with answering_through(client):
        answer = "<think>the king"
        assert read_choice(answer, {"A": "Leo", "B": "Mickey"}, "q", is_judged=True) == OptionRead(None, "none")
        assert read_yes_or_no(answer, "q", is_judged=True) == OptionRead(None, "none")
        assert by_judge(["red"], answer, "q", is_right=False) == 0
    assert client.asked == []


def test_an_option_is_asked_for_again_if_the_judge_was_cut_off() -> None:
    class Twice(RoleClient):
        def __call__(self, role: str, request: Request) -> Response:
            super().__call__(role, request)
            return Response.of_text("B" if len(self.asked) > 1 else "<think>A")

    client = Twice(Output())
    with answering_through(client):
        assert read_choice("the king", {"A": "Leo", "B": "Mickey"}, "q", is_judged=True) == OptionRead("B", "judge")
    assert client.refused == []
