"""Answers with calls in any shape: each is an answer that the journal restores, or a stated error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.acting.tools import Tool
from polymeter.core.content import Text
from polymeter.core.errors import ModelError
from polymeter.core.identity import request_fingerprint
from polymeter.core.request import Generate, Message, Output, Request, Response
from polymeter.models.gemini.wire import read_output
from polymeter.models.openai.answers import read_outputs
from polymeter.models.openai.responses import read_response as read_items
from polymeter.run.dispatch.answers import checked
from polymeter.store.wire import read_response, write_response

ASKED = Request((Message("user", (Text("What?"),)),), Generate(tools=(Tool("crop"),)))
odd: Any = st.sampled_from(
    [None, "", 0, 1.5, True, [], {}, "x", [1], {"a": 1}, "{", '{"a": 1}', {"name": "f"}, {"name": 3, "args": [1]}]
)
functions = odd | st.fixed_dictionaries({"name": odd, "arguments": odd})
chat_calls = odd | st.lists(odd | st.fixed_dictionaries({"id": odd, "function": functions, "extra": odd}), max_size=3)
items = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["function_call", "message", "reasoning", None]),
        **dict.fromkeys(("call_id", "name", "arguments", "content", "summary", "encrypted_content"), odd),
    }
)
parts = st.fixed_dictionaries({"functionCall": odd | st.fixed_dictionaries({"id": odd, "name": odd, "args": odd})})


def check(output: Output) -> None:
    """Check that a journal restores an answer so that the next request stays the same."""
    response = checked(ASKED, Response((output,)))
    if response.error is not None:
        return
    ids = [call.id for call in response.outputs[0].calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    restored = read_response(write_response(response, str), str)
    turns = [one.outputs[0].as_turn() for one in (response, restored)]
    first, second = (request_fingerprint(Request((*ASKED.messages, turn), ASKED.parameters)) for turn in turns)
    assert first == second


@given(chat_calls, odd, odd, st.sampled_from([None, "", "text"]))
def test_of_the_chat_api(calls: Any, reasoning: Any, details: Any, text: str | None) -> None:
    message = {"content": text, "tool_calls": calls, "reasoning": reasoning, "reasoning_details": details}
    try:
        outputs = read_outputs(
            {"choices": [{"message": message, "finish_reason": "tool_calls"}]}, where="w", offers_tools=True
        )
    except ModelError:
        return
    check(outputs[0])


@given(odd | st.lists(items, max_size=3), st.sampled_from(["completed", "incomplete", "failed", None]))
def test_of_the_api_of_responses(output: Any, status: Any) -> None:
    try:
        read = read_items({"status": status, "output": output}, where="w", offers_tools=True)
    except ModelError:
        return
    check(read)


@given(st.lists(parts, max_size=3), st.sampled_from(["STOP", "MAX_TOKENS", None]))
def test_of_gemini(written: Any, reason: Any) -> None:
    answer = {"candidates": [{"content": {"parts": written}, "finishReason": reason}]}
    try:
        read = read_output(answer, where="w", offers_tools=True)
    except ModelError:
        return
    check(read)


def test_a_summary_that_is_no_list_is_no_reasoning() -> None:
    item = {"type": "reasoning", "summary": 1.5, "content": "x"}
    call = {"type": "function_call", "call_id": "a", "name": "crop", "arguments": "{}"}
    read = read_items({"status": "completed", "output": [item, call]}, where="w", offers_tools=True)
    assert (read.reasoning, read.calls[0].arguments) == (None, {})
    with pytest.raises(ModelError, match="has no output"):
        read_items({"status": "completed", "output": "x"}, where="w")
