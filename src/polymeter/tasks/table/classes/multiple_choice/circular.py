"""Circular evaluation (MMBench, Liu et al. 2023): a question is asked once for every rotation of its options, and
counts as right if all of them are answered right.

A rotated copy of row ``i`` has the index ``i + k · 1,000,000``; tables that hold such rows already are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.data.tables.tsv import whole_numbers
from polymeter.tasks.table.classes.cells import is_empty, text_of

if TYPE_CHECKING:
    import pandas as pd

GROUP = "g_index"
STEP = 1_000_000

_WORD = re.compile(r"[^\W_]+")
_SUMS_UP = frozenset({"all", "none"})


def has_rotations(data: pd.DataFrame) -> bool:
    """Return whether a table holds rotated copies of its questions, or names groups of rows in ``g_index``."""
    if GROUP in data.columns:
        return True
    indices = whole_numbers(data["index"])
    if indices is None:
        return False
    present = set(indices)
    return any(index >= STEP and index % STEP in present for index in indices)


def group_of(line: Mapping[str, Any]) -> str:
    """The index of the question of which a row is a rotation; its own index if that is not a whole number."""
    if not is_empty(line.get(GROUP)):
        return text_of(line[GROUP])
    numbers = whole_numbers([line["index"]])
    return str(numbers[0] % STEP if numbers else line["index"])


def is_original(line: Mapping[str, Any]) -> bool:
    """Return whether a row has the options of its question in their original order."""
    return str(line["index"]) == group_of(line)


def groups_of(data: pd.DataFrame) -> list[tuple[str, bool]]:
    """For each row of a table the index of its question, and whether its options are in their original order."""
    own = data[GROUP] if GROUP in data.columns else [None] * len(data)
    lines = [{"index": index, GROUP: group} for index, group in zip(data["index"], own, strict=True)]
    return [(group_of(line), is_original(line)) for line in lines]


def with_rotations(data: pd.DataFrame, letters: Sequence[str]) -> pd.DataFrame:
    """A table with each question followed by its rotated copies, and their common index in ``g_index``.

    A last option that refers to the others ("All of the above", "Both A and B") stays last in all of them.

    Args:
        data: Rows with ``index``, ``answer`` (a letter) and options.
        letters: The columns that hold options, in order.

    Raises:
        DataError: if an index is not a whole number.
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
    """For each question, whether all its rotations were answered right.

    Args:
        hits: Question and 1 or 0, for each rotation that has a score.
        sizes: How many rotations each question has.

    Returns:
        1 or 0 per question. A question with an unscored rotation is left out, even if another rotation is wrong:
        counting it only then would make the share too small.
    """
    hits_of: dict[str, list[float]] = {}
    for group, hit in hits:
        hits_of.setdefault(group, []).append(hit)
    return {group: float(min(values) >= 1) for group, values in hits_of.items() if len(values) == sizes.get(group)}


def _rotations(row: dict[str, Any], letters: Sequence[str]) -> Iterable[dict[str, Any]]:
    """Return a row unchanged, then with its options moved one position further each time."""
    yield row
    moved = [letter for letter in letters if not is_empty(row.get(letter))]
    if moved and _refers_to_others(str(row[moved[-1]]), moved[:-1]):
        moved.pop()
    for turn in range(1, len(moved)):
        new_letters = {letter: moved[(number + turn) % len(moved)] for number, letter in enumerate(moved)}
        options = {new_letters[letter]: row[letter] for letter in moved}
        yield {**row, **options, "answer": new_letters.get(str(row["answer"]).strip().upper(), row["answer"])}


def _refers_to_others(option: str, others: Sequence[str]) -> bool:
    words = _WORD.findall(option)
    named = sum(letter in words for letter in others)
    return bool(_SUMS_UP & {word.lower() for word in words}) or named > 1
