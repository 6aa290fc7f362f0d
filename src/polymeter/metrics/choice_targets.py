"""Reading of a target as choices of a question: by index, by text, or by letter.

A target that names no choice is an error and not a wrong answer, since no model could ever be right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from polymeter.core.errors import ScoreError, did_you_mean

COLUMN = "COLUMN"
"""A placeholder for the column with the target in the hint of an error; the caller may know its name."""
NO_CHOICE = -100
"""The index of an item that names no choice, in a list with another item that names one."""

_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]{0,2}")
_WAYS = "Write the index of a choice (from 0), its exact text, or its letter."
_FROM_ONE = f'for numbers that count from 1: doc_to_target: "{{{{ {COLUMN}|int - 1 }}}}"'
_MOST_SHOWN = 6
_LONGEST = 40


def choice_indices(target: Any, choices: Sequence[str]) -> list[int]:
    """Return the indices of the choices that a target names; several if it is a list.

    An index comes first, then a text that equals a choice, then such a text apart from outer white space, then a letter
    (``B``, ``b``, ``(B)``, ``B.``). A text of digits that equals no choice is not an index, because it could count from
    0 or from 1. In a list, items that name no choice are ``NO_CHOICE`` if another item names one. Numbers and arrays of
    NumPy count as their content.

    Raises:
        ScoreError: if it names no choice.
    """
    target = _unpacked(target)
    items = list(target) if isinstance(target, (list, tuple)) else [target]
    indices = [_index(item, choices) for item in items]
    if all(index == NO_CHOICE for index in indices):
        raise ScoreError(_what(target, choices), hint=_hint(items[0] if items else None, choices))
    return indices


def _unpacked(value: Any) -> Any:
    """Return a number of NumPy as Python's own type, and an array as a list."""
    return value.tolist() if hasattr(value, "dtype") else value


def _index(item: Any, choices: Sequence[str]) -> int:
    item = _unpacked(item)
    if isinstance(item, float) and item.is_integer():
        item = int(item)  # a column of whole numbers with a gap is read as floats
    if isinstance(item, int):
        return int(item) if 0 <= item < len(choices) else NO_CHOICE
    if not isinstance(item, str):
        return NO_CHOICE
    if item in choices:
        return choices.index(item)
    bare, texts = item.strip(), [choice.strip() for choice in choices]
    if bare and texts.count(bare) == 1:
        return texts.index(bare)
    return _by_letter(bare, texts)


def _by_letter(text: str, choices: Sequence[str]) -> int:
    letter = letter_of(text)
    if not letter:
        return NO_CHOICE
    letters = [letter_of(choice) for choice in choices]
    if all(letters):  # the choices are letters themselves, in their own order
        return letters.index(letter) if letters.count(letter) == 1 else NO_CHOICE
    index = ord(letter) - ord("A")
    return index if index < len(choices) else NO_CHOICE


def letter_of(text: str) -> str:
    """Return the capital letter that a text stands for (``b``, ``(B)``, ``B.``); empty if it is not a letter."""
    match = _LETTER.fullmatch(text)
    return match[1].upper() if match else ""


def _what(target: Any, choices: Sequence[str]) -> str:
    shown = [f"{chr(ord('A') + i)} {_clipped(choice)}" for i, choice in enumerate(choices[:_MOST_SHOWN])]
    listed = ", ".join([*shown, *(["…"] if len(choices) > _MOST_SHOWN else [])])
    return f"The target {_clipped(target)} names none of the {len(choices)} choices: {listed}."


def _hint(item: Any, choices: Sequence[str]) -> str:
    if isinstance(item, str) and item.strip().isdecimal():
        return f'For an index from 0, write doc_to_target: "{{{{ {COLUMN} }}}}"; {_FROM_ONE}.'
    if isinstance(item, int):
        last = f"Indices count from 0, so the last one is {len(choices) - 1}; {_FROM_ONE}."
        if str(item) in choices:
            return f"{last} For the text of a choice, store it as text ({str(item)!r}) and name the column itself."
        return last
    near = did_you_mean(item, choices) if isinstance(item, str) else ""
    return f"{near} {_WAYS}".strip()


def _clipped(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
