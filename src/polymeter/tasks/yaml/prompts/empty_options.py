"""Options of a row that are empty: a table with columns for four options, of which a question needs two.

An empty option, or one of white space, is none: it is not asked, is never chosen, and cannot be the right one. The
others keep their positions, and so their letters and numbers, because the row's target counts by them.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any, TypeVar

from polymeter.core.errors import ScoreError
from polymeter.core.request import ChoiceLogprob

T = TypeVar("T")
IMPOSSIBLE = ChoiceLogprob(-math.inf, False, 0)
"""The likelihood of an empty option."""


class FilledChoices(list[str]):
    """The choices of a row, in which empty texts stand for options that there are not."""


def options_of(texts: Sequence[Any]) -> FilledChoices:
    """The choices of a row whose cells are some values."""
    return FilledChoices("" if _is_empty(text) else str(text) for text in texts)


def offered(choices: Sequence[str]) -> list[int]:
    """The positions of the choices that there are."""
    return [place for place, text in enumerate(choices) if text or not isinstance(choices, FilledChoices)]


def only_offered(items: Sequence[T], choices: Sequence[str]) -> list[T]:
    """The items that belong to choices that there are."""
    return [items[place] for place in offered(choices)]


def in_places(items: Sequence[T], choices: Sequence[str], other: T) -> list[T]:
    """Items that belong to the choices that there are, in the places of all, with ``other`` in those of empty ones."""
    if not isinstance(choices, FilledChoices):
        return list(items)
    found = dict(zip(offered(choices), items, strict=True))
    return [found.get(place, other) for place in range(len(choices))]


def refuse_empty(indices: Sequence[int], choices: Sequence[str]) -> None:
    """Refuse right choices that are empty, which nobody can choose.

    Raises:
        ScoreError: if there are no others.
    """
    there = offered(choices)
    if len(there) < len(choices) and not any(index in there for index in indices):
        raise ScoreError(
            f"The target names choice {indices[0]} (counted from 0), which is empty.",
            hint="Write the option into the data, or leave the row out.",
        )


def listed(text: str) -> Any:
    """The list or dictionary that a text writes out, its numbers as they stand there; ``None`` if it is none."""
    try:
        value = ast.literal_eval(text)
        tree = ast.parse(text.lstrip(" \t"), mode="eval").body
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if isinstance(tree, ast.Dict):
        return _written(tree.values, list(value.values()), text) if len(tree.values) == len(value) else value
    return _written(tree.elts, value, text) if isinstance(tree, (ast.List, ast.Tuple)) else value


def _written(nodes: Sequence[ast.expr], values: Sequence[Any], text: str) -> list[Any]:
    source = text.lstrip(" \t")
    return [
        ast.get_source_segment(source, node) if isinstance(value, (bool, int, float)) else value
        for node, value in zip(nodes, values, strict=True)
    ]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()
