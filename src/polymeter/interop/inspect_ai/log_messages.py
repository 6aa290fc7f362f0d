"""The conversation of a sample of Inspect: what was asked and answered, with long texts put back in their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.acting.tools import Call, logged_call
from polymeter.core.logs import LoggedExchange, LoggedMedium, LoggedMessage, LoggedOutput
from polymeter.core.records.log_values import logged_settings

_SETTINGS = {"max_tokens": "max_new_tokens", "stop_seqs": "stop", "temperature": "temperature", "top_p": "top_p"}
_RUNNING = ("max_connections", "max_retries", "timeout", "attempt_timeout")
_ATTACHED = "attachment://"


def exchange_of(sample: Mapping[str, Any], header: Mapping[str, Any]) -> LoggedExchange | None:
    """The last answer of a sample and the conversation that led to it; ``None`` if there is no answer."""
    attachments = sample.get("attachments") or {}
    messages = list(sample.get("messages") or ())
    output = sample.get("output") or {}
    choices = output.get("choices") or ()
    if not choices:
        return None
    last = max((place for place, one in enumerate(messages) if one.get("role") == "assistant"), default=len(messages))
    answer = choices[0].get("message") or {}
    usage = output.get("usage") or {}
    text, reasoning = _answer_text(answer.get("content"), attachments)
    stop = choices[0].get("stop_reason")
    config = {**(header["eval"].get("model_generate_config") or {}), **_plan_config(header)}
    return LoggedExchange(
        (
            LoggedOutput(
                text=text,
                reasoning=reasoning,
                finish_reason="length" if stop == "max_tokens" else stop,
                input_tokens=usage.get("input_tokens"),
                output_tokens=usage.get("output_tokens"),
                reasoning_tokens=usage.get("reasoning_tokens"),
                calls=_logged_calls(answer),
            ),
        ),
        tuple(_logged_message(message, attachments) for message in messages[:last]),
        settings=logged_settings(config, _SETTINGS, _RUNNING),
    )


def _plan_config(header: Mapping[str, Any]) -> Mapping[str, Any]:
    return (header.get("plan") or {}).get("config") or {}


def _answer_text(content: Any, attachments: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The text of an answer, and the reasoning that is set apart from it."""
    if not isinstance(content, list):
        return (None if content is None else _resolved(str(content), attachments)), None
    texts = [_resolved(str(part.get("text") or ""), attachments) for part in content if part.get("type") == "text"]
    reasoning = [
        _resolved(str(part.get("reasoning") or ""), attachments) for part in content if part.get("type") == "reasoning"
    ]
    return "".join(texts), "".join(reasoning) or None


def _logged_message(message: Mapping[str, Any], attachments: Mapping[str, str]) -> LoggedMessage:
    """A turn. What tools answered is a turn of their own."""
    role, content = str(message.get("role")), message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return LoggedMessage(
        role if role in ("system", "assistant", "tool") else "user",
        tuple(_logged_part(part, attachments) for part in parts),
        _logged_calls(message),
        str(message.get("tool_call_id") or ""),
    )


def _logged_calls(message: Mapping[str, Any]) -> tuple[Call, ...]:
    return tuple(
        logged_call(call.get("id"), call.get("function"), call.get("arguments"), call.get("parse_error"))
        for call in message.get("tool_calls") or ()
    )


def _logged_part(part: Mapping[str, Any], attachments: Mapping[str, str]) -> str | LoggedMedium:
    kind = part.get("type")
    if kind not in ("image", "audio", "video"):
        return _resolved(str(part.get("text") or part.get("reasoning") or ""), attachments)
    source = _resolved(str(part.get(kind) or ""), attachments)
    return LoggedMedium(kind, "" if source.startswith(("data:", _ATTACHED)) else source)


def _resolved(text: str, attachments: Mapping[str, str]) -> str:
    """A text that the log keeps apart because it is long."""
    return attachments.get(text.removeprefix(_ATTACHED), text) if text.startswith(_ATTACHED) else text


def turns_of(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Turns as plain data, with a word in place of each medium."""
    return [
        {
            "role": message.role,
            "content": [part if isinstance(part, str) else f"[{part.kind}]" for part in message.parts],
        }
        for message in (_logged_message(one, {}) for one in messages)
    ]
