"""The values that ``evaluate`` returns, as numbers with names.

Numbers in a mapping keep their keys, joined by ``/`` where mappings are nested. A table (a DataFrame, or lists of one
length under their names) gives ``row/column`` for each of its numbers: a row is called by its label, else by its texts,
of as many columns as tell the rows apart, else by its number; the only row of a table without texts is not called at
all. A list of records (mappings, one for each sample) gives the mean of each of its numbers. Missing values, truth
values and texts are not numbers, but for a decimal that is spelled out in a DataFrame or a mapping; they stand in the
stored answer alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ScoreError

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 200
"""A table with more rows lists samples and not results; it stays in the stored answer."""
_JOINT = "/"
_KEYS = frozenset({"id", "idx", "index"})
"""Names that identify records, and are not a measurement."""
_COUNTS = frozenset({"count", "n", "num", "number", "total", "support", "n_samples", "num_samples", "samples", "tot"})
"""Names that authors give to the number of samples, beside the numbers that rest on them."""
_OF_HOW_MANY = " (number)"
_WRITTEN = re.compile(r"(?:[^=]*=\s*)?(-?\d+\.\d+)(%?)(?:\s*\(\s*\d+\s*/\s*\d+\s*\))?")
"""A number as GenEval's table writes it: ``0.55000``, ``counting = 50.00% (1 / 2)``."""


def check_returned(returned: Any, author: str) -> None:
    """Refuse what is not a result.

    Args:
        returned: What ``evaluate`` gave.
        author: Whose it is, for the message.

    Raises:
        ScoreError: if it is neither a mapping, nor a DataFrame, nor a list, nor a number, nor ``None``.
    """
    is_result = isinstance(returned, Mapping) or is_table(returned) or _is_list(returned)
    if returned is not None and not is_result and _finite_scalar(returned) is None:
        raise ScoreError(
            f"evaluate of {author} returned a {type(returned).__name__}: {str(returned)[:80]}.",
            hint="It must return a dict, a pandas DataFrame, a list of these, a number, or nothing.",
        )


def is_table(value: Any) -> bool:
    """Return whether a value is a DataFrame, without importing pandas."""
    return hasattr(value, "iterrows") and hasattr(value, "columns")


@dataclass(frozen=True, slots=True)
class TableNumber:
    """A number in what ``evaluate`` returned.

    Attributes:
        value: The number.
        path: The keys that lead to it.
        n: On how many samples it rests, where a count stands beside it in a part of the whole; ``None``: it does not
            say.
    """

    value: float
    path: tuple[str, ...]
    n: int | None = None


def numbers(returned: Any) -> dict[str, TableNumber]:
    """Every number in what ``evaluate`` returned, by its name, in order."""
    found: dict[str, TableNumber] = {}
    walked = [*_walk(returned, ())]
    counts = {path[:-1]: value for path, value in walked if len(path) > 1 and _is_count(path[-1], value)}
    own = dict(walked)
    for path, value in walked:
        n = None if path and _is_count(path[-1], value) else counts.get(path[:-1])
        if path and n is None:
            n = own.get((*path[:-1], f"{path[-1]}{_OF_HOW_MANY}"))
        found[_unused(_JOINT.join(path) or "value", found)] = TableNumber(value, path, None if n is None else int(n))
    return found


def rows_of_type(path: tuple[str, ...], columns: Mapping[str, Mapping[str, frozenset[int]]]) -> frozenset[int] | None:
    """Return the rows that a number rests on, if keys that lead to it are values of the table's columns (a
    type, a category, a discipline): the rows with all of these values, or with the last of them if no row has all;
    ``None`` if no key is one. Of ``DATASET:KEY`` and ``COLUMN=VALUE``, dataset and value count as keys too.

    Args:
        path: The keys, the outermost first.
        columns: Column → value in lower case → the rows.
    """
    found = [rows for key in path if (rows := _rows_with(key.strip().lower(), columns)) is not None]
    return (frozenset.intersection(*found) or found[-1]) if found else None


def _rows_with(key: str, columns: Mapping[str, Mapping[str, frozenset[int]]]) -> frozenset[int] | None:
    keys = (key, key.partition(":")[0], key.rpartition("=")[2])
    return next((values[one] for one in keys for values in columns.values() if one in values), None)


def as_json(returned: Any) -> Any:
    """Return the value that ``evaluate`` returned as plain data. A DataFrame becomes lists under the names of its
    columns, with its labels, if any, under ``index``.
    """
    from polymeter.core.text.codec import jsonable

    if is_table(returned):
        columns: dict[str, Any] = {name: jsonable(values) for name, values in _columns(returned).items()}
        return columns if _labels(returned) is None else {"index": _labels(returned), **columns}
    if isinstance(returned, Mapping):
        return {str(key): as_json(value) for key, value in returned.items()}
    if isinstance(returned, (list, tuple)):
        return [as_json(value) for value in returned]
    return jsonable(returned)


