"""Answers that name choices by their places: as letters, as numbers, or as letters before the texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from polymeter.metrics.choice_targets import letter_of
from polymeter.reading.choices import option_labels
from polymeter.tasks.choices.cells import OptionCells, shown_text

_LETTER = re.compile(r"(?P<before>\s*[(\[]?)(?P<letter>[A-Za-z])(?P<after>[)\].:、．：]*\s*)(?P<text>.*)", re.DOTALL)
ANSWERS = re.compile(r"answer|target|label|gold|(?:^|_)gt|correct|solution|key|refer|(?:^|_)ans", re.IGNORECASE)
"""The usual names of columns that say which choice is right."""


def places_of(target: Any, cells: OptionCells, first: int | None) -> set[int] | None:
    """Return the places of the choices that a target names; ``None`` if one of its items names none.

    Args:
        target: A text, a number, or a list of them: each the text of a choice, its letter, or its number.
        cells: The choices.
        first: The number of the first choice; ``None``: unknown, so that numbers name none.
    """
    items = target if isinstance(target, (list, tuple, set)) else [target]
    found = [_place_of(item, cells, first) for item in items]
    return None if None in found or not found else {place for place in found if place is not None}


def _place_of(item: Any, cells: OptionCells, first: int | None) -> int | None:
    if hasattr(item, "item") and getattr(item, "shape", None) == ():
        item = item.item()
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    if isinstance(item, int) and not isinstance(item, bool):
        return _at(None if first is None else item - first, cells)
    if not isinstance(item, str):
        return None
    bare = item.strip()
    texts = [text.strip() for text in cells.texts]
    if bare in texts:
        return texts.index(bare)
    if letter_of(bare):
        return _at(ord(letter_of(bare)) - ord("A"), cells)
    lettered = _LETTER.fullmatch(bare)
    if lettered is not None and shown_text(bare) in texts and shown_text(bare) != bare:
        place = _at(ord(lettered["letter"].upper()) - ord("A"), cells)
        return place if place is not None and texts[place] == shown_text(bare) else None
    return _place_of(int(bare), cells, first) if bare.isdecimal() else None


def _at(position: int | None, cells: OptionCells) -> int | None:
    return cells.positions.index(position) if position in cells.positions else None


def moved(value: Any, cells: OptionCells, right: Collection[int], places: Mapping[int, int]) -> Any:
    """Return a cell that names the right choices by their places, with their new places; ``None`` if it does not.

    Args:
        value: The cell.
        cells: The choices, in the author's order.
        right: The places of the right ones.
        places: From the author's place to the new one.
    """
    for first in (0, 1):
        if isinstance(value, (list, tuple)):
            items = [_moved(item, cells, places, first) for item in value]
            is_whole = bool(items) and None not in items and places_of(value, cells, first) == set(right)
            if is_whole:
                return tuple(items) if isinstance(value, tuple) else items
        elif places_of(value, cells, first) == set(right):
            return _moved(value, cells, places, first)
    return None


def _moved(value: Any, cells: OptionCells, places: Mapping[int, int], first: int) -> Any:
    place = _place_of(value, cells, first)
    if place is None:
        return None
    position = cells.positions[places[place]]
    if not isinstance(value, str):
        return position + first
    if value.strip() in [text.strip() for text in cells.texts]:
        return None  # the text itself, which moves with its choice
    if value.strip().isdecimal():
        return value.replace(value.strip(), str(position + first))
    lettered = _LETTER.fullmatch(value)
    if lettered is None:
        return None
    letter = option_labels(position + 1)[position]
    letter = letter.lower() if lettered["letter"].islower() else letter
    return lettered["before"] + letter + lettered["after"] + lettered["text"]
