"""The types of EvalScope 1.x; expected values are those of the original."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Generate, GenerateImage, Output, Response, Usage
from polymeter.interop.evalscope.v1.constants import EvalType
from polymeter.interop.evalscope.v1.tasks.conversion import model_output, parameters_of, request_messages
from polymeter.interop.evalscope.v1.types.content import (
    ContentAudio,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentVideo,
)
from polymeter.interop.evalscope.v1.types.generation import GenerateConfig
from polymeter.interop.evalscope.v1.types.messages import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    dict_to_chat_message,
    messages_pretty_str,
    messages_to_markdown,
)
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput, ModelUsage, as_stop_reason
from polymeter.interop.evalscope.v1.types.performance import PerformanceMetrics
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import AggScore, Score
from polymeter.interop.evalscope.v1.types.state import Target, TaskState
from polymeter.interop.evalscope.v1.types.tools import ToolCallError, ToolFunction, ToolInfo, parse_tool_call
from polymeter.models.endpoint.media import MediaEncoder
from polymeter.models.openai.content import ContentWriter
from polymeter.models.openai.settings import OpenAISettings
from tests.helpers.differences import difference


def test_only_the_first_closed_thought_leaves_an_answer() -> None:
    message = ChatMessageAssistant(content="a <think>one</think> b <think>two</think>")
    assert message.content == [ContentReasoning(reasoning="one"), ContentText(text="a  b <think>two</think>")]
    assert message.text == "a  b <think>two</think>"
    assert ChatMessageAssistant(content="</think> b").text == "</think> b"
    assert ChatMessageAssistant.model_validate({"content": "b", "reasoning": "c"}).content[0].reasoning == "c"


def test_text_of_a_message() -> None:
    message = ChatMessageUser(content=[ContentText(text="a"), ContentImage(image="x"), ContentText(text="b")])
    assert message.text == "a\nb"
    message.text = "c"
    assert [part.type for part in message.content] == ["image", "text"]
    assert len(message.id or "") == 8


def test_conversations_as_text() -> None:
    messages = [
        ChatMessageSystem(content="s"),
        ChatMessageTool(content="t", function="f"),
        ChatMessageUser(content="u"),
    ]
    assert messages_pretty_str(messages) == "**System**: s\n\n**Tool**: t\nFunction: f\n\n**User**: u"
    shown = [ChatMessageUser(content=[ContentText(text="a"), ContentImage(image="data:image/png;base64,AAAA")])]
    assert messages_to_markdown(shown, max_length=10) == "a\n![image](data:image)"
    assert dict_to_chat_message({"role": "user", "content": "u"}).text == "u"
    with pytest.raises(ValueError, match="Unknown chat message role"):
        dict_to_chat_message({"role": "boss", "content": ""})


def test_accepted_answers() -> None:
    target = Target([" a", "b", "a ", ""])
    assert (list(target), target.display, target.compact()) == (["a", "b"], "a\nb", "ab")
    with pytest.raises(ValueError, match="received 2"):
        target.single()
    state = TaskState(model="m", sample=Sample(input="q", target=["x", "y"], metadata={"k": 1}))
    assert (state.target, state.target_values) == ("x\ny", ["x", "y"])
    assert state.metadata is state._sample.metadata
    assert state.output.completion == ""


def test_the_main_value_is_the_first() -> None:
    score = Score(value={"a": 1.0, "b": 2.0})
    assert (score.main_value, score.main_score_name) == (1.0, "a")
    score.main_value = 3.0
    assert score.value["a"] == 3.0
    empty = Score()
    assert empty.main_value is None
    empty.main_value = 1.0
    assert empty.value == {"default": 1.0}


@pytest.mark.parametrize(
    ("name", "aggregation", "expected"),
    [
        ("acc", "avg", "accuracy:mean"),
        ("Rouge-L-F", "mean", 'rouge:mean[statistic="f1",variant="l"]'),
        ("bleu-4", "", "bleu:identity[ngram=4]"),
        ("HalluRate", "micro", "hallu_rate:micro_mean"),
        ("overall", "mean", 'legacy_metric:mean[original_name="overall"]'),
        ("中文", "mean", 'legacy_metric:mean[original_name="中文"]'),
    ],
)
def test_names_of_numbers(name: str, aggregation: str, expected: str) -> None:
    assert AggScore(metric_name=name, aggregation_name=aggregation).identity.key == expected


def test_numbers_have_no_other_fields() -> None:
    with pytest.raises(ValidationError):
        AggScore(metric_name="a", n=3)  # type: ignore[call-arg]


def test_outputs() -> None:
    output = ModelOutput.from_content("m", "a")
    output.completion = "b"
    assert (output.completion, output.stop_reason, output.model_dump()["perf_metrics"]) == ("b", "stop", None)
    assert ModelOutput(model="m").completion == ""
    assert as_stop_reason("length") == "max_tokens"
    assert (ModelUsage(input_tokens=1) + ModelUsage(input_tokens=2, reasoning_tokens=3)).reasoning_tokens == 3
    assert PerformanceMetrics(latency=2.0, ttft=1.0, output_tokens=3).tpot == 0.5


def test_tools() -> None:
    assert ToolFunction(name="f", arguments='{"a": 1}').arguments == {"a": 1}
    with pytest.raises(ValidationError):
        ToolFunction(name="f", arguments="[1]")
    tool = ToolInfo(name="f", description="d", parameters={"properties": {"x": {"type": "str"}}})
    assert tool.parameters.properties["x"].type == "string"
    assert parse_tool_call("1", "f", "3", [tool]).function.arguments == {"x": 3}
    assert "Error parsing" in str(parse_tool_call("1", "f", "{").parse_error)


def test_a_config_for_one_call_changes_only_what_it_sets() -> None:
    run = GenerateConfig(temperature=0.5, retries=9, extra=1)
    merged = run.merge(GenerateConfig(temperature=0.0, max_tokens=None, other=2))
    assert (merged.temperature, merged.retries, merged.model_extra) == (0.0, 9, {"extra": 1, "other": 2})


def test_messages_become_the_engines() -> None:
    parts = [
        ContentText(text="a"),
        ContentImage(image="https://x/y.png"),
        ContentAudio(audio="A" * 300, format="wav"),
        ContentVideo(video="/v.mp4", format="mp4", start=1.0, end=2.0),
    ]
    (message,) = request_messages([ChatMessageUser(content=parts)])
    text, image, audio, video = message.parts
    assert (type(text), type(image), type(audio), type(video)) == (Text, Image, Audio, Video)
    assert image.source == "https://x/y.png"
    assert audio.source == "data:audio/wav;base64," + "A" * 300
    assert (video.source, video.start_s, video.end_s) == ("/v.mp4", 1.0, 2.0)
    error = ToolCallError(type="timeout", message="too late")
    results = [
        ChatMessageTool(content="t", tool_call_id="1"),
        ChatMessageTool(content="", tool_call_id="2", error=error),
    ]
    assert [(one.role, one.call_id, one.text) for one in request_messages(results)] == [
        ("tool", "1", "t"),
        ("tool", "2", "Error: too late"),
    ]


def test_the_detail_of_an_image_reaches_an_endpoint() -> None:
    parts = [ContentImage(image="https://x/y.png", detail=detail) for detail in ("low", "auto")]
    writer = ContentWriter(OpenAISettings("m"), MediaEncoder())
    (sent,) = json.loads(writer.messages(request_messages([ChatMessageUser(content=parts)])))
    assert [item["image_url"].get("detail") for item in sent["content"]] == ["low", None]


def test_settings_of_a_question() -> None:
    assert parameters_of("generate", {}, {"temperature": 0.0}, None) == Generate(temperature=0.0)
    own = GenerateConfig(max_tokens=5, stop_seqs=["x"], retries=1)
    assert parameters_of("generate", {"temperature": 1}, {"top_p": 0.1}, own) == Generate(5, 1.0, stop=("x",))
    image = parameters_of("generate_image", {}, {"width": 8, "height": 4}, None)
    assert isinstance(image, GenerateImage)
    assert image.size == (8, 4)


@pytest.mark.parametrize("setting", [{"extra_headers": {"x-team": "a"}}, {"extra_query": {"v": "1"}}])
def test_what_requests_cannot_carry_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=f"carry no {next(iter(setting))}"):
        parameters_of("generate", {}, {}, GenerateConfig(**setting))


def test_answers_become_outputs() -> None:
    response = Response((Output("b", reasoning="r", finish_reason="length", usage=Usage(1, 2)),), latency_ms=500)
    output = model_output(response, "m")
    assert (output.completion, output.stop_reason, output.time) == ("b", "max_tokens", 0.5)
    assert output.message.content[0] == ContentReasoning(reasoning="r")
    assert output.usage is not None
    assert output.usage.total_tokens == 3


def test_a_checkpoint_has_the_words_of_both_generations() -> None:
    assert EvalType.CHECKPOINT == "checkpoint"
    assert EvalType.CHECKPOINT == "llm_ckpt"
    assert EvalType.CHECKPOINT == "checkpoint"
    assert EvalType.CHECKPOINT != "service"
    assert EvalType.SERVICE == "service"


@difference("earlier-answers", here="a bird", there="\na bird")
def test_an_earlier_answer_is_sent_as_it_was(parity: str, expected: str) -> None:
    reasoned = ChatMessageAssistant(
        content=[ContentReasoning(reasoning="red, blue"), ContentText(text="a bird")], source="generate"
    )
    plain = ChatMessageAssistant(content="a tree", source="generate")
    with guest_context_with(parity=parity_with(parity)):
        sent = request_messages([ChatMessageUser(content="Name one."), reasoned, plain])
    assert [one.text for message in sent for one in message.parts] == ["Name one.", expected, "a tree"]
