"""What the viewer shows of requests: rounds, repeats, reasoning, tool calls, and judges."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polymeter.report.content import RunMedia
from polymeter.report.run.extract import sample_data
from polymeter.report.run.sample import sample_text
from tests.helpers.shown import html, made, picture, texts
from tests.report.synthetic import exchange, sample


@pytest.fixture
def media(tmp_path: Path) -> RunMedia:
    return RunMedia(tmp_path, lambda name: f"/media/{name}")


def test_rounds_do_not_repeat_what_stands_above(media):
    first = exchange(None, "Which shape?", "square")
    second = exchange(None, "Which shape?", "orange")
    second["request"]["messages"] += [
        {"role": "assistant", "parts": [{"text": "square"}]},
        {"role": "user", "parts": [{"text": "Which colour?"}]},
    ]
    shown = made(media, sample(0, exchanges=[first, second]))["chat"].data.exchanges
    assert [one.title for one in shown] == ["Request 1", "Request 2"]
    assert texts(shown[1]) == [("user", "Which colour?")]
    assert shown[1].above == "after 2 messages above"


def test_rounds_are_unfolded_below_the_question_and_repeat_neither_it_nor_the_answer(media):
    first, second = exchange(None, "Which shape?", "square"), exchange(None, "Which shape?", "orange")
    second["request"]["messages"] += [
        {"role": "assistant", "parts": [{"text": "square"}]},
        {"role": "user", "parts": [{"text": "Which colour?"}]},
    ]
    stored = sample(0, exchanges=[first, second], target="orange", answer="orange")
    chat = made(media, stored)["chat"].data
    assert chat.is_open
    assert (texts(chat.exchanges[0]), chat.exchanges[0].above) == ([], "the question above")
    assert (chat.exchanges[1].answers[0].text, chat.exchanges[1].answers[0].note) == (None, "The answer above.")
    assert html(media, stored).count("Which shape?") == 1


def test_a_plain_question_has_its_raw_exchange_folded(media):
    chat = made(media, sample(0, exchanges=[exchange(None, "Which shape?", "square")]))["chat"].data
    assert not chat.is_open
    assert texts(chat.exchanges[0]) == [("user", "Which shape?")]


def test_an_answer_that_was_changed_on_its_way_is_shown(media):
    first, second = exchange(None, "Which shape?", "square"), exchange(None, "Which shape?", "orange")
    second["request"]["messages"].append({"role": "assistant", "parts": [{"text": "circle"}]})
    shown = made(media, sample(0, exchanges=[first, second]))["chat"].data.exchanges
    assert texts(shown[1]) == [("assistant", "circle")]


def test_repeats_are_told_apart_by_their_seeds(media):
    asked = [exchange(None, "Say something.", f"answer {n}", seeds=[n]) for n in range(3)]
    shown = made(media, sample(0, exchanges=asked))["chat"].data.exchanges
    assert [one.title for one in shown] == ["Request 1", "Request 1, repeat 2", "Request 1, repeat 3"]
    assert shown[2].above == "the same prompt as above"
    assert "seed 2" in shown[2].facts


def test_reasoning_is_folded_and_tool_calls_have_names_and_arguments(media):
    asked = exchange(None, "weather?", "")
    calls = [
        {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Zürich"}'}},
        {"type": "tool_use", "name": "search", "input": {"q": "<b>"}},
        {"functionCall": {"name": "draw", "args": {"n": 1}}},
        {"function": {"name": "broken", "arguments": '{"city": '}},
    ]
    asked["response"]["outputs"] = [
        {"text": "", "reasoning": "I think.", "tool_calls": calls, "finish_reason": "length"}
    ]
    answer = made(media, sample(0, exchanges=[asked]))["chat"].data.exchanges[0].answers[0]
    assert [call.name for call in answer.calls] == ["get_weather", "search", "draw", "broken"]
    assert "".join(run.text for run in answer.calls[0].arguments.runs) == '{\n  "city": "Zürich"\n}'
    assert "".join(run.text for run in answer.calls[3].arguments.runs).startswith('{"city":')
    assert "reached the token limit" in answer.facts
    page = html(media, sample(0, exchanges=[asked]))
    assert re.search(r"<details[^>]*><summary>Reasoning</summary>", page)


def an_episode():
    """A first request that is answered by a call, and a second one that has its result."""
    call = {"id": "c1", "name": "crop", "arguments": {"left": 3}}
    broken = {"id": "c2", "name": "crop", "arguments": None, "raw": "{left", "problem": "its arguments are not JSON"}
    first, second = exchange(None, "What is it?", "I look."), exchange(None, "What is it?", "A cat.")
    first["request"]["ask"] = {"kind": "generate", "tools": [{"name": "crop", "schema": {}}, {"name": "zoom"}]}
    first["response"]["outputs"] = [{"text": "I look.", "tool_calls": [call, broken], "finish_reason": "tool_calls"}]
    second["request"]["messages"] += [
        {"role": "assistant", "parts": [{"text": "I look."}], "calls": [call, broken]},
        {
            "role": "tool",
            "parts": [{"text": "Cut."}, {"image": {"file": "none.png", "width": 3, "height": 2}}],
            "call_id": "c1",
        },
        {"role": "tool", "parts": [{"text": "No."}], "call_id": "c2"},
    ]
    return sample(0, exchanges=[first, second])


def test_an_episode_is_a_conversation_of_calls_and_results(media):
    shown = made(media, an_episode())["chat"].data.exchanges
    assert "tools crop, zoom" in shown[0].facts
    assert [(call.name, call.problem) for call in shown[0].answers[0].calls] == [
        ("crop", ""),
        ("crop", "its arguments are not JSON"),
    ]
    assert shown[1].above == "after 2 messages above", "the turn with its calls stands above"
    assert [(turn.role, turn.answers) for turn in shown[1].turns] == [("tool", "crop (c1)"), ("tool", "crop (c2)")]
    page = html(media, an_episode())
    assert "result of crop (c1)" in page
    assert "its arguments are not JSON" in page


def test_other_calls_than_those_above_are_shown_in_the_history(media):
    changed = an_episode()
    changed["exchanges"][1]["request"]["messages"][1]["calls"][1:] = []
    shown = made(media, changed)["chat"].data.exchanges[1]
    assert [len(turn.calls) for turn in shown.turns] == [1, 0, 0]
    assert "calls <code>crop</code>" in html(media, changed)


def test_the_report_holds_calls_with_their_arguments_as_text():
    first, second = sample_data(an_episode(), 0, None)["exchanges"]
    calls = [
        {"id": "c1", "name": "crop", "arguments": '{\n  "left": 3\n}'},
        {"id": "c2", "name": "crop", "arguments": "{left", "problem": "its arguments are not JSON"},
    ]
    assert first["response"]["outputs"][0]["tool_calls"] == second["request"]["messages"][1]["calls"] == calls
    assert first["request"]["ask"]["tools"] == ["crop", "zoom"]
    plain = exchange(None, "Which shape?", "square")
    assert sample_data(sample(0, exchanges=[plain]), 0, None)["exchanges"] == [plain]


def test_an_empty_text_beside_calls_is_not_shown(media):
    episode = an_episode()
    episode["exchanges"][0]["response"]["outputs"][0]["text"] = ""
    assert made(media, episode)["chat"].data.exchanges[0].answers[0].text is None


def test_an_episode_as_text(tmp_path):
    lines = sample_text("t", an_episode(), tmp_path).splitlines()
    calls = [
        '→ calls crop {"left": 3} (c1)',
        "→ calls crop {left (c2; its arguments are not JSON)",
    ]
    assert [line for line in lines if line.startswith("→ calls")] == calls * 2
    assert "[tool, result of c1]" in lines


def test_a_panel_shows_each_judge_with_prompt_verdict_and_value(media):
    file = picture(media)
    stored = sample(
        0,
        exchanges=[
            exchange(None, "question", "answer"),
            {**exchange(file, "grade this", "A", role="judge"), "model": "0123456789abcdef"},
            {**exchange(None, "grade this", "perhaps", role="judge_2"), "model": "fedcba"},
        ],
        judge_rules=["the whole answer", ""],
        log={"judges": {"judge": {"acc,none": 1.0}}, "judges_without_verdict": {"judge_2": "no verdict in it"}},
    )
    panel = made(media, stored, results={"judges": {"models": {"judge": "strict-1"}}})["judges"].data
    first, second = panel.judges
    assert (first.role, first.model, first.values) == ("judge", "strict-1", (("acc", "1.0000"),))
    assert (second.model, second.failure) == ("fedcba", "no verdict in it")
    call, _ = first.calls[0]
    assert any(part.picture for part in call.turns[0].parts)
    assert "".join(run.text for run in call.answers[0].text.runs) == "A"
    assert panel.rules == ("the whole answer",)


def test_a_single_judge_has_the_rule_at_each_call(media):
    calls = [exchange(None, f"grade {n}", "A", role="judge") for n in range(2)]
    panel = made(media, sample(0, exchanges=calls, judge_rules=["last line", ""]))["judges"].data
    assert [rule for _, rule in panel.judges[0].calls] == ["last line", ""]
