"""Pieces of messages: texts cut to a length, and names in a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def clip(text: str, length: int) -> str:
    """A text of at most ``length`` characters; where it is cut, the last one is an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def clip_line(text: str, length: int) -> str:
    """As ``clip``, with one space in place of each run of white space."""
    return clip(" ".join(text.split()), length)


def quoted(value: object, length: int) -> str:
    """A value as text, as by ``clip_line``, in quotes."""
    return repr(clip_line(str(value), length))


def in_words(items: Iterable[str], word: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``. There is at least one."""
    *others, last = items
    return f"{', '.join(others)} {word} {last}" if others else last


def first_of(names: Sequence[str], n: int) -> str:
    """The first ``n`` names, separated by commas; an ellipsis stands for further ones."""
    return ", ".join(names[:n]) + (", …" if len(names) > n else "")
