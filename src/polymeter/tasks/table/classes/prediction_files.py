"""Scoring a prediction file row by row, for code that calls ``evaluate`` itself, with the results of VLMEvalKit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, UnscoredError
from polymeter.guests.door import in_this_mode
from polymeter.tasks.table.classes.cells import text_of

if TYPE_CHECKING:
    import pandas as pd

FAILED = "Failed to obtain answer"
_THREADS = 4
_PERCENT = 100
_COLUMN = {"answer": "extracted", "explanation": "log"}

ScoreRow = Callable[["pd.Series[Any]", str], Mapping[str, Any]]


def scored(eval_file: str | Path, score: ScoreRow, nproc: int | None = None) -> pd.DataFrame:
    """The table of a prediction file with a column for each value of its rows' scores.

    Answers that failed (their text begins with ``Failed to obtain answer``) and answers without a verdict have NaN:
    they are not wrong answers.

    Args:
        eval_file: The file, with ``prediction`` and all columns of the benchmark.
        score: Row and answer → metric → number, and the texts ``answer`` and ``explanation``, whose columns are named
            ``extracted`` and ``log``.
        nproc: How many rows are scored at a time; the default is 4.

    Raises:
        DataError: if the file holds no predictions.
    """
    import pandas as pd

    from polymeter.data.formats import load

    data = load(str(eval_file))
    if not isinstance(data, pd.DataFrame) or "prediction" not in data.columns:
        raise DataError("This file holds no table with a column 'prediction'.", where=str(eval_file))

    def one(line: pd.Series[Any]) -> Mapping[str, Any]:
        answer = text_of(line["prediction"])
        if answer.startswith(FAILED):
            return {"explanation": answer}
        try:
            return score(line, answer)
        except UnscoredError as error:
            return {"explanation": str(error)}

    lines = [data.iloc[number] for number in range(len(data))]
    score_line = in_this_mode(one)
    with ThreadPoolExecutor(nproc or _THREADS) as pool:
        waiting = [pool.submit(copy_context().run, score_line, line) for line in lines]
        scores = [dict(item.result()) for item in waiting]
    names = dict.fromkeys(name for item in scores for name in item)
    return data.assign(**{_COLUMN.get(name, name): [item.get(name, math.nan) for item in scores] for name in names})


def side_file(eval_file: str | Path, ending: str) -> str:
    """The path beside a prediction file that VLMEvalKit uses: ``x.pkl`` and ``_acc.csv`` give ``x_acc.csv``."""
    path = Path(eval_file)
    return str(path.with_name(path.stem + ending))


def percentages(data: pd.DataFrame, value: str, *, by: tuple[str, ...]) -> pd.DataFrame:
    """One row of means in percent: ``Overall``, then each value of the columns ``by``, sorted."""
    import pandas as pd

    data = data if value in data.columns else data.assign(**{value: math.nan})
    table: dict[str, list[float]] = {"Overall": [_PERCENT * _column_mean(data[value])]}
    for column in by:
        if column in data.columns:
            for name in distinct(data[column]):
                table[name] = [_PERCENT * _column_mean(data[value][data[column].map(text_of) == name])]
    return pd.DataFrame(table)


def distinct(cells: pd.Series[Any]) -> list[str]:
    """The different texts of a column, sorted, without the empty one."""
    return sorted({text_of(cell) for cell in cells} - {""})


def _column_mean(values: pd.Series[Any]) -> float:
    return float(values.mean())
