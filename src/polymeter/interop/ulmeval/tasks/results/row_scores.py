"""Scores of single rows in the tables that an ``evaluate`` writes beside its predictions, for intervals of its numbers.

Many classes write a table with a column of scores (``hit``, ``score``, ``match``) and return its means. A column counts
as the scores behind a number only if its mean over the rows of the number is that number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polymeter.core.records.spread import UNBOUNDED
from polymeter.data.tables.exact import exact_table
from polymeter.metrics.basic import MEAN
from polymeter.stats.estimate import Estimate, estimate

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_INDEX = "index"
_SCALES = (1.0, 100.0)
"""A mean, and the same in percent."""
_TOLERANCE = 1e-9
_FEWEST_DECIMALS = 2
"""A number with fewer decimals is not taken for a rounded mean: too many means would round to it."""
_DECIMALS = re.compile(r"-?\d+\.(\d+)")


def row_scores(files: Iterable[Path], frame: pd.DataFrame) -> list[NDArray[np.float64]]:
    """Return the columns of numbers that tables have beyond those of a prediction file, in the order of its rows.

    Args:
        files: The files beside the prediction file. Of these, tables that are kept as they were written are read.
        frame: The prediction file's rows. A table that has not exactly these rows, by their index, has no such column.
    """
    if _INDEX not in frame:
        return []
    places = {str(index): place for place, index in enumerate(frame[_INDEX])}
    if len(places) < len(frame):  # repeated labels do not say which row is meant
        return []
    return [column for file in files for column in _columns(exact_table(file), frame, places)]


def estimated(value: float, rows: Collection[int] | None, columns: Iterable[NDArray[np.float64]]) -> Estimate | None:
    """Return the estimate of a number from the scores of rows; ``None`` if no column has it as its mean.

    Args:
        value: The number.
        rows: The rows that it rests on; ``None``: all.
        columns: Scores, shape ``(n rows,)``.
    """
    chosen = slice(None) if rows is None else sorted(rows)
    for column in columns:
        for scale in _SCALES:
            scores = column[chosen] * scale
            if scores.size and _is_mean(value, float(scores.mean())):
                is_share = column.min() >= 0 and column.max() <= 1
                return estimate(scores.tolist(), MEAN, bounds=(0.0, scale) if is_share else UNBOUNDED)
    return None


def _columns(table: pd.DataFrame | None, frame: pd.DataFrame, places: dict[str, int]) -> Iterator[NDArray[np.float64]]:
    if table is None or _INDEX not in table or len(table) != len(frame):
        return
    order = [places.get(str(index)) for index in table[_INDEX]]
    if set(order) != set(places.values()):
        return
    for name in table.columns:
        if name in frame.columns or table[name].dtype.kind not in "biuf":
            continue
        values = table[name].to_numpy(np.float64)
        if np.isfinite(values).all():
            aligned = np.empty_like(values)
            aligned[order] = values
            yield aligned


def _is_mean(value: float, mean: float) -> bool:
    """Return whether a number is a mean, or that mean as its author has rounded it."""
    if abs(value - mean) <= _TOLERANCE * max(1.0, abs(value)):
        return True
    written = _DECIMALS.fullmatch(repr(value))
    decimals = len(written[1]) if written else 0
    return decimals >= _FEWEST_DECIMALS and abs(value - mean) <= 0.5 * 10.0**-decimals + _TOLERANCE
