r"""Lists as references: several right answers, or one answer that looks like a list.

A list of texts names several right answers: ``["couch", "sofa"]``, in the form of JSON or of Python's ``print``.
Anything else in brackets is one answer: ``[3, 5]`` is a point. An answer that is itself a list of texts is written
inside a list: ``["[\"a\", \"b\"]"]``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from typing import Any

_NOT_READABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


class PrintedList(list[Any]):
    """A list that a template printed, as the list and as its text.

    Args:
        items: Its items.
        text: The printed text.
    """

    def __init__(self, items: Iterable[Any] = (), text: str = "") -> None:
        super().__init__(items)
        self.text = text

    @property
    def is_several(self) -> bool:
        """True if it names several right answers, and is not one answer."""
        return are_several(self)


def are_several(items: Iterable[Any]) -> bool:
    """Check whether the items of a written list are separate right answers: the list is not empty, and all items are
    texts.
    """
    listed = list(items)
    return bool(listed) and all(isinstance(item, str) for item in listed)


def texts_in(text: str) -> list[str] | None:
    """Return the texts of a list of texts, or ``None`` if the text is anything else. No code in it is run."""
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            items = read(stripped)
        except _NOT_READABLE:
            continue
        return items if isinstance(items, list) and are_several(items) else None
    return None
