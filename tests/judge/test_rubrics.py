"""Rubrics, checklists and scales: what the judge sees, how its verdict is read, and what is no verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest
from PIL import Image as PillowImage

from polymeter.core.content import Image, Text
from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import PROMPT_VERSION, Error, Request, Response
from polymeter.judge.rubrics import Criterion, checklist, scale, weighted_rubric

IMAGE = PillowImage.new("RGB", (1600, 900), "red")


class RoleClient:
    """Says one thing and notes what it was asked and told."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Request]] = []
        self.refused: list[str] = []

    def __call__(self, role: str, request: Request) -> Response:
        self.asked.append((role, request))
        return self.answer

    def refuse(self, why: str) -> None:
        self.refused.append(why)


def judged(answer: Any, function: Any, *args: Any, **kwargs: Any) -> tuple[Any, Request]:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    asker = RoleClient(Response.of_text(text))
    with answering_through(asker):
        found = function(*args, **kwargs)
    ((role, request),) = asker.asked
    assert role == "judge"
    assert asker.refused == []
    return found, request


def refused(answer: Any, function: Any, *args: Any, **kwargs: Any) -> str:
    """Why an answer is no verdict; the run is told, whoever swallows the error."""
    asker = RoleClient(Response.of_text(answer if isinstance(answer, str) else json.dumps(answer)))
    with answering_through(asker), pytest.raises(UnscoredError) as caught:
        function(*args, **kwargs)
    assert len(asker.refused) == 1
    return str(caught.value)


LEVELS = {"consistency": 2, "realism": 1, "aesthetic": 0, "reasons": "It is red."}


def test_the_weights_of_wise() -> None:
    found, _ = judged(LEVELS, weighted_rubric, "a red wall", IMAGE)
    assert found.score == pytest.approx((0.7 * 2 + 0.2 * 1) / 2)
    assert found.parts == {"consistency": 2, "realism": 1, "aesthetic": 0}
    assert found.explanation == "It is red."
    best, _ = judged({**LEVELS, "realism": 2, "aesthetic": 2}, weighted_rubric, "a red wall", IMAGE)
    assert best.score == pytest.approx(1)


def test_criteria_of_ones_own() -> None:
    criteria = [Criterion("fidelity", "Is it the same?", 3, 5), Criterion("charm", "Is it nice?", 1, 1)]
    found, request = judged({"fidelity": 4, "charm": 1, "reasons": ""}, weighted_rubric, "p", IMAGE, criteria)
    assert found.score == pytest.approx((3 * 4 + 1) / (3 * 5 + 1))
    assert "- fidelity (0 to 5): Is it the same?" in request.text


def test_the_judge_sees_every_image_at_full_size_behind_its_name() -> None:
    given = PillowImage.new("RGB", (700, 500))
    _, request = judged(LEVELS, weighted_rubric, "make it red", [IMAGE, IMAGE], input_images=given)
    shown = [image.open().size for image in request.images()]
    assert shown == [(700, 500), (1600, 900), (1600, 900)]
    parts = request.messages[0].parts
    assert [part.text for part in parts if isinstance(part, Text)][:3] == [
        "The input picture:\n",
        "The picture to judge (1 of 2):\n",
        "The picture to judge (2 of 2):\n",
    ]
    assert isinstance(parts[1], Image)
    assert next(image.source for image in request.images()) is given, "as it is, not encoded again"


def test_prompts_are_filled_in_once_and_have_versions() -> None:
    _, request = judged(LEVELS, weighted_rubric, "a {knowledge} sign", IMAGE, knowledge="The sign says {prompt}.")
    assert "a {knowledge} sign" in request.text
    assert "The sign says {prompt}." in request.text
    assert request.origin is not None
    version = request.origin.metadata[PROMPT_VERSION]
    _, other = judged("[[3]]", scale, "p", IMAGE)
    assert other.origin is not None
    assert len(version) == 12
    assert other.origin.metadata[PROMPT_VERSION] != version


