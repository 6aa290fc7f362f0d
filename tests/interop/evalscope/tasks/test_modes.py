"""In which way a benchmark is asked, and with which settings."""

import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.parts import Audio, Image, Text, Video
from polymeter.core.request import Loglikelihood, Origin, Output, Response
from polymeter.interop.evalscope.tasks.generation import image_settings, text_settings
from polymeter.interop.evalscope.tasks.modes import choose_mode
from polymeter.interop.evalscope.tasks.reduction import model_id_of
from polymeter.interop.evalscope.tasks.requests import Asking, by_context, shape_problem

CHOICES = ("multiple_choice_logits", "loglikelihood", "checkpoint")
BOTH = ["multiple_choice_logits", "generation"]


def traits(**asks):
    return ModelTraits(family="x", requests=asks)


@pytest.mark.parametrize(
    ("wish", "allowed", "asks", "eval_type", "expected"),
    [
        ("generation", BOTH, {}, None, ("generation", "generate", "checkpoint")),
        ("multiple_choice_logits", BOTH, {"loglikelihood": True}, None, CHOICES),
        ("multiple_choice_logits", BOTH, {}, None, ("generation", "generate", "service")),
        ("continuous_logits", ["continuous_logits"], {}, None, ("continuous_logits", "loglikelihood", "checkpoint")),
        ("multiple_choice_logits", BOTH, {"loglikelihood": False}, None, ("generation", "generate", "service")),
        ("multiple_choice_logits", BOTH, {"loglikelihood": True}, "service", ("generation", "generate", "service")),
        ("multiple_choice_logits", BOTH, {}, "custom", ("generation", "generate", "custom")),
        ("continuous_logits", BOTH, {"loglikelihood": True}, None, CHOICES),
        ("server", ["generation"], {}, None, ("generation", "generate", "checkpoint")),
        ("image_generation", ["image_generation"], {}, None, ("image_generation", "generate_image", "checkpoint")),
    ],
)
def test_the_way_that_is_really_used(wish, allowed, asks, eval_type, expected) -> None:
    mode = choose_mode("b", wish, allowed, traits(**asks), eval_type)
    assert (mode.output_type, mode.ask, mode.eval_type) == expected


def test_log_probabilities_are_tried_where_the_run_wants_them() -> None:
    mode = choose_mode("b", "multiple_choice_logits", BOTH, traits(), None, is_told=True)
    assert mode.ask == "loglikelihood"
    assert "not known whether" in choose_mode("b", "multiple_choice_logits", BOTH, traits(), None).note


def test_a_way_that_is_not_allowed_is_noted() -> None:
    told = traits(loglikelihood=True)
    assert "not made for 'continuous_logits'" in choose_mode("b", "continuous_logits", BOTH, told, None).note


def test_unknown_ways_are_refused() -> None:
    with pytest.raises(PlanError, match=r"asked by 'generatoin'.*Did you mean 'generation'"):
        choose_mode("b", "generatoin", ["generatoin"], traits(), None)


def test_settings_under_any_of_their_names() -> None:
    ask, n = text_settings({"max_tokens": 9, "n": 2, "stop": "X", "top_k": 5, "seed": 1}, "service")
    assert (ask.max_new_tokens, n, ask.stop, ask.temperature) == (9, 2, ("X",), None)
    assert ask.extra == {"top_k": 5, "do_sample": True}
    assert text_settings({"max_tokens": 9, "max_new_tokens": 8}, "service")[0].max_new_tokens == 8
    assert text_settings({}, "custom")[0].max_new_tokens is None
    assert image_settings({"width": 512, "num_images_per_prompt": 2})[0].size == (512, 512)
    with pytest.raises(PlanError, match="'temperature' must be a number, not 'hot'"):
        text_settings({"temperature": "hot"}, "service")


def asking(output_type, ask=None, system="", where=None):
    return Asking(output_type, ask or text_settings({}, "service")[0], 1, system, where)


def test_a_prompt_of_pairs_is_text_where_text_is_asked_for() -> None:
    (request,) = asking("generation").requests({"data": [("a", "b"), ("c", "d")]}, Origin("", ""))
    assert request.text == "ab\ncd"


def test_the_benchmarks_system_prompt_wins_over_the_runs() -> None:
    def roles(prompt):
        (request,) = asking("generation", system="run").requests(prompt, Origin("", ""))
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
    (request,) = asking("generation").requests({"messages": [{"role": "user", "content": content}]}, Origin("", ""))
    assert [type(part) for part in request.messages[0].parts] == [Text, Text, Image, Image, Video, Audio]
    for broken, words in (
        ({"role": "tool", "content": ""}, "role 'tool'"),
        ({"role": "user", "content": [{"type": "smell"}]}, "kind 'smell'"),
        ("hello", "is no message"),
    ):
        with pytest.raises(DataError, match=words):
            asking("generation").requests({"messages": [broken]}, Origin("", ""))


def test_the_first_of_equally_likely_choices_is_taken() -> None:
    from polymeter.core.request import ChoiceLogprob

    prompt = {"data": ["q"], "multi_choices": ["A", "B", "C"]}
    asks = asking("multiple_choice_logits", Loglikelihood(()))
    logprobs = tuple(ChoiceLogprob(value, False, 1) for value in (-2.0, -1.0, -1.0))
    assert asks.contents(prompt, [Response((Output(logprobs=logprobs),))]) == ["B"]


def test_contexts_end_before_their_last_blanks() -> None:
    assert by_context({"data": [("a b ", "c"), ("a b", "d"), ["e", "f"]]}) == [("a b", [" c", "d"]), ("e", ["f"])]
    with pytest.raises(DataError, match="no pair"):
        by_context({"data": ["text"]})


@pytest.mark.parametrize(
    ("prompt", "output_type", "words"),
    [
        ("text", "generation", "must return what self.gen_prompt_data gives"),
        ({"raw_input": {}}, "generation", "neither 'data' nor 'messages'"),
        ({"data": ["q"]}, "generation", "without 'raw_input'"),
        ({"data": ["q"], "raw_input": {}}, "multiple_choice_logits", "Set self.choices"),
        ({"data": ["q"], "raw_input": {}}, "continuous_logits", "no pair"),
        ({"data": ["q"], "raw_input": {}}, "generation", ""),
    ],
)
def test_prompts_of_a_wrong_shape_are_told(prompt, output_type, words) -> None:
    assert words in shape_problem(prompt, output_type)
    assert bool(words) == bool(shape_problem(prompt, output_type))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mock", "mock"),
        ("hf:Qwen/Qwen2.5-0.5B-Instruct", "Qwen2.5-0.5B-Instruct"),
        ("openai:llama3:8b", "llama3-8b"),
        ("hf:/weights/mine/", "mine"),
    ],
)
def test_a_models_name_in_reports_is_the_last_part_of_its_name(name, expected) -> None:
    from types import SimpleNamespace

    assert model_id_of(SimpleNamespace(model_name=name)) == expected


def test_endpoints_have_the_defaults_of_a_service():
    endpoint = ModelTraits("m", requests={"generate": True}, is_endpoint=True)
    assert choose_mode("b", "generation", ["generation"], endpoint, None).eval_type == "service"
    assert choose_mode("b", "generation", ["generation"], traits(generate=True), None).eval_type == "checkpoint"
