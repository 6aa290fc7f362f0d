"""What the viewer shows of one sample: in which nothing acts, and its outcome and choices."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from polymeter.report.content import RunMedia, SampleHeading, heading
from polymeter.report.content.choices import matching, probabilities
from tests.helpers.shown import Elements, html, made, put, view, weighed
from tests.report.drawn import DrawnRun
from tests.report.synthetic import HOSTILE, SyntheticRun, exchange, result, sample


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
    told = {"results": [result("acc", 0.5, 3, bounds=[0, 1]), result("len", 20.0, 3, filter="strict")]}
    outcome = made(media, stored, results=told)["outcome"].data
    assert [(score.name, score.text, score.step) for score in outcome.scores] == [
        ("acc", "0.2500", 1),
        ("len · strict", "31.000", None),
        ("parts", '{"a": 1}', None),
    ]
    assert [run.text for run in outcome.target.runs if run.change] == ["red"]
    assert [run.text for run in outcome.answer.runs if run.change] == ["blue"]
    assert outcome.error is None


@pytest.mark.parametrize(
    ("value", "lower", "extents", "step"),
    [
        (0.0, False, (), 0),
        (0.0, True, (), 4),
        (1.0, None, (), None),
        (3.0, False, (0.0, 4.0), 3),
        (3.0, False, (), None),
    ],
)
def test_a_score_has_the_colour_of_its_place_on_the_metrics_scale(media, value, lower, extents, step):
    bounds = {} if value > 1 else {"bounds": [0, 1]}
    told = {"results": [result("m", 0.5, 3, higher_is_better=None if lower is None else not lower, **bounds)]}
    stored = sample(0, scores=[{"metric": "m", "filter": "none", "value": value}])
    (score,) = made(media, stored, results=told, extents={"m": extents})["outcome"].data.scores
    assert score.step == step
    page = html(media, stored, results=told, extents={"m": extents})
    assert (f'class="value v{step}"' in page) == (step is not None)


def test_a_reader_meets_the_question_the_answer_the_scores_and_then_the_raw_exchange(media):
    stored = sample(
        0,
        target="B",
        answer="B",
        explanation="the letter is right",
        exchanges=[exchange(None, "Which one?", "I choose B."), exchange(None, "Is B right?", "yes", role="judge")],
    )
    page = html(media, stored)
    places = [page.index(text) for text in ("Which one?", "Expected", "I choose B.", "Scored as", "exact_match")]
    places += [page.index(text) for text in ("the letter is right", "Conversation", "judge call", "Row of the dataset")]
    assert places == sorted(places)
    unfolded = re.sub(r"<details.*</details>", "", page, flags=re.DOTALL)
    assert [unfolded.count(text) for text in ("Which one?", "I choose B.", "Is B right?")] == [1, 1, 0]


def test_the_verdict_of_the_only_judge_explains_a_score_without_explanation(media):
    stored = sample(0, exchanges=[exchange(None, "Sum?", "4"), exchange(None, "Grade it.", "A, it is 4", role="judge")])
    outcome = made(media, stored)["outcome"].data
    assert outcome.is_by_judge
    assert outcome.explanation.runs[0].text == "A, it is 4"


def test_a_heading_is_the_name_of_the_file_else_the_question_else_the_id(media):
    asked = exchange("a.png", "What is\nshown?", "a ball")
    assert heading(view(media, sample(0, exchanges=[asked]))) == SampleHeading("What is\nshown?", is_question=True)
    asked["request"]["messages"][0]["parts"][0]["image"]["name"] = "photos/ball.png"
    assert heading(view(media, sample(0, exchanges=[asked]))).text == "ball.png"
    asked["request"]["messages"][0]["parts"][0]["image"]["name"] = "0" * 32 + ":7:image"
    assert heading(view(media, sample(0, exchanges=[asked]))).is_question, "the key of a row is no name"
    long = heading(view(media, sample(0, exchanges=[exchange(None, "word " * 200, "a")])))
    assert len(long.text) <= 100
    choices = "\n".join(f"{letter}. {'word ' * 20}" for letter in "ABCD")
    chosen = heading(view(media, sample(0, exchanges=[exchange(None, f"Which order?\n{choices}", "a")])))
    assert chosen == SampleHeading("Which order?"), "the choices stand in the question below"
    assert not long.is_question
    assert heading(view(media, sample(7, id="7"))).text == "Sample 7"
    assert heading(view(media, sample(7, doc={"question": "Why?"}))).text == "Why?"


def test_a_question_that_is_the_heading_is_not_repeated(media):
    stored = sample(0, exchanges=[exchange(None, "Which one?", "B")])
    assert "question" in made(media, stored)
    assert "question" not in made(media, stored, is_headed=True)
    stored = sample(0, exchanges=[exchange(None, "Odd\u200b one?", "B")])
    assert "question" in made(media, stored, is_headed=True), "its invisible characters are shown exactly"


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
