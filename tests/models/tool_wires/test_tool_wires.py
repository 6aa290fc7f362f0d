"""One conversation with tools over the wires of four APIs: equal but for the form of each.

The bodies stand in JSON files beside this one. ``REWRITE=1`` in the environment writes them anew.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.acting.tools import Call, Tool, read_call
from polymeter.core.content import Audio, Image, Text
from polymeter.core.errors import ModelError
from polymeter.core.model import AsyncModel
from polymeter.core.request import Generate, Message, Output, Request
from polymeter.models.anthropic import AnthropicModel
from polymeter.models.gemini import GeminiModel
from polymeter.models.openai import OpenAIModel
from tests.helpers.openai_stub import png
from tests.helpers.provider_stubs import ProviderStub, Reply, ask, claude_says, gemini_says

pytest.importorskip("anthropic")
pytest.importorskip("google.genai")

HERE = Path(__file__).parent
RED, BLUE = png("red"), png("blue")
CROP = Tool(
    "crop",
    "Cut out a part of the image.",
    {"type": "object", "properties": {"left": {"type": "integer"}, "top": {"type": "integer"}}, "required": ["left"]},
)
COUNT = Tool("count", "Count marks.", {"type": "object", "properties": {}}, effect="local")
CALLS = (read_call("call_1", "crop", '{"left": 3, "top": 4}'), read_call("call_2", "count", ""))
BROKEN = read_call("call_3", "crop", '{"left": ')
CONVERSATION = (
    Message("system", (Text("Be short."),)),
    Message("user", (Image(RED), Text("How many marks?"))),
    Message("assistant", (Text("I look closer."),), calls=CALLS),
    Message("tool", (Text("The part: "), Image(BLUE)), call_id="call_1"),
    Message("tool", (Text("7"),), call_id="call_2"),
    Message("assistant", (), calls=(BROKEN,)),
    Message("tool", (Text("The call has a problem: its arguments are not JSON."),), call_id="call_3"),
)
PARAMETERS = Generate(64, 0.0, tools=(CROP, COUNT))
NAMES = {"openai": "gpt-4.1", "responses": "gpt-4.1", "anthropic": "claude-test", "gemini": "gemini-3-flash"}


def openai_says(text: str | None = "four", **message: Any) -> Reply:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    said = {"role": "assistant", "content": text, **message}
    return Reply({"choices": [{"index": 0, "message": said, "finish_reason": finish}]})


def responses_says(*items: Any, text: str = "four", **fields: Any) -> Reply:
    said = (
        [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}] if text else []
    )
    return Reply({"status": "completed", "output": [*said, *items], **fields})


SAYS: dict[str, Callable[..., Reply]] = {
    "openai": openai_says,
    "responses": responses_says,
    "anthropic": claude_says,
    "gemini": gemini_says,
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "secret-of-the-tests")
    for name in ("GOOGLE_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def stub() -> Iterator[ProviderStub]:
    with ProviderStub(lambda _: Reply({})) as stub:
        yield stub


def model_at(wire: str, stub: ProviderStub, **args: Any) -> AsyncModel:
    if wire == "anthropic":
        return AnthropicModel(NAMES[wire], stub.url, **args)
    if wire == "gemini":
        return GeminiModel(NAMES[wire], stub.url, **args)
    api = "chat" if wire == "openai" else "responses"
    return OpenAIModel(NAMES[wire], f"{stub.url}/v1", api=api, **args)


def sent(wire: str, stub: ProviderStub, request: Request, **args: Any) -> Any:
    stub.script = lambda _: SAYS[wire]()
    stub.seen.clear()
    answer = ask(model_at(wire, stub, **args), request)[0]
    assert answer.text == "four"
    return stub.posts[-1]


def answered(wire: str, stub: ProviderStub, reply: Reply, request: Request | None = None) -> Output:
    stub.script = lambda _: reply
    stub.seen.clear()
    return ask(model_at(wire, stub), request or Request(CONVERSATION[:2], PARAMETERS))[0].outputs[0]


@pytest.mark.parametrize("wire", NAMES)
def test_a_conversation_with_tools_is_sent_in_the_form_of_the_api(wire: str, stub: ProviderStub) -> None:
    body = sent(wire, stub, Request(CONVERSATION, PARAMETERS))
    golden = HERE / f"{wire}.json"
    if os.environ.get("REWRITE"):
        golden.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    assert body == json.loads(golden.read_text(encoding="utf-8"))


# --- the same in all forms --------------------------------------------------------------------------------------------


def said_openai(body: Any) -> Iterator[Any]:
    for message in body["messages"]:
        content = message["content"]
        if message["role"] == "tool":
            yield "result", message["tool_call_id"], content.replace("[image: in the next message]", "")
            continue
        for part in [{"text": content}] if isinstance(content, str) else content or []:
            url = part.get("image_url", {}).get("url", "")
            yield ("image", url.partition(",")[2]) if url else (message["role"], part["text"])
        for call in message.get("tool_calls", ()):
            function = call["function"]
            yield "call", call["id"], function["name"], json.loads(function["arguments"])


def said_responses(body: Any) -> Iterator[Any]:
    for item in body["input"]:
        kind = item.get("type")
        if kind == "function_call":
            yield "call", item["call_id"], item["name"], json.loads(item["arguments"])
            continue
        is_result = kind == "function_call_output"
        content = item["output" if is_result else "content"]
        for part in [{"text": content}] if isinstance(content, str) else content:
            url = part.get("image_url", "")
            text = ("result", item["call_id"]) if is_result else (item["role"],)
            yield ("image", url.partition(",")[2]) if url else (*text, part["text"])


def said_anthropic(body: Any) -> Iterator[Any]:
    yield "system", body["system"]
    for message in body["messages"]:
        for block in message["content"]:
            pieces = block["content"] if block["type"] == "tool_result" else [block]
            for piece in pieces:
                if piece["type"] == "tool_use":
                    yield "call", piece["id"], piece["name"], piece["input"]
                elif piece["type"] == "image":
                    yield "image", piece["source"]["data"]
                elif block["type"] == "tool_result":
                    yield "result", block["tool_use_id"], piece["text"]
                else:
                    yield message["role"], piece["text"]


def said_gemini(body: Any) -> Iterator[Any]:
    ids = iter([call.id for call in (*CALLS, BROKEN)])
    results = iter([call.id for call in (*CALLS, BROKEN)])
    yield "system", body["systemInstruction"]["parts"][0]["text"]
    for content in body["contents"]:
        for part in content["parts"]:
            result = part.get("functionResponse", {})
            if result:
                yield "result", next(results), result["response"]["result"]
            for piece in result.get("parts", [part]):
                if "functionCall" in piece:
                    call = piece["functionCall"]
                    yield "call", next(ids), call["name"], call["args"]
                elif "inlineData" in piece:
                    yield "image", piece["inlineData"]["data"]
                elif "text" in piece:
                    yield "assistant" if content["role"] == "model" else content["role"], piece["text"]


def tools_in(wire: str, body: Any) -> list[Any]:
    if wire == "anthropic":
        return [[tool["name"], tool["description"], tool["input_schema"]] for tool in body["tools"]]
    if wire == "gemini":
        declared = body["tools"][0]["functionDeclarations"]
        return [[tool["name"], tool["description"], tool["parametersJsonSchema"]] for tool in declared]
    functions = [tool.get("function", tool) for tool in body["tools"]]
    return [[tool["name"], tool["description"], tool["parameters"]] for tool in functions]


def test_the_bodies_differ_in_their_form_alone() -> None:
    bodies = {wire: json.loads((HERE / f"{wire}.json").read_text(encoding="utf-8")) for wire in NAMES}
    data = base64.b64encode(BLUE).decode()
    said = {
        "responses": [*said_responses(bodies["responses"])],
        "anthropic": [*said_anthropic(bodies["anthropic"])],
        "gemini": [*said_gemini(bodies["gemini"])],
    }
    assert said["responses"] == said["anthropic"] == said["gemini"]
    assert ("call", "call_3", "crop", {"unreadable": '{"left": '}) in said["gemini"]
    # The chat API shows an image behind the results, marked with the id of its call.
    inline = said["responses"]
    place = inline.index(("image", data))
    behind = [("user", "Result of the call call_1:"), ("image", data)]
    after = [*inline[:place], inline[place + 1], *behind, *inline[place + 2 :]]
    assert [*said_openai(bodies["openai"])] == after
    tools = [tools_in(wire, body) for wire, body in bodies.items()]
    assert tools == [[[tool.name, tool.description, tool.schema] for tool in PARAMETERS.tools]] * len(NAMES)


@pytest.mark.parametrize(
    ("choice", "forms"),
    [
        ("auto", ["auto", "auto", {"type": "auto"}, {"mode": "AUTO"}]),
        ("none", ["none", "none", {"type": "none"}, {"mode": "NONE"}]),
        ("required", ["required", "required", {"type": "any"}, {"mode": "ANY"}]),
        (
            "crop",
            [
                {"type": "function", "function": {"name": "crop"}},
                {"type": "function", "name": "crop"},
                {"type": "tool", "name": "crop"},
                {"mode": "ANY", "allowedFunctionNames": ["crop"]},
            ],
        ),
    ],
)
def test_the_choice_is_sent(choice: str, forms: list[Any], stub: ProviderStub) -> None:
    request = Request(CONVERSATION[:2], replace(PARAMETERS, tool_choice=choice))
    bodies = {wire: sent(wire, stub, request) for wire in NAMES}
    found = [body.get("tool_choice") or body["toolConfig"]["functionCallingConfig"] for body in bodies.values()]
    assert found == forms


@pytest.mark.parametrize("wire", NAMES)
def test_without_tools_nothing_of_them_is_sent(wire: str, stub: ProviderStub) -> None:
    body = sent(wire, stub, Request(CONVERSATION[:2], replace(PARAMETERS, tools=())))
    assert not {"tools", "tool_choice", "toolConfig"} & body.keys()


# --- calls in answers -------------------------------------------------------------------------------------------------

WRITTEN = [("a", "crop", {"left": 3}), ("b", "crop", {"left": "4"})]


def calling(wire: str) -> Reply:
    if wire == "openai":
        calls = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in WRITTEN
        ]
        return openai_says(None, tool_calls=calls)
    if wire == "responses":
        items = [{"type": "function_call", "call_id": i, "name": n, "arguments": json.dumps(a)} for i, n, a in WRITTEN]
        return responses_says(*items, text="")
    if wire == "anthropic":
        blocks = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in WRITTEN]
        return claude_says(content=blocks, stop_reason="tool_use")
    parts = [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in WRITTEN]
    return gemini_says(candidates=[{"content": {"parts": parts}, "finishReason": "STOP"}])


@pytest.mark.parametrize("wire", NAMES)
def test_parallel_calls_are_read_in_one_shape(wire: str, stub: ProviderStub) -> None:
    output = answered(wire, stub, calling(wire))
    assert [(call.id, call.name, call.arguments, call.problem) for call in output.calls] == [
        (*written, "") for written in WRITTEN
    ]
    assert (output.text, output.finish_reason) == ("", "tool_calls")


@pytest.mark.parametrize("wire", NAMES)
def test_calls_alone_are_no_answer_where_no_tools_were_offered(wire: str, stub: ProviderStub) -> None:
    with pytest.raises(ModelError, match="although it was offered no tools"):
        answered(wire, stub, calling(wire), Request(CONVERSATION[:2], Generate(8)))


@pytest.mark.parametrize(
    ("wire", "reply"),
    [
        ("openai", openai_says(None, tool_calls=[{"id": "a", "function": {"name": "crop", "arguments": '{"left": '}}])),
        ("responses", responses_says({"type": "function_call", "name": "crop", "arguments": '{"left": '}, text="")),
        ("anthropic", claude_says(content=[{"type": "tool_use", "id": "a", "name": "crop", "input": "no"}])),
        (
            "gemini",
            gemini_says(candidates=[{"content": {"parts": [{"functionCall": {"args": [1]}}]}, "finishReason": "STOP"}]),
        ),
    ],
)
def test_a_malformed_call_is_a_call_with_a_problem(wire: str, reply: Reply, stub: ProviderStub) -> None:
    (call,) = answered(wire, stub, reply).calls
    assert call.arguments is None
    assert call.problem


SIGNED = {
    "openai": openai_says(
        None,
        reasoning_content="Hm.",
        tool_calls=[
            {
                "id": "a",
                "type": "function",
                "function": {"name": "crop", "arguments": '{"left": 3}'},
                "extra_content": {"google": {"thought_signature": "S"}},
            }
        ],
    ),
    "responses": responses_says(
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "S",
        },
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "crop", "arguments": '{"left": 3}'},
        text="",
    ),
    "anthropic": claude_says(
        content=[
            {"type": "thinking", "thinking": "Hm.", "signature": "S"},
            {"type": "redacted_thinking", "data": "S"},
            {"type": "tool_use", "id": "a", "name": "crop", "input": {"left": 3}},
        ],
        stop_reason="tool_use",
    ),
    "gemini": gemini_says(
        candidates=[
            {
                "content": {
                    "parts": [
                        {"text": "Hm.", "thought": True},
                        {"functionCall": {"id": "a", "name": "crop", "args": {"left": 3}}, "thoughtSignature": "S"},
                    ]
                },
                "finishReason": "STOP",
            }
        ]
    ),
}


@pytest.mark.parametrize("wire", NAMES)
def test_signed_reasoning_is_sent_back_with_its_calls(wire: str, stub: ProviderStub) -> None:
    output = answered(wire, stub, SIGNED[wire])
    assert (output.reasoning, output.calls[0].arguments) == ("Hm.", {"left": 3})
    result = Message("tool", (Text("7"),), call_id="a")
    body = sent(wire, stub, Request((*CONVERSATION[:2], output.as_turn(), result), PARAMETERS))
    if wire == "openai":
        *_, turn, shown = body["messages"]
        assert turn == {"role": "assistant", **json.loads(SIGNED[wire].text)["choices"][0]["message"]}
        assert shown == {"role": "tool", "content": "7", "tool_call_id": "a"}
    elif wire == "responses":
        assert body["input"][-3:-1] == json.loads(SIGNED[wire].text)["output"]
        assert body["input"][-1] == {"type": "function_call_output", "call_id": "a", "output": "7"}
    elif wire == "anthropic":
        assert body["messages"][-2]["content"] == json.loads(SIGNED[wire].text)["content"]
    else:
        written = json.loads(SIGNED[wire].text)["candidates"][0]["content"]["parts"][1:]
        assert body["contents"][-2] == {"role": "model", "parts": written}
        named = {"id": "a", "name": "crop", "response": {"result": "7"}}
        assert body["contents"][-1]["parts"] == [{"functionResponse": named}]


def test_an_older_gemini_is_shown_media_behind_the_results(stub: ProviderStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES, "gemini", "gemini-2.5-flash")
    body = sent("gemini", stub, Request(CONVERSATION[:5], PARAMETERS))
    results = body["contents"][-1]["parts"]
    assert [next(iter(part)) for part in results] == ["functionResponse", "functionResponse", "text", "inlineData"]
    assert results[2]["text"] == "Result of the call call_1:"


def test_media_that_an_api_does_not_accept_are_an_error_in_a_result_too(stub: ProviderStub) -> None:
    silent = Message("tool", (Audio(b"RIFF"),), call_id="call_1")
    with pytest.raises(ModelError, match="accepts no audio"):
        sent("anthropic", stub, Request((*CONVERSATION[:3], silent), PARAMETERS))


def test_a_call_without_a_name_is_sent_back_under_one(stub: ProviderStub) -> None:
    turn = Message("assistant", (), calls=(Call("a", " ", {}, "", "it names no tool"),))
    body = sent("openai", stub, Request((*CONVERSATION[:2], turn), PARAMETERS))
    assert body["messages"][-1]["tool_calls"][0]["function"] == {"name": "unnamed", "arguments": "{}"}
    assert body["messages"][-1]["content"] is None


# --- servers that read no calls ---------------------------------------------------------------------------------------

UNREAD = 'I look. <tool_call>{"name": "crop", "arguments": {"left": 3}}</tool_call>'


def test_a_server_without_a_parser_is_an_error_with_its_remedy(stub: ProviderStub) -> None:
    with pytest.raises(ModelError, match="it has no parser for the calls of its model") as caught:
        answered("openai", stub, openai_says(UNREAD))
    assert "tool_call_parser=hermes" in caught.value.hint
    refusal = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    with pytest.raises(ModelError) as caught:
        answered("openai", stub, Reply({"error": {"message": refusal}}, 400))
    assert "tool_call_parser=hermes" in caught.value.hint
    assert answered("openai", stub, openai_says(UNREAD), Request(CONVERSATION[:2], Generate(8))).text == UNREAD


def test_a_malformed_call_that_a_servers_parser_let_through_is_a_call_with_a_problem(stub: ProviderStub) -> None:
    found = answered("openai", stub, openai_says('I look. <tool_call>{"name": "crop", "arguments": {"le</tool_call>'))
    assert (found.text, found.calls[0].name, found.calls[0].arguments) == ("I look.", "crop", None)
