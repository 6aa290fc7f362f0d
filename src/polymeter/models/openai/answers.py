"""From an endpoint's JSON to outputs. A refusal or a broken answer becomes an error, never an answer.

An answer may be empty: the content is an empty text, or the model ended its turn (``finish_reason``) without any, for
example because all tokens went into reasoning. Nothing else is read as an empty answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

from polymeter.core.acting.tools import stored_calls
from polymeter.core.errors import ModelError
from polymeter.core.request import Output, Usage
from polymeter.models.endpoint.errors import error_of
from polymeter.models.endpoint.shapes import amount, count, incomplete, kind_of, malformed, only_calls
from polymeter.models.openai.content import BESIDE_CALLS, dumps
from polymeter.models.tool_texts import PARSER_HINT, from_leftover, looks_unread

_LENGTH_REASONS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
_CALL_REASONS = ("tool_calls", "function_call")
_BROKEN_REASONS = ("abort", "cancelled", "error", "insufficient_system_resource", "timeout")
_CARRIED = ("reasoning_content", "reasoning", "reasoning_details")
_OF_CALLS = frozenset({"id", "type", "function", "index"})
_TICK = 1e-10
_REASONING_TYPES = ("thinking", "reasoning")


def read_outputs(
    payload: Mapping[str, Any], *, where: str, offers_tools: bool = False, draws: bool = False
) -> list[Output]:
    """The outputs of a chat or of a completion, in the order of their index. The first holds the usage of all.

    Args:
        payload: The JSON.
        where: The endpoint, for messages.
        offers_tools: Whether the model may answer with tool calls only.
        draws: Whether an image was requested, so that text is not required.

    Raises:
        ModelError: if there are none, one is not in the API's form, or the model declined.
    """
    usages = chain((usage_of(payload),), repeat(None))
    return [
        _output(choice, usage, where, offers_tools=offers_tools, draws=draws)
        for choice, usage in zip(choices_of(payload, where=where), usages, strict=False)
    ]


def with_unread_calls(output: Output, *, where: str) -> Output:
    """Return an output with the calls that a server's parser let through in its text, because they are malformed.

    Raises:
        ModelError: if a call is well-formed, so that the server has no parser.
    """
    if output.calls or not output.text:
        return output
    if looks_unread(output.text):
        raise ModelError(
            "The server returned a call of a tool as text: it has no parser for the calls of its model.",
            where=where,
            hint=PARSER_HINT,
        )
    return from_leftover(output)


def choices_of(payload: Mapping[str, Any], *, where: str) -> list[dict[str, Any]]:
    """Return the choices of an answer, in the order of their index.

    Raises:
        ModelError: if there are none, which may be transient.
    """
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ModelError("The endpoint's answer has no choices.", kind="transient", where=where)
    for choice in choices:
        if not isinstance(choice, dict):
            raise incomplete(f"a choice is {kind_of(choice)}", where=where)
    return sorted(choices, key=_index)


def usage_of(payload: Mapping[str, Any]) -> Usage | None:
    """The tokens of an answer; ``None`` if the endpoint does not count them."""
    counts = payload.get("usage")
    if not isinstance(counts, dict):
        return None
    sent = counts.get("prompt_tokens_details") or counts.get("input_tokens_details")
    answered = counts.get("completion_tokens_details") or counts.get("output_tokens_details")
    prompt = count(counts, "prompt_tokens", "input_tokens")
    read = count(sent, "cached_tokens")
    written = count(sent, "cache_write_tokens", "cache_creation_tokens")
    read = count(counts, "prompt_cache_hit_tokens") if read is None else read
    is_named_apart = read is None and written is None
    read = count(counts, "cache_read_input_tokens") if read is None else read
    written = count(counts, "cache_creation_input_tokens") if written is None else written
    cached = (read or 0) + (written or 0)
    # With Anthropic's names, cached tokens are not part of the prompt. Nor are they if they are more than the prompt.
    if prompt is not None and (is_named_apart or cached > prompt):
        prompt += cached
    tier = payload.get("service_tier")
    return Usage(
        prompt,
        count(counts, "completion_tokens", "output_tokens"),
        count(answered, "reasoning_tokens"),
        read,
        written,
        count(sent, "audio_tokens"),
        count(sent, "image_tokens"),
        count(answered, "image_tokens"),
        _stated_cost(counts),
        tier if isinstance(tier, str) and tier else None,
    )


def _stated_cost(counts: Mapping[str, Any]) -> float | None:
    """Return the cost of an answer in US dollars, if the endpoint states it: OpenRouter under ``cost``, with that of
    the user's own key at the provider apart; Perplexity as a mapping; DeepInfra as ``estimated_cost``; xAI in units of
    1e-10 dollars.
    """
    own = counts.get("cost")
    if isinstance(own, Mapping):
        return amount(own.get("total_cost"))
    cost = amount(own)
    if cost is not None and counts.get("is_byok"):
        details = counts.get("cost_details")
        upstream = amount(details.get("upstream_inference_cost")) if isinstance(details, Mapping) else None
        return None if upstream is None else cost + upstream
    if cost is None:
        cost = amount(counts.get("estimated_cost"))
    ticks = amount(counts.get("cost_in_usd_ticks"))
    return cost if cost is not None or ticks is None else ticks * _TICK


def _index(choice: Mapping[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _output(choice: Mapping[str, Any], usage: Usage | None, where: str, *, offers_tools: bool, draws: bool) -> Output:
    told = choice.get("finish_reason")
    reason = told if isinstance(told, str) and told else None
    if choice.get("error"):
        raise error_of(200, {}, dumps({"error": choice["error"]}).decode(), where=where)
    message = _message_of_choice(choice, where)
    if message.get("refusal"):
        raise ModelError(f"The model declined: {str(message['refusal'])[:300]}", kind="refused", where=where)
    if reason == "content_filter":
        raise ModelError("The endpoint's filter ended the answer.", kind="refused", where=where)
    if reason in _BROKEN_REASONS:
        raise ModelError("The endpoint broke the answer off.", kind="transient", where=where)
    text, thoughts = _split(message.get("content"), where, draws=draws)
    reasoning = message.get("reasoning_content") or message.get("reasoning") or thoughts
    calls = stored_calls(message.get("tool_calls"))
    if not text and not draws:
        is_call = calls or message.get("function_call") or reason in _CALL_REASONS
        if is_call and not offers_tools:
            raise only_calls(where=where)
        if text is None and reason is None and not is_call:
            raise incomplete("neither a text nor why the model stopped", where=where)
    return Output(
        text or "",
        reasoning=reasoning if isinstance(reasoning, str) else None,
        calls=calls,
        finish_reason="length" if reason in _LENGTH_REASONS else reason,
        usage=usage,
        carried=_carried(message) if calls else None,
    )


def _carried(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields that a server requires back with a turn that calls tools: reasoning by the server's own name for it,
    and fields beside the calls, such as the signatures of Gemini's models behind this API.
    """
    carried = {name: message[name] for name in _CARRIED if message.get(name)}
    beside = [
        {name: value for name, value in call.items() if name not in _OF_CALLS}
        for call in message["tool_calls"]
        if isinstance(call, dict)
    ]
    return {**carried, **({BESIDE_CALLS: beside} if any(beside) else {})} or None


