"""Turns of a conversation asked of a wrapper: its ``chat`` gets all turns so far, as ``role`` and ``content``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.request import Request
from polymeter.interop.ulmeval.models.base import CHAT_FAILED, BaseAPI
from polymeter.interop.ulmeval.models.hooks import own_hook
from polymeter.tasks.table.items import Item
from polymeter.tasks.table.turns import TURN

_USER = "user"


def is_chat(wrapper: Any, request: Request) -> bool:
    """Return whether a request is a turn of a conversation that a wrapper's ``chat`` answers: one with its own
    ``chat_inner``, or of an endpoint. Any other gets the turns as items with roles.
    """
    is_turn = request.origin is not None and TURN in request.origin.metadata
    return is_turn and (isinstance(wrapper, BaseAPI) or own_hook(wrapper, "chat_inner") is not None)


def chat_answer(wrapper: Any, items: Iterable[Item], dataset: str | None) -> Any:
    """The answer of a wrapper's ``chat`` to the turns that items make.

    Args:
        wrapper: The wrapper.
        items: The items of all turns so far; one without ``role`` is the user's.
        dataset: The benchmark's name.

    Raises:
        ModelError: if the wrapper reports that it could not answer.
    """
    turns = [
        {"role": role, "content": [{key: value for key, value in item.items() if key != "role"} for item in own]}
        for role, own in groupby(items, key=lambda item: item.get("role", _USER))
    ]
    answer = wrapper.chat(turns, dataset=dataset)
    if isinstance(answer, str) and answer in (CHAT_FAILED, getattr(wrapper, "fail_msg", CHAT_FAILED)):
        raise ModelError(f"The chat of {type(wrapper).__name__} failed: {answer}")
    return answer
