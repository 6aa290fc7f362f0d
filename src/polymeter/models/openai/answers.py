"""From an endpoint's JSON to outputs. A refusal or a broken answer becomes an error, never an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.request import Output, Usage
from polymeter.models.endpoint.errors import error_of
from polymeter.models.openai.content import dumps

_LENGTH_REASONS = ("max_tokens", "max_output_tokens", "max_completion_tokens")


def read_outputs(payload: Mapping[str, Any], *, where: str) -> list[Output]:
    """The outputs of a chat or of a completion, in the order of their index. The first holds the usage of all.

    Raises:
        ModelError: if there are none, or the model declined.
    """
    outputs = [_output(choice, where) for choice in choices_of(payload, where=where)]
    return [replace(outputs[0], usage=usage_of(payload)), *outputs[1:]]


def choices_of(payload: Mapping[str, Any], *, where: str) -> list[dict[str, Any]]:
    """The choices of an answer, in the order of their index.

    Raises:
        ModelError: if there are none, which may be transient.
    """
    choices = payload.get("choices")
    valid = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if not valid:
        raise ModelError("The endpoint's answer has no choices.", kind="transient", where=where)
    return sorted(valid, key=lambda choice: choice.get("index") or 0)


def usage_of(payload: Mapping[str, Any]) -> Usage | None:
    """The tokens of an answer; ``None`` if the endpoint does not count them."""
    counts = payload.get("usage")
    if not isinstance(counts, dict):
        return None
    return Usage(
        _count(counts, "prompt_tokens", "input_tokens"),
        _count(counts, "completion_tokens", "output_tokens"),
        _count(counts.get("completion_tokens_details"), "reasoning_tokens"),
        _count(counts.get("prompt_tokens_details"), "cached_tokens"),
    )


def _output(choice: Mapping[str, Any], where: str) -> Output:
    reason = choice.get("finish_reason")
    if choice.get("error"):
        raise error_of(200, {}, dumps({"error": choice["error"]}).decode(), where=where)
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {"content": choice.get("text")}
    if message.get("refusal"):
        raise ModelError(f"The model declined: {str(message['refusal'])[:300]}", kind="refused", where=where)
    if reason == "content_filter":
        raise ModelError("The endpoint's filter ended the answer.", kind="refused", where=where)
    if reason in ("abort", "error"):
        raise ModelError("The endpoint broke the answer off.", kind="transient", where=where)
    text, thoughts = _split(message.get("content"))
    reasoning = message.get("reasoning_content") or message.get("reasoning") or thoughts
    calls = message.get("tool_calls")
    return Output(
        text,
        reasoning=reasoning if isinstance(reasoning, str) else None,
        tool_calls=tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else (),
        finish_reason="length" if reason in _LENGTH_REASONS else reason,
    )


def _split(content: Any) -> tuple[str, str | None]:
    """Text and reasoning of a message's content, which is a text, a list of parts, or nothing."""
    if not isinstance(content, list):
        return ("" if content is None else str(content)), None
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("text")
            thoughts.append(_split(inner)[0])
        elif isinstance(part, dict):
            texts.append(str(part.get("text") or ""))
    return "".join(texts), "".join(thoughts) or None


def _count(counts: Any, *names: str) -> int | None:
    values = (counts.get(name) for name in names) if isinstance(counts, dict) else ()
    return next((value for value in values if isinstance(value, int)), None)
