"""Results of tools with media, for models that accept only text from a tool.

OpenAI's chat API and most chat templates show a tool's result as text. Media then stand in a message of the user right
behind the results of the turn, each behind a line that names its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from polymeter.core.content import Part, Text
from polymeter.core.request import Message


def media_after(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return a conversation in which the results of tools are text. The media of one turn's results stand in a message
    of the user behind them; conversations without such media stay unchanged.
    """
    shown: list[Message] = []
    moved: list[Part] = []
    for message in messages:
        if message.role != "tool" and moved:
            shown.append(Message("user", tuple(moved)))
            moved = []
        if message.role != "tool" or all(isinstance(part, Text) for part in message.parts):
            shown.append(message)
            continue
        shown.append(replace(message, parts=(Text("".join(_as_texts(message))),)))
        moved += [Text(f"Result of the call {message.call_id}:")]
        moved += [part for part in message.parts if not isinstance(part, Text)]
    return (*shown, Message("user", tuple(moved))) if moved else tuple(shown)


def _as_texts(message: Message) -> Iterator[str]:
    """The texts of a result, with a mark where each medium stood."""
    for part in message.parts:
        yield part.text if isinstance(part, Text) else f"[{part.modality}: in the next message]"