def _message_of_choice(choice: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The message of a chat, or the text of a completion as the content of one."""
    message = choice.get("message")
    if isinstance(message, dict) and message:
        return message
    if message is None and "text" in choice:
        return {"content": choice["text"]}
    if message is None or message == {}:
        raise incomplete("a choice without a message", where=where)
    raise malformed(f"the message is {kind_of(message)}", where=where)


def _split(content: Any, where: str, *, draws: bool) -> tuple[str | None, str | None]:
    """Text and reasoning of a message's content, which is a text, a list of parts, or nothing; the text is ``None`` if
    the content has none. Other parts (citations, images) may stand beside the text, but not instead of it.
    """
    if content is None or isinstance(content, str):
        return content, None
    if not isinstance(content, list):
        raise malformed(f"the content is {kind_of(content)}", where=where)
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        is_thought = isinstance(part, dict) and part.get("type") in _REASONING_TYPES
        if isinstance(part, str):
            texts.append(part)
        elif is_thought:
            thoughts.append(_split(part.get("thinking") or part.get("text"), where, draws=True)[0] or "")
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif not isinstance(part, dict) or "text" in part:
            raise malformed("a part of the content has no text", where=where)
    if content and not texts and not thoughts and not draws:
        raise malformed("no part of the content is text", where=where)
    return "".join(texts) if texts else None, "".join(thoughts) or None
