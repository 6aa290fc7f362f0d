"""Prompts as requests, and responses as what adapters parse."""

import pytest

from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import DataError
from polymeter.core.request import ChoiceLogprob, Generate, Origin, Output, Response
from polymeter.interop.evalscope.tasks.prompts import RequestForm, answers_to, by_context, prompt_problem, requests_for


def requests(prompt, system=""):
    """What is asked for a prompt in generation mode."""
    return requests_for(prompt, RequestForm("generation", Generate(), 1, system), Origin("", ""))


def test_a_prompt_of_pairs_is_text_where_text_is_asked_for() -> None:
    (request,) = requests({"data": [("a", "b"), ("c", "d")]})
    assert request.text == "ab\ncd"


def test_the_benchmarks_system_prompt_wins_over_the_runs() -> None:
    def roles(prompt):
        (request,) = requests(prompt, system="run")
        return [(message.role, message.text) for message in request.messages]

    assert roles({"data": ["q"]}) == [("system", "run"), ("user", "q")]
    assert roles({"data": ["q"], "system_prompt": "own"}) == [("system", "own"), ("user", "q")]
    assert roles({"messages": [{"role": "user", "content": "m"}]}) == [("system", "run"), ("user", "m")]
    assert roles({"messages": [{"role": "system", "content": "s"}]}) == [("system", "s")]


def test_parts_of_messages() -> None:
    content = [
        "a",
        {"type": "text", "text": "b"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "image", "image": "/p.png"},
        {"type": "video_url", "video_url": {"url": "https://x/y.mp4"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ]
    (request,) = requests({"messages": [{"role": "user", "content": content}]})
    assert [type(part) for part in request.messages[0].parts] == [Text, Text, Image, Image, Video, Audio]
    for broken, words in (
        ({"role": "tool", "content": ""}, "role 'tool'"),
        ({"role": "user", "content": [{"type": "smell"}]}, "kind 'smell'"),
        ("hello", "is not a message"),
    ):
        with pytest.raises(DataError, match=words):
            requests({"messages": [broken]})


def test_the_first_of_equally_likely_choices_is_taken(tmp_path) -> None:
    prompt = {"data": ["q"], "multi_choices": ["A", "B", "C"]}
    logprobs = tuple(ChoiceLogprob(value, False, 1) for value in (-2.0, -1.0, -1.0))
    responses = [Response((Output(logprobs=logprobs),))]
    assert answers_to(prompt, "multiple_choice_logits", responses, tmp_path) == ["B"]


def test_contexts_end_before_their_trailing_spaces() -> None:
    assert by_context({"data": [("a b ", "c"), ("a b", "d"), ["e", "f"]]}) == [("a b", [" c", "d"]), ("e", ["f"])]
    with pytest.raises(DataError, match=r"is not a \(context, continuation\) pair"):
        by_context({"data": ["text"]})


@pytest.mark.parametrize(
    ("prompt", "output_type", "words"),
    [
        ("text", "generation", "must return what self.gen_prompt_data gives"),
        ({"raw_input": {}}, "generation", "neither 'data' nor 'messages'"),
        ({"data": ["q"]}, "generation", "without 'raw_input'"),
        ({"data": ["q"], "raw_input": {}}, "multiple_choice_logits", "Set self.choices"),
        ({"data": ["q"], "raw_input": {}}, "continuous_logits", "is not a (context, continuation) pair"),
        ({"data": ["q"], "raw_input": {}}, "generation", ""),
    ],
)
def test_prompts_of_a_wrong_shape_are_told(prompt, output_type, words) -> None:
    assert words in prompt_problem(prompt, output_type, "checkpoint")
    assert bool(words) == bool(prompt_problem(prompt, output_type, "checkpoint"))