def _walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    if is_table(value):
        yield from _cells(path, _columns(value), _labels(value))
    elif isinstance(value, Mapping):
        lists = {str(key): item for key, item in value.items() if _is_list(item) and not _holds_records(item)}
        if lists and len(lists) == len(value) and len({len(item) for item in lists.values()}) == 1:
            yield from _cells(path, lists, None)
        else:
            for key, item in value.items():
                yield from _walk(item, (*path, str(key)))
    elif _is_list(value) and _holds_records(value):
        yield from _means(path, [item for item in value if isinstance(item, Mapping)])
    elif _is_list(value):
        if len(value) <= MOST_ROWS:
            for place, item in enumerate(value):
                yield from _walk(item, (*path, *((str(place),) if len(value) > 1 else ())))
    elif (number := _finite_scalar(value)) is not None or (number := _written(value)) is not None:
        yield path, number


def _is_count(name: str, value: float) -> bool:
    return name.strip().lower() in _COUNTS and isinstance(value, int) and value >= 0


def _means(
    path: tuple[str, ...], records: Sequence[Mapping[Any, Any]]
) -> Iterator[tuple[tuple[str, ...], float | int]]:
    """The mean of each number of a list of records, and over how many it is, where some have none."""
    names = dict.fromkeys(key for record in records for key in record if str(key).lower() not in _KEYS)
    for name in names:
        found = [number for record in records if (number := _finite_scalar(record.get(name))) is not None]
        if found:
            yield (*path, str(name)), found[0] if len(records) == 1 else math.fsum(found) / len(found)
            if len(found) < len(records):
                yield (*path, f"{name}{_OF_HOW_MANY}"), len(found)


def _cells(
    path: tuple[str, ...], columns: Mapping[str, Sequence[Any]], labels: Sequence[str] | None
) -> Iterator[tuple[tuple[str, ...], float]]:
    n_rows = len(next(iter(columns.values()), ()))
    if n_rows > MOST_ROWS:
        return
    rows = labels or _row_names(columns, n_rows)
    for place in range(n_rows):
        for name, values in columns.items():
            number = _finite_scalar(values[place])
            if number is None:
                number = _written(values[place])
            if number is not None:
                yield (*path, *rows[place : place + 1], name), number


def _row_names(columns: Mapping[str, Sequence[Any]], n_rows: int) -> list[str]:
    """Return names for rows: the texts of as many columns as it takes to tell them apart. A single row that no text
    names has none.
    """
    names = [""] * n_rows
    for values in filter(_names_rows, columns.values()):
        cells = [value.strip() if isinstance(value, str) else "" for value in values]
        names = [_JOINT.join(filter(None, pair)) for pair in zip(names, cells, strict=True)]
        if len({*names, ""}) == n_rows + 1:
            break
    if not any(names):
        return [str(place) for place in range(n_rows)] if n_rows > 1 else []
    return _numbered([name or str(place) for place, name in enumerate(names)])


def _names_rows(values: Sequence[Any]) -> bool:
    """Return whether a column holds texts that are not all numbers, and besides them nothing but missing cells."""
    filled = [value for value in values if value is not None and value == value]  # noqa: PLR0124  (NaN differs from itself)
    texts = [value for value in filled if isinstance(value, str) and value.strip()]
    return bool(texts) and len(texts) == len(filled) and not all(_written(text) is not None for text in texts)


def _labels(table: DataFrame) -> list[str] | None:
    """The labels of the rows, where somebody has given them any."""
    labels = [_label(label) for label in table.index]
    return None if labels == [str(place) for place in range(len(labels))] else _numbered(labels)


def _label(label: Any) -> str:
    """A label of a row or column as text; one of several levels is a path."""
    return _JOINT.join(map(str, label)) if isinstance(label, tuple) else str(label)


def _numbered(names: list[str]) -> list[str]:
    """Make names unique: a repeated one is followed by its number."""
    found: dict[str, None] = {}
    for name in names:
        found[_unused(name, found)] = None
    return list(found)


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _columns(table: DataFrame) -> dict[str, list[Any]]:
    names = _numbered([_label(name) for name in table.columns])
    return {name: table.iloc[:, place].tolist() for place, name in enumerate(names)}


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "tolist") and getattr(value, "shape", ()) != ())


def _holds_records(value: Iterable[Any]) -> bool:
    """Return whether a list holds rows, each with the names of its columns, and is not a column itself."""
    return any(isinstance(item, Mapping) for item in value)


def _finite_scalar(value: Any) -> float | int | None:
    """A finite number, NumPy's too; a truth value is none."""
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, Integral) else float(value)


def _written(value: Any) -> float | None:
    """The number that a text spells out; a percentage as a fraction."""
    found = _WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if found is None else float(found[1]) / (100 if found[2] else 1)