@pytest.mark.parametrize(
    "answer",
    [
        "I would give it full marks.",
        {**LEVELS, "consistency": 3},
        {**LEVELS, "consistency": "2"},
        {"consistency": 2, "realism": 1, "reasons": ""},
        "",
    ],
)
def test_a_rubric_that_is_not_filled_in_is_no_verdict(answer: Any) -> None:
    assert "The judge's answer does not show" in refused(answer, weighted_rubric, "p", IMAGE)


def test_a_checklist_gives_the_share_and_whether_all_hold() -> None:
    items = ["Is there a circle?", "Is it red?"]
    answers = [{"item": 1, "holds": True, "why": "at the top"}, {"item": 2, "holds": False, "why": "it is blue"}]
    found, request = judged({"answers": answers}, checklist, "a red circle", IMAGE, items)
    assert (found.score, found.passed) == (0.5, False)
    assert found.parts == {"Is there a circle?": 1, "Is it red?": 0}
    assert found.explanation == "1: yes, at the top 2: no, it is blue"
    assert "1. Is there a circle?\n2. Is it red?" in request.text
    found, _ = judged({"answers": [answers[0]]}, checklist, "p", IMAGE, items[:1])
    assert (found.score, found.passed) == (1, True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [([1], "items 1 to 2 in order: 1"), ([2, 1], "in order: 2, 1"), ([1, 1], "in order: 1, 1"), ([], "in order: none")],
)
def test_a_checklist_with_gaps_is_no_verdict(numbers: list[int], message: str) -> None:
    answers = [{"item": number, "holds": True, "why": ""} for number in numbers]
    assert message in refused({"answers": answers}, checklist, "p", IMAGE, ["a", "b"])


def test_yes_in_words_is_no_verdict() -> None:
    assert "does not show" in refused("1. yes\n2. no", checklist, "p", IMAGE, ["a", "b"])


def test_a_scale_runs_from_0_to_10() -> None:
    found, request = judged("Good colours.\nRating: [[7.5]]", scale, "p", IMAGE)
    assert found.score == 7.5
    assert found.explanation == "Good colours.\nRating: [[7.5]]"
    assert "from 0 (of no use) to 10 (could" in request.text
    assert "Rating: [[5]]" in request.text
    found, request = judged("[[4]]", scale, "p", IMAGE, "Is it sharp?", bounds=(1, 5))
    assert (found.score, "Is it sharp?" in request.text) == (4, True)


@pytest.mark.parametrize("answer", ["[[11]]", "[[-1]]", "[[3]] or [[4]]", "7 and 8", "7/5", "ten"])
def test_what_is_no_rating_is_no_verdict(answer: str) -> None:
    assert "a rating from 0 to 10" in refused(answer, scale, "p", IMAGE)


def test_a_judge_that_cannot_be_asked_leaves_no_score() -> None:
    asker = RoleClient(Response(error=Error("permanent", "gone")))
    with answering_through(asker), pytest.raises(UnscoredError, match="The judge could not be asked: gone"):
        scale("p", IMAGE)


def test_a_run_without_a_judge_says_so() -> None:
    with pytest.raises(PlanError, match="No model has the role 'judge'"):
        scale("p", IMAGE)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scale("p", []), "There is no image to judge"),
        (lambda: scale("p", None), "There is no image to judge"),
        (lambda: scale("p", [IMAGE, None]), "Image 2 of 2 is None"),
        (lambda: weighted_rubric("p", IMAGE, [Criterion("a", "", float("nan"))]), "a weight of at least"),
        (lambda: checklist("p", IMAGE, []), "A checklist needs items"),
        (lambda: weighted_rubric("p", IMAGE, []), "A rubric needs criteria"),
        (lambda: weighted_rubric("p", IMAGE, [Criterion("a", "", 1)] * 2), r'distinct names.*\["a", "a"\]'),
        (lambda: weighted_rubric("p", IMAGE, [Criterion("two words", "", 1)]), "a one-word name"),
        (lambda: weighted_rubric("p", IMAGE, [Criterion("a", "", 0)]), "have weight 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is(call: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        call()
