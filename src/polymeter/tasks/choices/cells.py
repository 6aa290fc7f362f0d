"""Cells of a row that hold choices: columns for one choice each, a column with a list of them, or lines of a text."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.settings.choice_orders import Order, in_order
from polymeter.core.text.codec import is_nan

Row = Mapping[str, Any]
_FEWEST = 2
_COLUMN = re.compile(r"(?P<before>.*?)(?P<label>[A-Za-z]|[0-9]{1,2})", re.DOTALL)
_LINE = re.compile(r"^[ \t]*[(\[]?(?P<letter>[A-Z])[)\].:、．：][ \t]*(?P<text>\S.*?)[ \t]*$", re.MULTILINE)
_LETTERED = re.compile(r"\s*[(\[]?(?P<letter>[A-Za-z])[)\].:、．：]+\s*(?P<text>.*\S)\s*", re.DOTALL)
_TEXT_KEYS = ("text", "content", "value", "option", "choice")
_NOT_LISTS = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


@dataclass(frozen=True, slots=True)
class OptionCells:
    """Choices in the cells of a row.

    Attributes:
        columns: The columns that hold them.
        texts: Their texts, without letters.
        positions: By which letter each is known, counted from 0. A column that is empty leaves a gap.
        write: From an order to the cells in that order.
    """

    columns: tuple[str, ...]
    texts: tuple[str, ...]
    positions: tuple[int, ...]
    write: Callable[[Order], dict[str, Any]]


def option_cells(row: Row) -> Iterator[OptionCells]:
    """Yield all groups of cells of a row that may hold its choices, likelier ones first."""
    yield from _in_columns(row)
    for column, cell in row.items():
        found = _in_cell(cell)
        if found is not None and len(found.texts) >= _FEWEST:
            yield OptionCells((column,), found.texts, tuple(range(len(found.texts))), _writer(column, found))


def shown_text(value: Any) -> str:
    """A choice as it is compared with another: without its letter and outer white space."""
    text = str(value)
    match = _LETTERED.fullmatch(text)
    return match["text"] if match is not None else text.strip()


def _in_columns(row: Row) -> Iterator[OptionCells]:
    """Yield choices that have a column each: ``A``, ``B``; ``option_a``, ``option_b``; ``choice1``, ``choice2``."""
    groups: dict[str, dict[str, str]] = {}
    for column in row:
        match = _COLUMN.fullmatch(column)
        if match is not None:
            groups.setdefault(match["before"], {})[match["label"]] = column
    for before, columns in groups.items():
        for labels in (string.ascii_uppercase, string.ascii_lowercase, *(_numbers(first) for first in (0, 1))):
            if labels[0].isdigit() and not before:
                continue
            group = _up_to_gap(labels, columns)
            places = [place for place, column in enumerate(group) if _is_text(row[column])]
            if len(places) >= _FEWEST:
                yield _of_columns(row, [group[place] for place in places], places)


def _numbers(first: int) -> list[str]:
    return [str(number) for number in range(first, first + len(string.ascii_uppercase))]


def _up_to_gap(labels: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    group: list[str] = []
    for label in labels:
        if label not in columns:
            break
        group.append(columns[label])
    return group


def _of_columns(row: Row, columns: Sequence[str], places: Sequence[int]) -> OptionCells:
    cells = [row[column] for column in columns]

    def write(order: Order) -> dict[str, Any]:
        return dict(zip(columns, in_order(cells, order), strict=True))

    return OptionCells(tuple(columns), tuple(map(shown_text, cells)), tuple(places), write)


def _is_text(cell: Any) -> bool:
    if isinstance(cell, bool) or cell is None:
        return False
    return bool(cell.strip()) if isinstance(cell, str) else isinstance(cell, (int, float)) and not is_nan(cell)


@dataclass(frozen=True, slots=True)
class _CellOptions:
    """Choices in one cell: their texts, and a function from an order to the cell in that order."""

    texts: tuple[str, ...]
    write: Callable[[Order], Any]


def _writer(column: str, found: _CellOptions) -> Callable[[Order], dict[str, Any]]:
    return lambda order: {column: found.write(order)}


def _in_cell(cell: Any) -> _CellOptions | None:
    if isinstance(cell, Mapping):
        return _in_mapping(cell)
    if isinstance(cell, (list, tuple)):
        return _in_list(cell)
    return _printed(cell) or _in_lines(cell) if isinstance(cell, str) else None


def _in_list(items: Sequence[Any]) -> _CellOptions | None:
    """Choices of a list: texts, with or without letters, or mappings with a text each."""
    if items and all(isinstance(item, Mapping) for item in items):
        key = next((name for name in _TEXT_KEYS if all(_is_text(item.get(name)) for item in items)), None)
        if key is None:
            return None
        values = [item[key] for item in items]

        def write(order: Order) -> Any:
            moved = in_order(values, order)
            return _like(items, [{**item, key: value} for item, value in zip(items, moved, strict=True)])

        return _CellOptions(tuple(map(shown_text, values)), write)
    if not all(map(_is_text, items)):
        return None
    return _CellOptions(tuple(map(shown_text, items)), lambda order: _like(items, _relettered(items, order)))


def _like(items: Sequence[Any], moved: list[Any]) -> Sequence[Any]:
    return tuple(moved) if isinstance(items, tuple) else moved


def _relettered(items: Sequence[Any], order: Order) -> list[Any]:
    """Return items in an order. The letters before their texts, if all have theirs, stay at their places."""
    matches = [_LETTERED.fullmatch(item) if isinstance(item, str) else None for item in items]
    letters = [match["letter"].upper() for match in matches if match is not None]
    if letters != list(string.ascii_uppercase[: len(items)]):
        return in_order(items, order)
    found = [match for match in matches if match is not None]
    return [
        own.string[: own.start("text")] + other["text"] + own.string[own.end("text") :]
        for own, other in zip(found, in_order(found, order), strict=True)
    ]


def _in_mapping(cell: Mapping[Any, Any]) -> _CellOptions | None:
    """Choices by their letters (``{"A": …}``), or lists of texts and of letters (``{"text": […], "label": […]}``)."""
    key = next((name for name in _TEXT_KEYS if isinstance(cell.get(name), (list, tuple))), None)
    if key is not None:
        inner = _in_list(cell[key])
        return None if inner is None else _CellOptions(inner.texts, lambda order: {**cell, key: inner.write(order)})
    names = [str(name) for name in cell]
    is_lettered = [name.upper() for name in names] == list(string.ascii_uppercase[: len(names)])
    if not (is_lettered or names == _numbers(1)[: len(names)]) or not all(map(_is_text, cell.values())):
        return None
    values = list(cell.values())
    return _CellOptions(
        tuple(map(shown_text, values)), lambda order: dict(zip(cell, in_order(values, order), strict=True))
    )


def _printed(cell: str) -> _CellOptions | None:
    """Choices of a list that a text writes out, as JSON or as Python does."""
    if not cell.lstrip().startswith(("[", "{")):
        return None
    readers: tuple[tuple[Callable[[str], Any], Callable[[Any], str]], ...] = (
        (json.loads, lambda value: json.dumps(value, ensure_ascii=False)),
        (ast.literal_eval, repr),
    )
    for read, printed in readers:
        try:
            value = read(cell.strip())
        except _NOT_LISTS:
            continue
        inner = _in_cell(value) if isinstance(value, (list, tuple, Mapping)) else None
        return None if inner is None else _CellOptions(inner.texts, _printing(inner, printed))
    return None


def _printing(inner: _CellOptions, printed: Callable[[Any], str]) -> Callable[[Order], str]:
    return lambda order: printed(inner.write(order))


def _in_lines(cell: str) -> _CellOptions | None:
    """Choices that stand on lines of a text, each after its letter. The last such list of lines counts."""
    runs: list[list[re.Match[str]]] = []
    for match in _LINE.finditer(cell):
        number = string.ascii_uppercase.index(match["letter"])
        if number == 0:
            runs.append([match])
        elif runs and len(runs[-1]) == number and not cell[runs[-1][-1].end() : match.start()].strip():
            runs[-1].append(match)
    lines = next((run for run in reversed(runs) if len(run) >= _FEWEST), None)
    if lines is None:
        return None
    texts = tuple([match["text"] for match in lines])

    def write(order: Order) -> str:
        parts, end = [], 0
        for match, text in zip(lines, in_order(texts, order), strict=True):
            parts += [cell[end : match.start("text")], text]
            end = match.end("text")
        return "".join([*parts, cell[end:]])

    return _CellOptions(texts, write)
