"""Circular evaluation (MMBench, Liu et al. 2023): a question is asked once for every rotation of its options, and
counts as right when all of them are answered right.

A rotated copy of row ``i`` has the index ``i + k · 1,000,000``; tables that hold such rows already are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.data.tables import whole_numbers
from polymeter.formats.table.classes.cells import is_empty, text_of

if TYPE_CHECKING:
    import pandas as pd

GROUP = "g_index"
STEP = 1_000_000

_WORD = re.compile(r"[^\W_]+")
_SUMS_UP = frozenset({"all", "none"})


def has_rotations(data: pd.DataFrame) -> bool:
    """Whether a table holds rotated copies of its questions, or says which rows belong together in ``g_index``."""
    if GROUP in data.columns:
        return True
    indices = whole_numbers(data["index"])
    if indices is None:
        return False
    known = set(indices)
    return any(index >= STEP and index % STEP in known for index in indices)


def group_of(line: Mapping[str, Any]) -> str:
    """The index of the question that a row asks in some rotation; its own where that is no whole number."""
    if not is_empty(line.get(GROUP)):
        return text_of(line[GROUP])
    numbers = whole_numbers([line["index"]])
    return str(numbers[0] % STEP if numbers else line["index"])


def is_original(line: Mapping[str, Any]) -> bool:
    """Whether a row asks its question with the options in their original order."""
    return str(line["index"]) == group_of(line)


def groups_of(data: pd.DataFrame) -> list[tuple[str, bool]]:
    """Of each row of a table the index of its question, and whether it has the options in their original order."""
    own = data[GROUP] if GROUP in data.columns else [None] * len(data)
    lines = [{"index": index, GROUP: group} for index, group in zip(data["index"], own, strict=True)]
    return [(group_of(line), is_original(line)) for line in lines]


def with_rotations(data: pd.DataFrame, letters: Sequence[str]) -> pd.DataFrame:
    """A table with each question followed by its rotated copies, and their common index in ``g_index``.

    A last option that speaks of the others ("All of the above", "Both A and B") stays last in all of them.

    Args:
        data: Rows with ``index``, ``answer`` (a letter) and options.
        letters: The columns that hold options, in order.

    Raises:
        DataError: if an index is no whole number.
    """
    import pandas as pd

    indices = whole_numbers(data["index"])
    if indices is None:
        raise DataError(
            "Circular evaluation numbers rotated copies by their index, and not every index is a whole number.",
            where="column 'index'",
            hint="Number the rows 0, 1, 2, …",
        )
    step = STEP
    while max(indices, default=0) >= step:
        step *= 10
    rows: list[dict[str, Any]] = []
    for index, (_, line) in zip(indices, data.iterrows(), strict=True):
        row = dict(line)
        rows.extend(
            {**copy, "index": index + turn * step, GROUP: index} for turn, copy in enumerate(_rotations(row, letters))
        )
    return pd.DataFrame(rows, columns=[*data.columns, GROUP])


def all_right(hits: Iterable[tuple[str, float]], sizes: Mapping[str, int]) -> dict[str, float]:
    """Of each question, whether all its rotations were answered right.

    Args:
        hits: Question and 1 or 0, of each rotation that has a score.
        sizes: How many rotations each question has.

    Returns:
        1 or 0 per question. One of which a rotation has no score is left out, also when another is wrong: to count only
        those that failed would make the share too small.
    """
    found: dict[str, list[float]] = {}
    for group, hit in hits:
        found.setdefault(group, []).append(hit)
    return {group: float(min(values) >= 1) for group, values in found.items() if len(values) == sizes.get(group)}


def _rotations(row: dict[str, Any], letters: Sequence[str]) -> Iterable[dict[str, Any]]:
    """A row as it is, then with its options moved one place further each time."""
    yield row
    moved = [letter for letter in letters if not is_empty(row.get(letter))]
    if moved and _speaks_of_others(str(row[moved[-1]]), moved[:-1]):
        moved.pop()
    for turn in range(1, len(moved)):
        places = {letter: moved[(place + turn) % len(moved)] for place, letter in enumerate(moved)}
        options = {places[letter]: row[letter] for letter in moved}
        yield {**row, **options, "answer": places.get(str(row["answer"]).strip().upper(), row["answer"])}


def _speaks_of_others(option: str, others: Sequence[str]) -> bool:
    words = _WORD.findall(option)
    named = sum(letter in words for letter in others)
    return bool(_SUMS_UP & {word.lower() for word in words}) or named > 1
