"""Reading of prompts: drawings and edits.

Drawings: groups such as "two red circles", "a large blue square", joined by commas and "and"; at most one relation
("left of", "right of", "above", "below") between the groups before and after it; "on a black background" at the end.

Edits: "make the square red", "remove the triangle", "add a blue circle in the top left corner", "move the star to the
center", "swap the circle and the square", "swap the colors of the circle and the square", "make the background black".
"The red circle" means every red circle in the image.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polymeter.extend import ModelError
from polymeter.library.shapes.words import (
    COLOURS,
    MOST_THINGS,
    NUMBERS,
    PLACES,
    RELATIONS,
    SHAPES,
    SIZES,
    is_plural,
    plain,
)

EditKind = Literal["recolour", "remove", "add", "move", "swap", "swap colours", "background"]


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """Equal shapes: their number and shape, and their colour and size if the prompt names these."""

    shape: str
    count: int = 1
    colour: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class DescribedDrawing:
    """A drawing that a prompt describes.

    Attributes:
        groups: The groups, in the prompt's order.
        relation: The position of all groups before ``split`` relative to all others; empty if none is named.
        split: The number of groups before the relation.
        background: The background's colour; empty if none is named.
    """

    groups: tuple[ShapeGroup, ...]
    relation: str = ""
    split: int = 0
    background: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that a prompt describes.

    Attributes:
        kind: The change.
        target: The shapes to change, or to add.
        other: The shapes that swap places or colours with them.
        colour: The new colour.
        place: The new place, a name of ``words.PLACES``.
    """

    kind: EditKind
    target: ShapeGroup | None = None
    other: ShapeGroup | None = None
    colour: str = ""
    place: str = ""


_OPENINGS = re.compile(
    r"^(?:please\s+)?(?:(?:draw|paint|show|generate|create)\s+(?:me\s+)?)?"
    r"(?:an?\s+(?:image|picture|photo|drawing|illustration)\s+(?:of|with|showing)\s+)?"
)
_BACKGROUND = re.compile(r"\s*,?\s*\b(?:on|against|with|over)\s+an?\s+(?:plain\s+)?(?P<colour>\w+)\s+background$")
_RELATION = re.compile(
    r"\s*,?\s+(?:(?:that\s+)?(?:is|are)\s+)?(?:to\s+the\s+|on\s+the\s+)?"
    r"(?P<relation>left\s+of|right\s+of|above|over|below|under(?:neath)?|beneath)\s+"
)
_RELATION_NAMES = {"over": "above", "under": "below", "underneath": "below", "beneath": "below"}
_JOINTS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+next\s+to\s+|\s+with\s+")
_COLOURING = r"(?:make|turn|paint|colou?r|recolou?r)"
_PLACE = r"(?:in|at|to|into)\s+the\s+(?P<place>[a-z]+(?:[\s-]+[a-z]+)?)"
_EDITS: tuple[tuple[EditKind, re.Pattern[str]], ...] = (
    (
        "background",
        re.compile(rf"(?:{_COLOURING}|change)\s+the\s+background\s+(?:(?:colou?r\s+)?to\s+)?(?P<colour>\w+)"),
    ),
    ("swap colours", re.compile(r"swap\s+the\s+colou?rs\s+of\s+(?P<target>.+?)\s+and\s+(?P<other>.+)")),
    ("swap", re.compile(r"swap\s+(?:the\s+places\s+of\s+)?(?P<target>.+?)\s+(?:and|with)\s+(?P<other>.+)")),
    ("recolour", re.compile(r"change\s+the\s+colou?r\s+of\s+(?P<target>.+?)\s+to\s+(?P<colour>\w+)")),
    ("recolour", re.compile(r"change\s+(?P<target>.+?)\s+to\s+(?P<colour>\w+)")),
    ("recolour", re.compile(rf"{_COLOURING}\s+(?P<target>.+?)\s+(?P<colour>\w+)")),
    ("remove", re.compile(r"(?:remove|delete|erase)\s+(?P<target>.+)")),
    ("add", re.compile(rf"(?:add|draw|put)\s+(?P<target>.+?)\s+{_PLACE}")),
    ("move", re.compile(rf"move\s+(?P<target>.+?)\s+{_PLACE}")),
)


