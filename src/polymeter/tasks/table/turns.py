"""Conversations: the prompt of a row is several turns, and the user's are asked one after the other, each after the
model's own answers to those before. What the row says in the assistant's place is a reference, and never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import DataError
from polymeter.core.request import Generate, Message, Origin, Request
from polymeter.core.task import RolloutSteps
from polymeter.tasks.table.items import Item, as_items, as_parts

CONVERSATION = "MT"
"""VLMEvalKit's TYPE of benchmarks whose prompts are conversations."""
TURN = "turn"
"""The key in a request's metadata under which it has the number of its turn, from 0."""
_ROLE, _CONTENT = "role", "content"
_ROLES = ("system", "user", "assistant")


def is_conversation(prompt: Any) -> bool:
    """Return whether a prompt is a list of turns, each with ``role`` and ``content``."""
    return (
        isinstance(prompt, (list, tuple))
        and bool(prompt)
        and all(isinstance(turn, Mapping) and {_ROLE, _CONTENT} <= turn.keys() for turn in prompt)
    )


def turns_of(prompt: Sequence[Mapping[str, Any]], reachable: Callable[[Item], Item]) -> tuple[Message, ...]:
    """The system's and the user's turns of a conversation.

    Args:
        prompt: The turns. A content has any form that ``as_items`` takes.
        reachable: Makes the image of an item one that can be opened.

    Raises:
        DataError: if a role is unknown, a content has another form, or the user says nothing.
    """
    turns: list[Message] = []
    for number, turn in enumerate(prompt):
        role = turn[_ROLE]
        if role not in _ROLES:
            raise DataError(
                f"Turn {number} of a conversation has the role {role!r}.", hint=f"Known: {', '.join(_ROLES)}."
            )
        if role != _ROLES[-1]:
            turns.append(Message(role, as_parts(reachable(item) for item in as_items(turn[_CONTENT]))))
    if not any(turn.role == "user" for turn in turns):
        raise DataError("The user says nothing in this conversation.", hint="Give a turn with the role 'user'.")
    return tuple(turns)


def converse(turns: Sequence[Message], parameters: Generate, seed: int, origin: Origin) -> RolloutSteps:
    """The rollout of a conversation: a request for each of the user's turns.

    Args:
        turns: The system's and the user's turns.
        parameters: The parameters of each request, without a seed.
        seed: The seed of the row.
        origin: The origin of the requests, to which the number of the turn is added.
    """
    said: list[Message] = []
    for turn in turns:
        said.append(turn)
        if turn.role == "user":
            number = sum(one.role == "user" for one in said) - 1
            about = replace(origin, metadata={**origin.metadata, TURN: number})
            response = yield Request(tuple(said), parameters.repeated(seed, 0), about)
            said.append(Message("assistant", (Text(response.text),)))
