"""Where a text mentions the letters of choices: the parts that the answer readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

LETTERS = "ABCDEFGH"


class Mention(NamedTuple):
    """A letter, where it stands, and how much its form tells (higher is more)."""

    letter: str
    position: int
    rank: int


def stripped(text: str, marks: Iterable[str]) -> str:
    """The text without marks around it, taken off one kind after the other, between two blanks."""
    for mark in marks:
        text = text.strip(mark)
    return f" {text} "


def shaped(text: str, letters: Sequence[str], shapes: Iterable[tuple[str, int]]) -> Iterator[Mention]:
    """The last mention of each letter in each form; a form is written with ``@`` for the letter."""
    for shape, rank in shapes:
        for letter in letters:
            position = text.rfind(shape.replace("@", letter))
            if position >= 0:
                yield Mention(letter, position, rank)


def after(text: str, letters: Sequence[str], start: int, rank: int) -> Iterator[Mention]:
    """The first mention of each letter from a position on, in whatever form."""
    for letter in letters:
        position = text.find(letter, start)
        if position >= 0:
            yield Mention(letter, position, rank)
