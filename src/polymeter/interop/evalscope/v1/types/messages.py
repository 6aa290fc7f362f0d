"""Messages of a conversation, and ways to write one as text."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, JsonValue, model_validator

from polymeter.interop.evalscope.v1.types.content import (
    Content,
    ContentAudio,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentVideo,
)
from polymeter.interop.evalscope.v1.types.performance import PerformanceMetrics
from polymeter.interop.evalscope.v1.types.tools import ToolCall, ToolCallError

_THOUGHT = re.compile(r'<think(?:\s+signature="([^"]*)")?(?:\s+redacted="(true)")?\s*>(.*?)</think>', re.DOTALL)


class ChatMessageBase(BaseModel):
    """A message of any role.

    Attributes:
        id: Eight random hexadecimal digits, unless given.
        content: A text, or parts.
        source: Whether it was written by the author or by the model.
        metadata: Whatever the author likes.
        internal: What a provider wants to have back, unchanged.
        perf_metrics: Times and token counts of an answer.
    """

    id: str | None = None
    content: str | list[Content]
    source: Literal["input", "generate"] | None = None
    metadata: dict[str, Any] | None = None
    internal: JsonValue | None = None
    perf_metrics: PerformanceMetrics | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Give it an id."""
        if self.id is None:
            self.id = uuid.uuid4().hex[:8]

    @property
    def text(self) -> str:
        """The text, or the texts among the parts, joined by line breaks. Reasoning is not among them."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, ContentText))

    @text.setter
    def text(self, text: str) -> None:
        """Put a text in place of all texts; it stands after the other parts."""
        if isinstance(self.content, str):
            self.content = text
        else:
            others = [part for part in self.content if not isinstance(part, ContentText)]
            self.content = [*others, ContentText(text=text)]


class ChatMessageSystem(ChatMessageBase):
    """A system message."""

    role: Literal["system"] = "system"


class ChatMessageUser(ChatMessageBase):
    """A user's message; ``tool_call_id``: the calls that it answers."""

    role: Literal["user"] = "user"
    tool_call_id: list[str] | None = None


class ChatMessageAssistant(ChatMessageBase):
    """A model's message. The first closed ``<think>`` part of a text, and a field ``reasoning``, become parts."""

    role: Literal["assistant"] = "assistant"
    tool_calls: list[ToolCall] | None = None
    model: str | None = None

    @model_validator(mode="before")
    @classmethod
    def extract_reasoning(cls, data: Any) -> Any:
        """Move reasoning out of the text."""
        if not isinstance(data, dict):
            return data
        content = data.get("content")
        if isinstance(content, str):
            text, thought = parse_content_with_reasoning(content)
            if thought is not None:
                data["content"] = [thought, ContentText(text=text)]
        reasoning = data.get("reasoning")
        if isinstance(reasoning, str):
            content = data.get("content")
            parts = [ContentText(text=content)] if isinstance(content, str) else content
            data["content"] = [ContentReasoning(reasoning=reasoning), *(parts if isinstance(parts, list) else [])]
            del data["reasoning"]
        return data


class ChatMessageTool(ChatMessageBase):
    """The reply of a tool to a call."""

    role: Literal["tool"] = "tool"
    tool_call_id: str | None = None
    function: str | None = None
    error: ToolCallError | None = None


ChatMessage = ChatMessageSystem | ChatMessageUser | ChatMessageAssistant | ChatMessageTool
_OF_ROLE: dict[str, type[ChatMessageBase]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
    "tool": ChatMessageTool,
}


def parse_content_with_reasoning(content: str) -> tuple[str, ContentReasoning | None]:
    """Return a text without its first closed ``<think>`` part, and that part; the text unchanged if it has none."""
    found = _THOUGHT.search(content)
    if found is None:
        return content, None
    signature, redacted, reasoning = found.groups()
    rest = (content[: found.start()] + content[found.end() :]).strip()
    return rest, ContentReasoning(reasoning=reasoning.strip(), signature=signature, redacted=redacted == "true")


def dict_to_chat_message(data: Any) -> ChatMessage:
    """Return the message that a dictionary with a ``role`` describes; a message is returned unchanged.

    Raises:
        ValueError: if there is no role, or an unknown one.
    """
    if isinstance(data, ChatMessageBase):
        return data  # type: ignore[return-value]
    if "role" not in data:
        raise ValueError('ChatMessage must have a "role" field')
    if data["role"] not in _OF_ROLE:
        raise ValueError(f"Unknown chat message role: {data['role']}")
    return _OF_ROLE[data["role"]].model_validate(data)  # type: ignore[return-value]


def messages_pretty_str(messages: Iterable[ChatMessage]) -> str:
    """Write a conversation as text: ``**Role**: text``, with blank lines between; media is left out."""
    return "\n\n".join(f"**{message.role.capitalize()}**: {message.text}{_of_tool(message)}" for message in messages)


def _of_tool(message: ChatMessage) -> str:
    if not isinstance(message, ChatMessageTool):
        return ""
    error = f"\nError: {message.error.message}" if message.error else ""
    return error + (f"\nFunction: {message.function}" if message.function else "")


def messages_to_markdown(messages: Iterable[ChatMessage], max_length: int | None = None) -> str:
    """Write a conversation as Markdown, media as links or elements.

    Args:
        messages: The conversation.
        max_length: Characters after which an address is cut; paths of files are not.
    """
    return "\n\n".join("\n".join(_markdown_parts(message, max_length)) for message in messages)


def _markdown_parts(message: ChatMessage, max_length: int | None) -> list[str]:
    parts = [message.content] if isinstance(message.content, str) else []
    if not isinstance(message.content, str):
        shown = (_markdown_part(part, max_length) for part in message.content)
        parts.extend(part for part in shown if part is not None)
    if isinstance(message, ChatMessageTool):
        parts.extend([f"**Error:** {message.error.message}"] if message.error else [])
        parts.extend([f"**Function:** {message.function}"] if message.function else [])
    elif isinstance(message, ChatMessageAssistant):
        parts.extend(f"**Tool Call:** {call.function}" for call in message.tool_calls or [])
    return parts


def _markdown_part(part: Content, max_length: int | None) -> str | None:
    if isinstance(part, ContentText):
        return part.text
    if isinstance(part, ContentReasoning):
        return f"**Reasoning:** {part.reasoning}"
    if isinstance(part, ContentImage):
        address, is_file = _address(part.image, max_length)
        return f"![image](<{address}>)" if is_file else f"![image]({address})"
    if isinstance(part, ContentAudio):
        return f"<audio controls src='{_address(part.audio, max_length)[0]}'></audio>"
    if isinstance(part, ContentVideo):
        return f"<video controls src='{_address(part.video, max_length)[0]}'></video>"
    return None


def _address(media: str, max_length: int | None) -> tuple[str, bool]:
    """The address of media as it is shown, and whether it is a file's path, which is never cut."""
    if os.path.isfile(media):
        return os.path.abspath(media), True
    return (media[:max_length] if max_length else media), False
