"""Reasoning as code written for task YAML expects it to be removed: between tags, and behind the task's filters.

Answers that Polymeter scores itself come without their reasoning (``polymeter.reading``). A task's own
``process_results`` gets the text that its system would pass: an answer whose reasoning was never ended stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymeter.core.request import Tags

TAGS: Tags = (("<think>", "</think>"), ("<analysis>", "</analysis>"))
"""The pairs of an opening and a closing tag that count if a task names none."""


def make_stripper(tags: Tags | None) -> Callable[[Any], Any]:
    """A function that removes reasoning and surrounding white space from a text, or from each text of a list. Without
    tags it changes nothing; ``None`` stands for the usual ones.
    """
    pairs = TAGS if tags is None else tags

    def strip(value: Any) -> Any:
        if isinstance(value, str):
            return strip_reasoning(value, pairs)
        return [strip(item) for item in value] if isinstance(value, list) else value

    return strip if pairs else lambda value: value


def strip_reasoning(text: str, tags: Tags = TAGS) -> str:
    """The text without its reasoning and surrounding white space.

    For one pair of tags after the other: the text between an opening and the next closing tag is removed, and where no
    opening tag is left, everything up to the last closing one. A closing tag in a text that still has an opening one
    stays.
    """
    for opening, closing in tags:
        if closing not in text:
            continue
        text = _without_pairs(text, opening, closing)
        if opening not in text:
            text = text.rpartition(closing)[2]
    return text.strip()


def _without_pairs(text: str, opening: str, closing: str) -> str:
    """The text without its leftmost pair of tags, and so on until none is left.

    What is left on both sides of a pair may form another opening tag; it counts, as it would if the text were searched
    from its beginning after each removal, which for a hostile answer would take quadratic time.
    """
    kept: list[str] = []
    position, reach = 0, len(opening) - 1
    while True:
        tail = _last_characters(kept, reach)
        formed = (tail + text[position : position + reach]).find(opening)
        n_undone = len(tail) - formed if formed >= 0 else 0
        start = position if n_undone else text.find(opening, position)
        end = text.find(closing, start + len(opening) - n_undone) if start >= 0 else -1
        if end < 0:
            return "".join((*kept, text[position:]))
        _drop_characters(kept, n_undone)
        if start > position:
            kept.append(text[position:start])
        position = end + len(closing)


def _last_characters(pieces: list[str], n: int) -> str:
    tail = ""
    for piece in reversed(pieces):
        if len(tail) >= n:
            break
        tail = piece[-n:] + tail
    return tail[-n:] if n else ""


def _drop_characters(pieces: list[str], n: int) -> None:
    while n:
        last = pieces.pop()
        if len(last) > n:
            pieces.append(last[:-n])
        n -= min(n, len(last))
