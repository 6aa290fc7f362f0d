"""``vlmutil circular``: a multiple-choice table in which every question is asked once for each rotation of its choices.

A rotated row has the question's index plus a multiple of an offset, ``g_index`` with the question's own index, and a
reference to the original's image. Rows that cannot be rotated stay single: those with letters among the choices,
without choices, or with an answer that is no letter.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.data.formats import load

if TYPE_CHECKING:
    import pandas as pd

_LETTERS = string.ascii_uppercase
_OFFSET = 1_000_000
_FACTOR = 10
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class CircularTable:
    """A written table.

    Attributes:
        file: Where it is.
        n_rows: How many rows the original has.
        n_written: How many rows it has.
        by_choices: How many questions have how many choices; 0: rows that stay single.
    """

    file: Path
    n_rows: int
    n_written: int
    by_choices: Mapping[int, int]


def write_circular(source: Path) -> CircularTable:
    """Write ``X_circular.tsv`` beside ``X.tsv``.

    Raises:
        DataError: if the table is missing or damaged, has no index, no answers or no choices, indices that are not
            whole numbers, or a gap among the choices of a row.
    """
    table = _read(source)
    columns = [letter for letter in _LETTERS if letter in table]
    offset = _OFFSET
    while int(table["index"].max()) >= offset:
        offset *= _FACTOR
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_dict("records"):
        groups.setdefault(_n_choices(row, columns, source), []).append(row)
    written = [row for n_choices, rows in groups.items() for row in _rotated(rows, n_choices, offset)]
    target = source.with_name(f"{source.stem}_circular.tsv")
    import pandas as pd

    frame = pd.DataFrame(written, columns=[*table.columns, *({"g_index", "image"} - set(table.columns))])
    frame = frame.drop(columns=[] if "image" in table else ["image"])
    with stored_at(target, "Writing the table"), replacing(target) as file:
        file.write(frame.to_csv(sep="\t", index=False, quoting=1))
    return CircularTable(target, len(table), len(written), {n: len(rows) for n, rows in sorted(groups.items())})


def _read(source: Path) -> pd.DataFrame:
    if source.suffix != ".tsv":
        raise DataError(f"{source.name} is not a table of the kind X.tsv.", where=str(source))
    if not source.is_file():
        raise DataError(f"There is no table {str(source)!r}.", where=str(source))
    table = load(source)
    for name in ("index", "answer", "A", "B"):
        if name not in table:
            raise DataError(f"{source.name} has no column {name!r}.", where=str(source))
    if not len(table):
        raise DataError(f"{source.name} has no rows.", where=str(source))
    try:
        table["index"] = table["index"].astype(int)
    except (TypeError, ValueError):
        raise DataError(f"An index of {source.name} is not a whole number.", where=str(source)) from None
    if table["index"].duplicated().any():
        twice = table["index"][table["index"].duplicated()].iloc[0]
        raise DataError(f"{source.name} has the index {twice} more than once.", where=str(source))
    return table


def _n_choices(row: Mapping[str, Any], columns: list[str], source: Path) -> int:
    """The number of choices of a row; 0 for one that cannot be rotated."""
    filled = [letter for letter in columns if not _is_missing(row[letter])]
    if filled != columns[: len(filled)] or len(filled) == 1:
        raise DataError(f"Row {row['index']} of {source.name} has a gap among its choices.", where=str(source))
    answer = row["answer"]
    is_letter = isinstance(answer, str) and len(answer) == 1 and answer in filled
    if len(filled) < _FEWEST or not is_letter or _names_letters([str(row[letter]) for letter in filled], filled):
        return 0
    return len(filled)


def _names_letters(choices: list[str], letters: list[str]) -> bool:
    """Return whether a choice is a letter itself, or speaks of two of them, so that it would be wrong in a rotation."""
    if any(choice in _LETTERS for choice in choices):
        return True
    plain = ("".join(c if c in string.ascii_letters or c == " " else " " for c in choice) for choice in choices)
    return any(len(set(words.split()) & set(letters)) > 1 for words in plain)


def _rotated(rows: list[dict[str, Any]], n_choices: int, offset: int) -> Iterator[dict[str, Any]]:
    """The rows of a group unchanged, then in every other rotation, in the order of the tool."""
    letters = _LETTERS[:n_choices]
    for turn in range(max(n_choices, 1)):
        for row in rows:
            moved = {**row, "g_index": row["index"]}
            if turn:
                # The k-th rotation shows a choice k letters earlier, the first ones at the end.
                new = {letter: letters[(place - turn) % n_choices] for place, letter in enumerate(letters)}
                moved |= {new[letter]: row[letter] for letter in letters}
                moved |= {"index": row["index"] + turn * offset, "image": row["index"], "answer": new[row["answer"]]}
            yield moved


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
