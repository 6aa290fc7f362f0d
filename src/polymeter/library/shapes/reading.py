"""Reading prompts: what is to be drawn, or what is to be changed.

To draw: groups such as "two red circles", "a large blue square", joined by commas and "and"; at most one relation
("left of", "right of", "above", "below") between the groups before and behind it; "on a black background" at the end.

To change: "make the square red", "remove the triangle", "add a blue circle in the top left corner", "move the star to
the center", "swap the circle and the square", "swap the colors of the circle and the square", "make the background
black". "The red circle" means every red circle that is there.
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
class Group:
    """Shapes that are alike: how many, of which shape, and where it is said, of which colour and size."""

    shape: str
    count: int = 1
    colour: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be drawn.

    Attributes:
        groups: The groups, in the prompt's order.
        relation: How all groups before ``split`` stand to all others; empty: nothing is said.
        split: How many groups come before the relation.
        background: The colour behind; empty: nothing is said.
    """

    groups: tuple[Group, ...]
    relation: str = ""
    split: int = 0
    background: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be changed.

    Attributes:
        kind: The change.
        target: What is changed, or added.
        other: With what it changes places or colours.
        colour: The new colour.
        place: Where it is put, a name of ``words.PLACES``.
    """

    kind: EditKind
    target: Group | None = None
    other: Group | None = None
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


def read_order(prompt: str) -> Order:
    """What a prompt asks to be drawn.

    Raises:
        ModelError: if the prompt says something that the model does not understand; the words are named.
    """
    text = _tidy(prompt)
    text = text[_OPENINGS.match(text).end() :] if _OPENINGS.match(text) else text  # type: ignore[union-attr]
    background = ""
    found = _BACKGROUND.search(text)
    if found:
        background, text = _colour(found["colour"], prompt), text[: found.start()]
    relations = list(_RELATION.finditer(text))
    if len(relations) > 1:
        raise _lost("more than one relation", prompt)
    if not relations:
        groups = _groups(text, prompt)
        return _checked(Order(groups, background=background), prompt)
    (relation,) = relations
    first, second = _groups(text[: relation.start()], prompt), _groups(text[relation.end() :], prompt)
    name = " ".join(relation["relation"].split())
    return _checked(Order((*first, *second), _RELATION_NAMES.get(name, name), len(first), background), prompt)


def read_edit(prompt: str) -> Edit:
    """What a prompt asks to be changed.

    Raises:
        ModelError: if the prompt says something that the model does not understand; the words are named.
    """
    text = re.sub(r"\s+corner$", "", _tidy(prompt))
    for kind, pattern in _EDITS:
        found = pattern.fullmatch(text)
        if found:
            said = found.groupdict()
            return Edit(
                kind,
                _group(said["target"], prompt) if said.get("target") else None,
                _group(said["other"], prompt) if said.get("other") else None,
                _colour(said["colour"], prompt) if said.get("colour") else "",
                _place(said["place"], prompt) if said.get("place") else "",
            )
    raise _lost("no change that it can make", prompt)


def _tidy(prompt: str) -> str:
    return " ".join(prompt.lower().split()).rstrip(".! ")


def _groups(text: str, prompt: str) -> tuple[Group, ...]:
    return tuple(_group(piece, prompt) for piece in _JOINTS.split(text))


def _group(text: str, prompt: str) -> Group:
    words = text.split()
    shape = plain(words[-1]) if words else ""
    if shape not in SHAPES:
        raise _lost(repr(text.strip()), prompt)
    count, colour, size = (2 if is_plural(words[-1]) else 1), "", ""
    for word in words[:-1]:
        known = plain(word)
        if word in NUMBERS or (word.isdecimal() and 0 < int(word) <= MOST_THINGS):
            count = NUMBERS.get(word) or int(word)
        elif known in COLOURS and not colour:
            colour = known
        elif known in SIZES and not size:
            size = known
        elif word not in {"the", "all", "of"}:
            raise _lost(repr(word), prompt)
    return Group(shape, count, colour, size)


def _colour(word: str, prompt: str) -> str:
    if plain(word) not in COLOURS:
        raise _lost(repr(word), prompt)
    return plain(word)


def _place(words: str, prompt: str) -> str:
    place = " ".join(plain(word) for word in re.split(r"[\s-]+", words))
    if place not in PLACES:
        raise _lost(repr(words), prompt)
    return place


def _checked(order: Order, prompt: str) -> Order:
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
