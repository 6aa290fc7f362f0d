"""Mistakes on purpose: each aspect that a prompt names goes wrong with the same given probability."""

from __future__ import annotations

import random
from dataclasses import replace

from polymeter.library.shapes.reading import DescribedDrawing, Edit, ShapeGroup
from polymeter.library.shapes.words import COLOURS, MOST_THINGS, PLACES, RELATIONS


def slipped(order: DescribedDrawing, rate: float, rng: random.Random) -> DescribedDrawing:
    """Return the drawing with mistakes.

    There are three mistakes, independent of each other, each with probability ``rate``. One group has one shape too
    many or too few. One of the groups with a colour gets another one, which the prompt does not name. The relation, if
    the prompt names one, is replaced.
    """
    groups = list(order.groups)
    chances = [rng.random() < rate for _ in range(3)]
    picks = [rng.random() for _ in range(3)]
    if chances[0]:
        number = int(picks[0] * len(groups))
        groups[number] = replace(groups[number], count=_other_count(groups, number, rng))
    coloured = [number for number, group in enumerate(groups) if group.colour]
    if chances[1] and coloured:
        number = coloured[int(picks[1] * len(coloured))]
        groups[number] = replace(groups[number], colour=_other_colour(order, rng))
    relation = order.relation
    if chances[2] and relation:
        others = [name for name in RELATIONS if name != relation]
        relation = others[int(picks[2] * len(others))]
    return replace(order, groups=tuple(groups), relation=relation)


def slipped_edit(edit: Edit, rate: float, rng: random.Random) -> Edit | None:
    """Return the edit with mistakes. With probability ``rate`` the colour or the place is another one. If the prompt
    names neither, nothing is changed (``None``).
    """
    if rng.random() >= rate:
        return edit
    if edit.colour:
        return replace(edit, colour=rng.choice([name for name in COLOURS if name != edit.colour]))
    if edit.place:
        return replace(edit, place=rng.choice([name for name in PLACES if name != edit.place]))
    return None


def _other_count(groups: list[ShapeGroup], number: int, rng: random.Random) -> int:
    count = groups[number].count
    if sum(group.count for group in groups) >= MOST_THINGS:
        return count - 1 if count > 1 else count
    return count + (1 if count == 1 else rng.choice([-1, 1]))


def _other_colour(order: DescribedDrawing, rng: random.Random) -> str:
    named = {group.colour for group in order.groups} | {order.background}
    return rng.choice([name for name in COLOURS if name not in named])
