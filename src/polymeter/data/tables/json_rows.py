"""Rows of JSON files as each of them was written, read with Python's own parser.

``datasets`` reads JSON through Arrow and pandas, which give a whole column one type: a text that looks like a date
becomes a date, 5 beside 2.5 becomes 5.0, "007" beside a number becomes 7, 2^64 loses digits, and a dictionary gets the
keys of its neighbours.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError
from polymeter.core.text.written_numbers import WrittenFloat, fraction, whole_number

_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()


class _EqualKeysError(Exception):
    """An object that has a key twice."""


def _without_equal_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _EqualKeysError(next(key for key in keys if keys.count(key) > 1))
    return made


def _constant(word: str) -> float:
    return WrittenFloat(float(word), word)  # type: ignore[no-any-return]


_NUMBERS: dict[str, Any] = {"parse_float": fraction, "parse_int": whole_number, "parse_constant": _constant}
_decode_checked = json.JSONDecoder(object_pairs_hook=_without_equal_keys, **_NUMBERS).decode
_decode = json.JSONDecoder(**_NUMBERS).decode


class Keyed(dict[str, Any]):
    """A dictionary of a row without keys that others in its column have: these keys are ``None``."""

    __slots__ = ("others",)

    def __init__(self, items: Mapping[str, Any], others: frozenset[str]) -> None:
        super().__init__(items)
        self.others = others

    def __missing__(self, key: str) -> Any:
        if key in self.others:
            return None
        raise KeyError(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Keyed, (dict(self), self.others)


class JsonRows:
    """The rows of one file: JSON Lines, whose rows are read from the file when they are used, or one JSON value, which
    is held.

    Args:
        file: The file.
        field: The key of the rows in a file that holds one object; ``None``: the rows are all of it.

    Raises:
        DataError: if an object has a key twice.
        ValueError: if the file holds no rows.
    """

    def __init__(self, file: Path, field: str | None = None) -> None:
        self._file = file
        self._mark = _mark(file)
        self._starts = array("Q")
        self._held: list[Any] | None = None
        with file.open("rb") as content:
            start = content.read(len(_MARK))
        if field is not None or self._first_sign() == b"[" or not self._is_of_lines():
            self._held = self._whole(field)
        elif start == _MARK:
            raise ValueError("a byte order mark before lines")

    def __len__(self) -> int:
        return len(self._starts) if self._held is None else len(self._held)

    def all(self) -> Iterator[dict[str, Any]]:
        """All rows in order."""
        if self._held is not None:
            yield from map(_checked_row, self._held)
            return
        for number, (_, line) in enumerate(self._lines(), 1):
            yield _checked_row(self._parsed(line, number))

    def rows(self, start: int, stop: int, *, is_checked: bool = False) -> list[dict[str, Any]]:
        """Rows ``start`` to ``stop``.

        Args:
            start: The number of the first one.
            stop: That of the row after the last one.
            is_checked: Whether keys are compared, which takes as long again.

        Raises:
            DataError: if the file was changed, or an object has a key twice.
        """
        if self._held is not None:
            return [_checked_row(item) for item in self._held[start:stop]]
        found: list[dict[str, Any]] = []
        if start >= min(stop, len(self)):
            return found
        if _mark(self._file) != self._mark:
            raise DataError("A file of the dataset was changed while it is used.", where=str(self._file))
        with self._file.open("rb") as content:
            content.seek(self._starts[start])
            for line in content:
                if line.strip():
                    found.append(_checked_row(self._parsed(line, start + len(found) + 1, is_checked=is_checked)))
                    if len(found) == stop - start:
                        break
        return found

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not empty, with where each starts."""
        position = 0
        with self._file.open("rb") as content:
            for line in content:
                if line.strip():
                    yield position, line
                position += len(line)

    def _is_of_lines(self) -> bool:
        """Return whether each line is an object; notes where they start."""
        for number, (position, line) in enumerate(self._lines()):
            if not line.lstrip().startswith(b"{") or (number == 0 and not line.rstrip().endswith(b"}")):
                return False
            self._starts.append(position)
        return True

    def _first_sign(self) -> bytes:
        return next((line.lstrip().removeprefix(_MARK)[:1] for _, line in self._lines()), b"")

    def _whole(self, field: str | None) -> list[Any]:
        content = self._parsed(self._file.read_bytes().removeprefix(_MARK), 0)
        if field is not None:
            content = content[field]
        if isinstance(content, list):
            return content
        # One object is a table of columns if it holds lists alone, and else one row.
        columns = list(content.values()) if isinstance(content, dict) else []
        if not columns or not all(isinstance(column, list) for column in columns):
            return [content]
        return [dict(zip(content, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def _parsed(self, data: bytes, number: int, *, is_checked: bool = True) -> Any:
        try:
            return (_decode_checked if is_checked else _decode)(data.decode())
        except _EqualKeysError as error:
            where = f"{self._file}:{number}" if number else str(self._file)
            raise DataError(
                f"An object of {self._file.name} has the key {str(error)!r} twice.",
                where=where,
                hint="Give each value a different key.",
            ) from None


def _mark(file: Path) -> tuple[int, int]:
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns


def _checked_row(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ValueError("a row that is not an object")
    return item


class JoinedRows:
    """The rows of several files, one after the other.

    Args:
        files: The files.
        field: See ``JsonRows``.
    """

    def __init__(self, files: Sequence[Path], field: str | None = None) -> None:
        self._parts = [JsonRows(file, field) for file in files]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def all(self) -> Iterator[dict[str, Any]]:
        """All rows in order."""
        for part in self._parts:
            yield from part.all()

    def rows(self, start: int, stop: int, *, is_checked: bool = False) -> list[dict[str, Any]]:
        """Rows ``start`` to ``stop``; see ``JsonRows``."""
        found: list[dict[str, Any]] = []
        for part in self._parts:
            n = len(part)
            if start < n and stop > 0:
                found += part.rows(max(start, 0), min(stop, n), is_checked=is_checked)
            start, stop = start - n, stop - n
        return found


def as_written(read: Any, written: Any) -> Any:
    """A cell as it was written: what was read of it where that is the same, so that nothing changes for most cells.

    Args:
        read: The cell as ``datasets`` read it.
        written: The cell as it stands in its file.
    """
    if isinstance(read, dict) and isinstance(written, dict):
        if not written.keys() <= read.keys():
            return written
        items = {key: as_written(read[key], written[key]) for key in read if key in written}
        if len(items) < len(read):
            return Keyed(items, frozenset(read))
        return read if all(items[key] is read[key] for key in read) else items
    if type(read) is not type(written):
        return written
    if isinstance(read, list):
        if len(read) != len(written):
            return written
        cells = [as_written(one, other) for one, other in zip(read, written, strict=True)]
        return read if all(cell is one for cell, one in zip(cells, read, strict=True)) else cells
    is_same = read == written or (isinstance(read, float) and isnan(read))
    return read if is_same else written


_TYPES: Mapping[str, type] = {
    "string": str,
    "large_string": str,
    "bool": bool,
    **{f"{sign}int{bits}": int for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_LIST = re.compile(r"(?:large_)?list<\w+: (.+)>")


def is_exact(kind: str) -> Callable[[Any], bool] | None:
    """A function from a cell as it was written to whether a column of some type holds it unchanged; ``None`` if only
    the cell that was read shows that.

    Args:
        kind: The type's name, as Arrow writes it.
    """
    listed = _LIST.fullmatch(kind)
    if listed is not None:
        inner = is_exact(listed[1])
        return None if inner is None else lambda cell: type(cell) is list and all(c is None or inner(c) for c in cell)
    expected = _TYPES.get(kind)
    return None if expected is None else lambda cell: type(cell) is expected
