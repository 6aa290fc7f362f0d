"""``utils`` of both tools: the helpers that are the same in both."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

T = TypeVar("T")


def hash_string(string: str) -> str:
    """The SHA-256 digest of a text."""
    return hashlib.sha256(string.encode("utf-8")).hexdigest()


def sanitize_list(sub: Any) -> Any:
    """A nested list or tuple with all its items as texts."""
    if isinstance(sub, (list, tuple)):
        return type(sub)(sanitize_list(item) for item in sub)
    return str(sub)


def sanitize_task_name(task_name: str) -> str:
    """A task's name as part of a file's."""
    return re.sub(r"\W", "_", task_name)


def join_iters(iters: Iterable[Iterable[T]]) -> Iterator[T]:
    """The items of all iterables, one after the other."""
    return chain.from_iterable(iters)
