"""Tools and calls as plain data: read from what models write, kept, shown, identified."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymeter
from polymeter.core.acting.results import media_after
from polymeter.core.acting.schemas import argument_problem, check_tools
from polymeter.core.acting.tools import Call, Tool, read_call, stored_call, with_ids, write_call
from polymeter.core.content import Image, Text
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.identity import request_fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.request import Generate, Message, Output, Request, Response
from polymeter.core.settings.needs import Needs, check_needs
from polymeter.models.mock import MockBatch, MockModel
from polymeter.models.openai import OpenAIModel
from polymeter.run.dispatch.answers import checked

CROP = Tool("crop", "Cut out a part.", {"type": "object", "properties": {"left": {"type": "integer"}}})
ZOOM = Tool("zoom", "", {"type": "object", "properties": {"by": {"type": "number"}}, "required": ["by"]})
ASK = Message("user", (Text("What is it?"),))


def fingerprint(*messages: Message, **parameters: Any) -> str:
    return request_fingerprint(Request(messages or (ASK,), Generate(**parameters)))


@pytest.mark.parametrize(
    ("written", "arguments", "problem"),
    [
        ('{"left": 3}', {"left": 3}, ""),
        ('{"left": "3"}', {"left": "3"}, ""),
        ({"left": 3}, {"left": 3}, ""),
        ({"left": float("nan")}, None, "its arguments are not JSON"),
        ({"left": object()}, None, "its arguments are not JSON"),
        ("", {}, ""),
        (None, {}, ""),
        ("{left: 3}", None, "its arguments are not JSON: Expecting property name"),
        ("__import__('os')", None, "its arguments are not JSON: Expecting value"),
        ("[1]", None, "its arguments are a list and not an object"),
        ('"crop"', None, "its arguments are a text and not an object"),
        ("null", None, "its arguments are null and not an object"),
        ("7", None, "its arguments are a number and not an object"),
        ('{"a": NaN}', None, "its arguments are not JSON: NaN is not a number of JSON"),
        ('{"a": 1e999}', None, "its arguments are not JSON: 1e999 is too large"),
        ("[" * 100_000, None, "its arguments are nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", None, "its arguments are not JSON: Exceeds the limit"),
    ],
)
def test_arguments_are_read_or_a_problem(written: Any, arguments: Any, problem: str) -> None:
    call = read_call("1", "crop", written)
    assert call.arguments == arguments
    assert call.problem.startswith(problem) if problem else not call.problem
    if isinstance(written, str):
        assert call.raw == written


@pytest.mark.parametrize("name", ["", " ", None, 3, {}])
def test_a_call_without_a_name_has_a_problem(name: Any) -> None:
    assert read_call("1", name, "{}").problem == "it names no tool"


@settings(deadline=None)
@given(st.text(), st.text(), st.none() | st.text() | st.dictionaries(st.text(), st.integers() | st.text()))
def test_a_call_comes_back_from_the_journal(call_id: str, name: str, written: Any) -> None:
    call = read_call(call_id, name, written)
    assert stored_call(json.loads(json.dumps(write_call(call)))) == call


@pytest.mark.parametrize(
    "body",
    [
        {"id": "1", "type": "function", "function": {"name": "crop", "arguments": '{"left": 3}'}},
        {"id": "1", "type": "tool_use", "name": "crop", "input": {"left": 3}},
        {"id": "1", "name": "crop", "arguments": {"left": 3}},
        {"id": "1", "functionCall": {"name": "crop", "args": {"left": 3}}},
    ],
    ids=["openai", "anthropic", "as-kept-before", "gemini"],
)
def test_calls_of_old_journals_are_read(body: dict[str, Any]) -> None:
    call = stored_call(body)
    assert (call.id, call.name, call.arguments, call.problem) == ("1", "crop", {"left": 3}, "")


def test_each_call_gets_an_id_of_its_own() -> None:
    calls = [read_call(name, "crop", "{}") for name in ("", "call_1", "x", "x", "call_3")]
    assert [call.id for call in with_ids(calls, {"call_2", "x"})] == ["call_4", "call_1", "call_5", "call_6", "call_3"]
    earlier = Message("assistant", (), calls=with_ids([read_call("", "crop", "{}")]))
    answer = Response((Output("", calls=(read_call("call_1", "crop", "{}"), read_call(None, "crop", "{}"))),))
    given = checked(Request((ASK, earlier), Generate(tools=(CROP,))), answer)
    assert [call.id for call in given.outputs[0].calls] == ["call_2", "call_3"]


def test_what_is_not_a_call_is_refused() -> None:
    answer = checked(Request((ASK,), Generate()), Response((Output("", calls=({"name": "crop"},)),)))  # type: ignore[arg-type]
    assert answer.error is not None
    assert "in place of calls of tools" in answer.error.message


def test_requests_without_tools_keep_their_fingerprints() -> None:
    assert fingerprint() == "4abfd10e31cbca91253e6b55b08009e9", "as before there were tools"


def test_all_that_a_model_reads_of_tools_is_part_of_the_fingerprint() -> None:
    one = fingerprint(tools=(CROP,))
    assert one == fingerprint(tools=(replace(CROP, effect="outside"),)), "the effect changes no answer"
    reordered = replace(ZOOM, schema={"required": ["by"], **ZOOM.schema})
    different = [
        fingerprint(),
        one,
        fingerprint(tools=(CROP,), tool_choice="required"),
        fingerprint(tools=(replace(CROP, name="cut"),)),
        fingerprint(tools=(replace(CROP, description=""),)),
        fingerprint(tools=(replace(CROP, schema={"type": "object"}),)),
        fingerprint(tools=(CROP, ZOOM)),
        fingerprint(tools=(ZOOM, CROP)),
        fingerprint(tools=(ZOOM,)),
        fingerprint(tools=(reordered,)),
    ]
    assert len(set(different)) == len(different)


def test_calls_and_results_are_part_of_the_fingerprint() -> None:
    call = read_call("a", "crop", '{"left": 3}')
    turn, result = Message("assistant", (), calls=(call,)), Message("tool", (Text("3"),), call_id="a")
    different = [
        fingerprint(ASK, turn, result),
        fingerprint(ASK, turn, replace(result, call_id="b")),
        fingerprint(ASK, turn, replace(result, role="user")),
        fingerprint(ASK, replace(turn, calls=()), result),
        fingerprint(ASK, replace(turn, calls=(replace(call, arguments={"left": 4}),)), result),
        fingerprint(ASK, replace(turn, calls=(replace(call, raw='{"left":3}'),)), result),
        fingerprint(ASK, replace(turn, carried={"signature": "x"}), result),
    ]
    assert len(set(different)) == len(different)


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        ((Tool(""),), "auto", "The name of a tool must be 1 to 128 characters without blanks, not ''"),
        ((Tool("my tool"),), "auto", "without blanks, not 'my tool'"),
        ((CROP, replace(ZOOM, name="crop")), "auto", "Two tools have the name 'crop'"),
        ((Tool("f", "", {"type": "array"}),), "auto", "schema of the tool 'f' cannot be used: its type is 'array'"),
        ((Tool("f", "", {"properties": {"a": {"type": "dict"}}}),), "auto", "'dict' is not valid under any"),
        ((Tool("f", "", [1]),), "auto", "it is a list and not a mapping"),  # type: ignore[arg-type]
        ((CROP,), "corp", "tool_choice is 'corp', which names no tool. Did you mean 'crop'"),
    ],
)
def test_tools_that_nobody_can_be_offered_are_refused(tools: Any, choice: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        check_tools(tools, choice)
    assert message in str(caught.value)


def test_usable_tools_are_not_refused() -> None:
    for choice in ("auto", "none", "required", "zoom"):
        check_tools((CROP, ZOOM, Tool("now")), choice)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"by": 2}', ""),
        ('{"by": "2"}', "its arguments do not fit the schema: '2' is not of type 'number' (at 'by')"),
        ("{}", "its arguments do not fit the schema: 'by' is a required property"),
        ("{", "its arguments are not JSON"),
    ],
)
def test_arguments_are_checked_by_the_schema(written: str, problem: str) -> None:
    found = argument_problem(ZOOM, read_call("1", "zoom", written))
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_schema_fetches_nothing() -> None:
    tool = Tool("f", "", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}})
    assert "cannot be checked" in argument_problem(tool, read_call("1", "f", '{"a": 1}'))


def test_media_of_results_stand_behind_the_results_of_a_turn() -> None:
    image = Image(b"x", key="k")
    calls = tuple(Call(name, "crop", {}, "{}") for name in ("a", "b"))
    turn = Message("assistant", (), calls=calls)
    conversation = (
        ASK,
        turn,
        Message("tool", (Text("left "), image), call_id="a"),
        Message("tool", (Text("nothing"),), call_id="b"),
        ASK,
        turn,
        Message("tool", (image,), call_id="a"),
    )
    shown = media_after(conversation)
    assert [message.role for message in shown] == [
        *("user", "assistant", "tool", "tool", "user", "user", "assistant", "tool", "user"),
    ]
    assert [shown[2].text, shown[2].call_id] == ["left [image: in the next message]", "a"]
    assert shown[4].parts == (Text("Result of the call a:"), image)
    assert shown[-1].parts == (Text("Result of the call a:"), image)
    assert media_after(conversation[:2]) == conversation[:2]


def test_tasks_with_tools_need_a_model_that_calls_them() -> None:
    needs = Needs(has_tools=True)
    check_needs(needs, ModelTraits("a", calls_tools=True), task="t", model="m")
    with pytest.raises(UnfitError, match="Task 't' offers tools to the model, and 'm' cannot be offered any"):
        check_needs(needs, ModelTraits("a"), task="t", model="m")
    with pytest.raises(UnfitError, match="cannot be offered any: a wrapper is handed text and media"):
        check_needs(needs, ModelTraits("a", is_foreign=True), task="t", model="m")
    with pytest.raises(UnfitError, match="cannot be offered any: an endpoint with api=completions is sent none"):
        check_needs(needs, OpenAIModel("m", "http://127.0.0.1:1/v1", api="completions").traits, task="t", model="m")


def ask_mock(model: Any, *turns: Message, sample: str = "1") -> Output:
    assert isinstance(model, MockBatch)
    from polymeter.core.request import Origin

    request = Request((ASK, *turns), Generate(tools=(CROP,)), Origin("t", sample))
    return model.respond([request])[0].outputs[0]


def test_a_mock_calls_tools_turn_by_turn(tmp_path: Path) -> None:
    turns = [{"text": "I look.", "calls": [{"name": "crop", "arguments": {"left": 3}}]}, {"calls": [{}]}, "B"]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"1": turns, "2": "C", "*": [{"calls": [{"name": "crop", "arguments": "{"}]}]}))
    model = MockModel(answers=str(file))
    first = ask_mock(model)
    assert (first.text, first.finish_reason) == ("I look.", "tool_calls")
    assert first.calls == (Call("", "crop", {"left": 3}, '{"left":3}'),)
    second = ask_mock(model, first.as_turn(), Message("tool", (Text("x"),), call_id=""))
    assert second.calls[0].problem == "it names no tool"
    last = ask_mock(model, first.as_turn(), second.as_turn())
    assert (last.text, last.calls, last.finish_reason) == ("B", (), "stop")
    assert ask_mock(model, sample="2").text == "C"
    endless = ask_mock(model, sample="3")
    assert endless.calls[0].problem.startswith("its arguments are not JSON")
    assert ask_mock(model, *[endless.as_turn()] * 5, sample="3").calls == endless.calls


@pytest.mark.parametrize("turn", [{"calls": "crop"}, {"text": "x"}, {"calls": [], "txet": ""}, {"calls": ["crop"]}])
def test_a_turn_of_a_mock_that_is_none_is_refused(tmp_path: Path, turn: Any) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"1": [turn]}))
    with pytest.raises(PlanError, match="A turn is not a text and calls"):
        MockModel(answers=str(file))


def test_the_names_are_public() -> None:
    assert polymeter.Tool is Tool
    assert polymeter.Call is Call
