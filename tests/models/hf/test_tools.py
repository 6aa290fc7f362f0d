"""Tools through a chat template: what it shows, and calls read from what the network writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.acting.tools import Tool, read_call
from polymeter.core.content import Image, Text
from polymeter.core.errors import ModelError, UnfitError
from polymeter.core.request import Generate, Message, Output, Request, Response
from polymeter.core.settings.needs import Needs, check_needs
from polymeter.models.hf import HfModel
from polymeter.models.hf import model as hf_model
from tests.helpers.mixed_requests import picture

TEMPLATE = (
    "{% if tools %}Tools:{% for tool in tools %} {{ tool | tojson }}{% endfor %}"
    ' Call: <tool_call>{"name": …}</tool_call>;{% endif %}'
    "{% for message in messages %}[{{ message.role }}{% if message.role == 'tool' %} {{ message.name }}{% endif %}]"
    "{% if message.content is string %}{{ message.content }}{% else %}"
    "{% for part in message.content %}{{ part.text if part.type == 'text' else '<image>' }}{% endfor %}{% endif %}"
    "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %};"
    "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
PLAIN_RESULTS = TEMPLATE.replace(
    "{% if message.content is string %}",
    "{% if message.role == 'tool' %}{{ '' + message.content }}{% elif message.content is string %}",
)
CROP = Tool("crop", "Cut an <image>.", {"type": "object", "properties": {"left": {"type": "integer"}}})
CALL = read_call("call_1", "crop", '{"left": 3}')
ASK = Message("user", (Text("What?"),))
SHOWN = (
    'Tools: {"type": "function", "function": {"name": "crop", "description": "Cut an < image>.", "parameters": '
    '{"type": "object", "properties": {"left": {"type": "integer"}}}}} Call: <tool_call>{"name": …}</tool_call>;'
)


def with_template(folder: Path, template: str = TEMPLATE) -> HfModel:
    made = HfModel(str(folder), chat_template=template)
    made.load()
    return made


def request(*messages: Message, **parameters: Any) -> Request:
    return Request((ASK, *messages), Generate(4, 0.0, tools=(CROP,), **parameters))


@pytest.mark.parametrize("template", [TEMPLATE, PLAIN_RESULTS], ids=["parts", "plain"])
def test_tools_calls_and_results_are_rendered(checkpoint: Callable[..., Path], template: str) -> None:
    model = with_template(checkpoint("llava"), template)
    turn = Message("assistant", (Text("I look."),), calls=(CALL,))
    result = Message("tool", (Text("Here: "), Image(picture(8, 8).source)), call_id="call_1")
    text = model._encoder.prompt_text(request(turn, result))
    assert text == (
        SHOWN + "[user]What?;"
        '[assistant]I look.<tool_call>{"name": "crop", "arguments": {"left": 3}}</tool_call>;'
        "[tool crop]Here: [image: in the next message];"
        "[user]Result of the call call_1:<image>;[assistant]"
    )


def test_a_turn_of_calls_is_not_gone_on_with(checkpoint: Callable[..., Path]) -> None:
    model = with_template(checkpoint("llama"))
    text = model._encoder.prompt_text(request(Message("assistant", (), calls=(CALL,))))
    assert text.endswith('[assistant]<tool_call>{"name": "crop", "arguments": {"left": 3}}</tool_call>;[assistant]')


def test_no_tools_are_shown_where_none_is_to_be_called(checkpoint: Callable[..., Path]) -> None:
    model = with_template(checkpoint("llama"))
    assert model._encoder.prompt_text(request(tool_choice="none")) == "[user]What?;[assistant]"
    assert model._encoder.prompt_text(Request((ASK,), Generate(4))) == "[user]What?;[assistant]"


def test_a_call_with_the_token_of_an_image_stays_text(checkpoint: Callable[..., Path]) -> None:
    model = with_template(checkpoint("llava"))
    turn = Message("assistant", (), calls=(read_call("a", "crop", '{"<image>": "<image>"}'),))
    assert '"arguments": {"< image>": "< image>"}' in model._encoder.prompt_text(request(turn))


def test_calls_are_read_from_the_answer(checkpoint: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    model = with_template(checkpoint("llama"))
    written = 'I look.<tool_call>{"name": "crop", "arguments": {"left": 3}}</tool_call>'
    monkeypatch.setattr(hf_model, "answer", lambda *args: [Response((Output(written, finish_reason="stop"),))])
    found = model.respond([request()])[0].outputs[0]
    assert (found.text, found.finish_reason) == ("I look.", "tool_calls")
    assert found.calls[0].arguments == {"left": 3}
    for without in (request(tool_choice="none"), Request((ASK,), Generate(4))):
        assert model.respond([without])[0].outputs[0].text == written


def test_a_choice_that_nothing_enforces_is_reported(checkpoint: Callable[..., Path]) -> None:
    model = with_template(checkpoint("llama"))
    for choice in ("required", "crop"):
        assert (
            "nothing makes the model call one" in model.ignores(request(tool_choice=choice).parameters)["tool_choice"]
        )
    assert "tool_choice" not in model.ignores(request().parameters)


def test_the_parser_is_stated_and_a_template_without_one_is_unfit(checkpoint: Callable[..., Path]) -> None:
    folder = checkpoint("llama")
    traits = HfModel(str(folder), chat_template=TEMPLATE).traits
    assert (traits.calls_tools, traits.tool_parser, traits.tool_media) == (True, "hermes", "after")
    for template, reason in [
        ("{% if tools %}[TOOLS]{% endif %}" + TEMPLATE.replace("<tool_call>", "["), "in a form that is not read"),
        ("{% for message in messages %}{{ message.content }}{% endfor %}", "its chat template shows no tools"),
    ]:
        with pytest.raises(UnfitError, match=reason):
            check_needs(Needs(has_tools=True), HfModel(str(folder), chat_template=template).traits, task="t", model="m")


def test_tools_need_the_template(checkpoint: Callable[..., Path]) -> None:
    model = with_template(checkpoint("llama"))
    with pytest.raises(ModelError, match="Tools need the chat template"):
        model._encoder.read(request(template="none"))