def read_order(prompt: str) -> DescribedDrawing:
    """Read the drawing that a prompt describes.

    Raises:
        ModelError: if the model does not understand the prompt. The message names the words.
    """
    text = _tidy(prompt)
    text = text[_OPENINGS.match(text).end() :] if _OPENINGS.match(text) else text  # type: ignore[union-attr]
    background = ""
    match = _BACKGROUND.search(text)
    if match:
        background, text = _colour(match["colour"], prompt), text[: match.start()]
    relations = list(_RELATION.finditer(text))
    if len(relations) > 1:
        raise _lost("more than one relation", prompt)
    if not relations:
        groups = _groups(text, prompt)
        return _drawable(DescribedDrawing(groups, background=background), prompt)
    (relation,) = relations
    first, second = _groups(text[: relation.start()], prompt), _groups(text[relation.end() :], prompt)
    name = " ".join(relation["relation"].split())
    return _drawable(
        DescribedDrawing((*first, *second), _RELATION_NAMES.get(name, name), len(first), background), prompt
    )


def read_edit(prompt: str) -> Edit:
    """Read the edit that a prompt describes.

    Raises:
        ModelError: if the model does not understand the prompt. The message names the words.
    """
    text = re.sub(r"\s+corner$", "", _tidy(prompt))
    for kind, pattern in _EDITS:
        match = pattern.fullmatch(text)
        if match:
            words = match.groupdict()
            return Edit(
                kind,
                _group(words["target"], prompt) if words.get("target") else None,
                _group(words["other"], prompt) if words.get("other") else None,
                _colour(words["colour"], prompt) if words.get("colour") else "",
                _place(words["place"], prompt) if words.get("place") else "",
            )
    raise _lost("no change that it can make", prompt)


def _tidy(prompt: str) -> str:
    return " ".join(prompt.lower().split()).rstrip(".! ")


def _groups(text: str, prompt: str) -> tuple[ShapeGroup, ...]:
    return tuple(_group(piece, prompt) for piece in _JOINTS.split(text))


def _group(text: str, prompt: str) -> ShapeGroup:
    words = text.split()
    shape = plain(words[-1]) if words else ""
    if shape not in SHAPES:
        raise _lost(repr(text.strip()), prompt)
    count = 2 if is_plural(words[-1]) else 1
    colour = ""
    size = ""
    for word in words[:-1]:
        name = plain(word)
        if word in NUMBERS or (word.isdecimal() and 0 < int(word) <= MOST_THINGS):
            count = NUMBERS.get(word) or int(word)
        elif name in COLOURS and not colour:
            colour = name
        elif name in SIZES and not size:
            size = name
        elif word not in {"the", "all", "of"}:
            raise _lost(repr(word), prompt)
    return ShapeGroup(shape, count, colour, size)


def _colour(word: str, prompt: str) -> str:
    if plain(word) not in COLOURS:
        raise _lost(repr(word), prompt)
    return plain(word)


def _place(words: str, prompt: str) -> str:
    place = " ".join(plain(word) for word in re.split(r"[\s-]+", words))
    if place not in PLACES:
        raise _lost(repr(words), prompt)
    return place


def _drawable(order: DescribedDrawing, prompt: str) -> DescribedDrawing:
    n = sum(group.count for group in order.groups)
    if n > MOST_THINGS:
        raise ModelError(
            f"The model 'shapes' draws at most {MOST_THINGS} shapes, not {n}.", hint=f"Prompt: {prompt!r}."
        )
    if order.relation and order.relation not in RELATIONS:
        raise _lost(repr(order.relation), prompt)
    return order


def _lost(what: str, prompt: str) -> ModelError:
    return ModelError(
        f"The model 'shapes' does not understand {what} in the prompt {prompt[:120]!r}.",
        hint=f"It knows {_joined(SHAPES)}, in {_joined(COLOURS)}.",
    )


def _joined(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
