"""What ``evaluate`` returns as numbers with names.

Numbers in a mapping keep their keys, joined by ``/`` where mappings are nested. A table (a DataFrame, or lists of one
length under their names) gives ``row/column`` for each of its numbers: a row is called by its label, else by the text
in the first column of texts, else by its number; the only row of a table without texts is not called at all. Texts,
missing values and truth values are no numbers; they stand in the stored answer alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ScoreError

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 200
"""A table with more rows lists samples and not results; it stays in the stored answer."""
_JOINT = "/"


def check_returned(returned: Any, author: str) -> None:
    """Refuse what is no result.

    Args:
        returned: What ``evaluate`` gave.
        author: Whose it is, for the message.

    Raises:
        ScoreError: It is neither a mapping, nor a DataFrame, nor ``None``.
    """
    if returned is not None and not isinstance(returned, Mapping) and not is_table(returned):
        raise ScoreError(
            f"evaluate of {author} returned a {type(returned).__name__}: {str(returned)[:80]}.",
            hint="It must return a dict, a pandas DataFrame, or nothing.",
        )


def is_table(value: Any) -> bool:
    """Whether a value is a DataFrame, told without importing pandas."""
    return hasattr(value, "iterrows") and hasattr(value, "columns")


def numbers(returned: Any) -> dict[str, float]:
    """Every number in what ``evaluate`` returned, by its name, in order."""
    found: dict[str, float] = {}
    for path, value in _walk(returned, ()):
        found[_unused(_JOINT.join(path) or "value", found)] = value
    return found


def as_json(returned: Any) -> Any:
    """What ``evaluate`` returned as plain data; a DataFrame becomes lists under the names of its columns, with its
    labels under ``index`` where it has any.
    """
    from polymeter.core.codec import jsonable

    if is_table(returned):
        columns: dict[str, Any] = {name: jsonable(values) for name, values in _columns(returned).items()}
        return columns if _labels(returned) is None else {"index": _labels(returned), **columns}
    if isinstance(returned, Mapping):
        return {str(key): as_json(value) for key, value in returned.items()}
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
    elif _is_list(value):
        if len(value) <= MOST_ROWS:
            for place, item in enumerate(value):
                yield from _walk(item, (*path, *((str(place),) if len(value) > 1 else ())))
    elif (number := _number(value)) is not None:
        yield path, number


def _cells(
    path: tuple[str, ...], columns: Mapping[str, Sequence[Any]], labels: Sequence[str] | None
) -> Iterator[tuple[tuple[str, ...], float]]:
    n_rows = len(next(iter(columns.values()), ()))
    if n_rows > MOST_ROWS:
        return
    rows = labels or _row_names(columns, n_rows)
    for place in range(n_rows):
        for name, values in columns.items():
            number = _number(values[place])
            if number is not None:
                yield (*path, *rows[place : place + 1], name), number


def _row_names(columns: Mapping[str, Sequence[Any]], n_rows: int) -> list[str]:
    """What rows are called: nothing, where there is only one and no text names it."""
    for values in columns.values():
        if all(isinstance(value, str) and value.strip() for value in values):
            return _numbered([value.strip() for value in values])
    return [str(place) for place in range(n_rows)] if n_rows > 1 else []


def _labels(table: DataFrame) -> list[str] | None:
    """The labels of the rows, where somebody has given them any."""
    labels = [_label(label) for label in table.index]
    return None if labels == [str(place) for place in range(len(labels))] else _numbered(labels)


def _label(label: Any) -> str:
    """A label of a row or column as text; one of several levels is a path."""
    return _JOINT.join(map(str, label)) if isinstance(label, tuple) else str(label)


def _numbered(names: list[str]) -> list[str]:
    """Names that are there once each: a repeated one is followed by its number."""
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
    """Whether a list holds rows, each with the names of its columns, and is no column itself."""
    return any(isinstance(item, Mapping) for item in value)


def _number(value: Any) -> float | int | None:
    """A finite number, NumPy's too; a truth value is none."""
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, Integral) else float(value)
