"""What the viewer shows of one sample: in which nothing acts, and its outcome and choices."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from polymeter.report.content import RunMedia
from polymeter.report.content.choices import matching, probabilities
from tests.helpers.shown import Elements, html, made, put, weighed
from tests.report.drawn import DrawnRun
from tests.report.synthetic import HOSTILE, SyntheticRun, sample


@pytest.fixture
def media(tmp_path: Path) -> RunMedia:
    return RunMedia(tmp_path, lambda name: f"/media/{name}")


def poisoned(value: Any, text: str) -> Any:
    """A stored value with each of its texts replaced, but for those that name a kind of thing."""
    if isinstance(value, dict):
        kept = ("role", "kind", "file", "status", "metric")
        return {key: item if key in kept else poisoned(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, text) for item in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("text", [*HOSTILE, "</pre></script>\u202e\x00\ud83d", "javascript:alert(1)", "{{ 7 * 7 }}"])
def test_no_text_of_a_sample_becomes_markup(media, text):
    run, drawn = SyntheticRun(), DrawnRun()
    for name, data in {**run.files, **drawn.files}.items():
        put(media, name, data)
    for stored in [one for both in (run, drawn) for samples in both.by_task.values() for one in samples[:3]]:
        page = html(media, poisoned(stored, text)).encode("utf-8", "replace").decode()
        elements = Elements(page)
        assert not elements.all("script")
        assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
        assert not [attributes for _, attributes in elements.found if "style" in attributes]
        places = [*elements.all("img"), *elements.all("a"), *elements.all("audio"), *elements.all("video")]
        assert all((one.get("src") or one.get("href") or "").startswith("/media/") for one in places)
        assert "49" not in re.findall(r">([^<]*)<", page) or "{{" not in text
        assert not {"\u202e", "\x00"} & set(page)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"id": 3, "status": None, "exchanges": "none", "scores": 7, "doc": [1], "log": "x", "error": "broken"},
        {"id": "a", "exchanges": [{"role": "model", "request": None, "response": None}]},
        {"exchanges": [{"request": {"messages": [{"parts": [{"image": 3}, {"video": None}, {}]}]}, "response": {}}]},
        {
            "exchanges": [
                {"response": {"outputs": [{"logprobs": [[None], "x", []], "images": [3], "tool_calls": [{}]}]}}
            ]
        },
        {"exchanges": [{"role": "judge"}], "judge_rules": "x", "log": {"judges": 3}},
    ],
)
def test_a_sample_in_a_form_of_its_own_is_shown_as_far_as_it_goes(media, stored):
    assert "c-sample" in html(media, stored)


def test_scores_target_and_answer_stand_first(media):
    stored = sample(
        0,
        target="a red ball",
        answer="a blue ball",
        explanation="wrong colour",
        scores=[
            {"metric": "acc", "filter": "none", "value": 0.25},
            {"metric": "len", "filter": "strict", "value": 31.0},
            {"metric": "parts", "filter": "none", "value": {"a": 1}},
        ],
    )
    outcome = made(media, stored)["outcome"].data
    assert [(score.name, score.text, score.share) for score in outcome.scores] == [
        ("acc", "0.2500", 25),
        ("len · strict", "31.000", None),
        ("parts", '{"a": 1}', None),
    ]
    assert [run.text for run in outcome.target.runs if run.change] == ["red"]
    assert [run.text for run in outcome.answer.runs if run.change] == ["blue"]
    assert outcome.error is None


def test_a_failed_sample_says_why(media):
    stored = sample(0, status="error", error={"kind": "score", "message": "no <b>score</b>"}, scores=[], answer=None)
    page = html(media, stored)
    assert "No score: error" in page
    assert "no &lt;b&gt;score&lt;/b&gt;" in page


def test_choices_have_probabilities_and_the_chosen_and_right_one_marked(media):
    stored = weighed([-2.0, -1.0, -3.0], [" red", " green", " blue"], target="red", answer="green")
    (question,) = made(media, stored)["choices"].data
    assert [(choice.is_taken, choice.is_right) for choice in question.choices] == [
        (False, True),
        (True, False),
        (False, False),
    ]
    assert [round(choice.percent, 1) for choice in question.choices] == [24.5, 66.5, 9.0]
    assert (question.choices[0].logprob, question.choices[0].per_token) == ("-2.0000", "-1.0000")
    assert question.note == ""


def test_what_cannot_be_told_is_said(media):
    stored = weighed([-2.0, -1.0], ["red", "green"], target="purple", answer=None)
    (question,) = made(media, stored)["choices"].data
    assert question.choices[1].is_taken
    assert not any(choice.is_right for choice in question.choices)
    assert "the likeliest is marked as chosen" in question.note
    assert "No choice is marked as right" in question.note


def test_a_choice_without_a_number_has_no_bar(media):
    (question,) = made(media, weighed([None, -1.0], ["a", "b"], target="a", answer="b"))["choices"].data
    assert (question.choices[0].percent, question.choices[0].width, question.choices[0].logprob) == (None, 0.0, "none")
    assert question.choices[1].percent == 100.0


@pytest.mark.parametrize(
    ("value", "place"),
    [(" green", 1), ("GREEN", 1), ("B", 1), ("(b)", 1), ("1", 1), (1, 1), ("9", None), (None, None), ("z", None)],
)
def test_a_target_names_its_choice_by_text_letter_or_number(value, place):
    assert matching(value, ["red", " green", "blue"]) == place


def test_probabilities_sum_to_one_however_small():
    assert sum(probabilities([-1000.0, -1001.0, float("-inf")])) == pytest.approx(1.0)
    assert probabilities([float("-inf")] * 2) == [0.0, 0.0]
