"""Calls in the text of a model: read by family, with a problem where they cannot be read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.acting.tools import Tool
from polymeter.core.request import Output
from polymeter.models.tool_texts import family_of, looks_unread, with_calls

TOOLS = (Tool("crop", "", {"type": "object", "properties": {"left": {"type": "integer"}, "note": {"type": "string"}}}),)
CROP = '<tool_call>\n{"name": "crop", "arguments": {"left": 3}}\n</tool_call>'
XML = (
    "<tool_call>\n<function=crop>\n<parameter=left>\n3\n</parameter>\n<parameter=note>\n7\n</parameter>\n"
    "</function>\n</tool_call>"
)


def read(text: str, family: str = "hermes", reason: str | None = "stop") -> Output:
    return with_calls(Output(text, finish_reason=reason), family, TOOLS, None)


def calls(text: str, family: str = "hermes") -> list[Any]:
    return [(call.name, call.arguments, call.problem) for call in read(text, family).calls]


def test_calls_leave_the_text() -> None:
    found = read(f"I look.\n{CROP}\n{CROP}")
    assert (found.text, len(found.calls), found.finish_reason) == ("I look.", 2, "tool_calls")
    assert found.calls[0].arguments == {"left": 3}
    assert read("No call.") == Output("No call.", finish_reason="stop")
    assert read(CROP).text == ""


@pytest.mark.parametrize(
    ("written", "name", "arguments", "problem"),
    [
        ('{"name": "crop", "parameters": {"left": 3}}', "crop", {"left": 3}, ""),
        ('{"name": "crop", "arguments": "{\\"left\\": 3}"}', "crop", {"left": 3}, ""),
        ('{"name": "crop"}', "crop", {}, ""),
        ('{"name": "crop", "arguments": {"left": }}', "crop", None, "its arguments are not JSON"),
        ('{"name": "crop", "arguments": [3]}', "crop", None, "its arguments are a list"),
        ('{"name": "crop", "arguments": {"left": NaN}}', "crop", None, "its arguments are not JSON: NaN"),
        ('{"arguments": {"left": 3}}', "", {"left": 3}, "it names no tool"),
        ("[3]", "", None, "it names no tool"),
        ("crop(left=3)", "", None, "it names no tool"),
        ("", "", None, "it names no tool"),
    ],
)
def test_hermes(written: str, name: str, arguments: Any, problem: str) -> None:
    ((found, given, wrong),) = calls(f"<tool_call>{written}</tool_call>")
    assert (found, given) == (name, arguments)
    assert wrong.startswith(problem) if problem else not wrong


def test_a_call_that_was_cut_off_has_a_problem() -> None:
    found = read('<tool_call>\n{"name": "crop", "arguments": {"le', reason="length")
    assert found.finish_reason == "length"
    assert (found.calls[0].name, found.calls[0].arguments) == ("crop", None)
    ((name, arguments, problem),) = calls("<tool_call><function=crop><parameter=left>3", "qwen_xml")
    assert (name, arguments, problem) == ("crop", None, "it has no end")


def test_qwen_xml_has_the_types_of_the_schema() -> None:
    assert calls(XML, "qwen_xml") == [("crop", {"left": 3, "note": "7"}, "")]
    other = XML.replace("3", "three").replace("=note", "=unknown")
    assert calls(other, "qwen_xml") == [("crop", {"left": "three", "unknown": "7"}, "")]
    assert calls("<tool_call>crop</tool_call>", "qwen_xml")[0][2] == "it names no tool"


@pytest.mark.parametrize(
    "text",
    [f"<think>Perhaps {CROP}?</think>It is a cat.", f"<think>Perhaps {CROP}", f"Perhaps {CROP}</think>A cat."],
)
def test_a_call_inside_reasoning_is_a_thought(text: str) -> None:
    assert read(text) == Output(text, finish_reason="stop")


def test_reasoning_before_a_call_stays_in_the_text() -> None:
    found = read(f"<think>I look.</think>\n\n{CROP}")
    assert found.text.startswith("<think>I look.</think>")
    assert "tool_call" not in found.text
    assert len(found.calls) == 1


@pytest.mark.parametrize(
    ("template", "family"),
    [
        ("{% if tools %}<tool_call>{json}</tool_call>{% endif %}", "hermes"),
        ("{% if tools %}<tool_call><function=x><parameter=y>{% endif %}", "qwen_xml"),
        ("{% if tools %}[TOOL_CALLS]{% endif %}", ""),
        ("<tool_call>", ""),
        ("{{ messages }}", ""),
        (None, ""),
        ({"default": "x"}, ""),
    ],
)
def test_the_family_is_that_of_the_template(template: Any, family: str) -> None:
    assert family_of(template) == family


def test_a_server_without_a_parser_is_found() -> None:
    assert looks_unread(f"I look. {CROP}")
    assert looks_unread(XML)
    assert not looks_unread('<tool_call>{"name": "crop", "arguments": {"le</tool_call>')
    assert not looks_unread("I write <tool_call> to call a tool.")


@given(st.text(alphabet='<tool_cal>/{}"name:,=f uncti[]3\n'), st.sampled_from(["hermes", "qwen_xml"]))
def test_no_text_raises(text: str, family: str) -> None:
    for call in read(f"<tool_call>{text}", family).calls:
        assert call.arguments is None or not call.problem or call.problem == "it names no tool"
