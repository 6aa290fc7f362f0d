"""Conversations in the form of OpenAI's API, as records of benchmarks hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.interop.evalscope.v1.types.content import (
    Content,
    ContentAudio,
    ContentBase,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentVideo,
)
from polymeter.interop.evalscope.v1.types.messages import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    parse_content_with_reasoning,
)
from polymeter.interop.evalscope.v1.types.tools import parse_tool_call
from polymeter.interop.evalscope.v1.utils.uris import guess_video_format


def chat_messages_from_openai(model: str, messages: Sequence[Mapping[str, Any]]) -> list[ChatMessage]:
    """The messages of a conversation.

    Args:
        model: The name of the model that has answered in it.
        messages: The messages as dictionaries.

    Raises:
        ValueError: if a role or a part is unknown.
    """
    tool_names: dict[str, str] = {}
    return [_message(model, message, tool_names) for message in messages]


def content_from_openai(content: Any, parse_reasoning: bool = False) -> list[Content]:
    """The part of a message, or two where a text holds reasoning and that is to be found.

    Args:
        content: The part as a dictionary; one that is read already is unchanged.
        parse_reasoning: Whether to look for ``<think>``.

    Raises:
        ValueError: if its type is unknown.
    """
    if isinstance(content, ContentBase):
        return [content]  # type: ignore[list-item]
    kind = content.get("type") or (next(iter(content)) if len(content) == 1 else None)
    if kind == "text":
        text, reasoning = parse_content_with_reasoning(content["text"]) if parse_reasoning else (content["text"], None)
        return [*([reasoning] if reasoning else []), ContentText(text=text)]
    if kind == "reasoning":
        return [ContentReasoning(reasoning=content["reasoning"])]
    if kind == "refusal":
        return [ContentText(text=content["refusal"], refusal=True)]
    if kind == "image_url":
        return [ContentImage(image=content[kind]["url"], detail=content[kind].get("detail", "auto"))]
    if kind == "input_audio":
        return [ContentAudio(audio=content[kind]["data"], format=content[kind]["format"])]
    if kind == "video_url":
        named = content[kind] if isinstance(content[kind], Mapping) else {"url": content[kind]}
        form: Any = named.get("format") or guess_video_format(named["url"])
        return [ContentVideo(video=named["url"], format=form, **_timing(named))]
    raise ValueError(f"A message has a part of the unknown type {kind!r}.")


def _timing(video: Mapping[str, Any]) -> dict[str, Any]:
    return {name: video.get(name) for name in ("start", "end", "fps")}


def _message(model: str, message: Mapping[str, Any], tool_names: dict[str, str]) -> ChatMessage:
    role, content = message["role"], message.get("content")
    if role in ("system", "developer"):
        return ChatMessageSystem(content=_parts(content))
    if role == "user":
        return ChatMessageUser(content=_parts(content))
    if role == "tool":
        call = message["tool_call_id"]
        said = parse_content_with_reasoning(content or "")[0] if isinstance(content or "", str) else _parts(content)
        return ChatMessageTool(content=said, tool_call_id=call, function=tool_names.get(call, ""))
    if role != "assistant":
        raise ValueError(f"A message has the unknown role {role!r}.")
    calls = [
        parse_tool_call(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    tool_names.update((call.id, call.function.name) for call in calls)
    return ChatMessageAssistant(content=_answer(message), tool_calls=calls or None, model=model, source="generate")


def _parts(content: Any, *, parse_reasoning: bool = False) -> Any:
    if isinstance(content, str):
        return content
    return [part for each in content for part in content_from_openai(each, parse_reasoning)]


def _answer(message: Mapping[str, Any]) -> Any:
    content, refusal = message.get("content"), None
    answer: Any
    if content is None:
        answer = message.get("refusal") or ""
        refusal = True if answer else None
    elif isinstance(content, str):
        text, thought = parse_content_with_reasoning(content)
        answer = [thought, ContentText(text=text)] if thought else text
    else:
        answer = _parts(content, parse_reasoning=True)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning is None:
        return answer
    said = [ContentText(text=answer, refusal=refusal)] if isinstance(answer, str) else answer
    return [ContentReasoning(reasoning=str(reasoning)), *said]
