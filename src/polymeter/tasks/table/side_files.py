"""The files that VLMEvalKit has of a table without a class: predictions in its format, and its table of accuracies.

Its numbers are made of the scores of the run's samples, so nothing is scored twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.machine.files import replacing
from polymeter.core.task import ReduceContext, ScoredRow
from polymeter.core.text.codec import jsonable
from polymeter.core.text.json_text import json_text
from polymeter.data.formats import dump
from polymeter.data.tables.tsv import whole_numbers
from polymeter.tasks.table.classes.prediction_files import side_file
from polymeter.tasks.table.predictions import RETURNED, PredictionFile, write_predictions
from polymeter.tasks.table.rows import INDEX

if TYPE_CHECKING:
    import pandas as pd

_IMAGE = "image"
Reported = Callable[["pd.DataFrame"], "pd.DataFrame"]
"""Rows with a column for each metric → the table of accuracies."""


def in_format(file: PredictionFile, kind: str) -> PredictionFile:
    """Return the settings of a prediction file in a format of VLMEvalKit's, without images."""
    return replace(file, suffix=f".{kind}", left_out=(_IMAGE,), write=_write)


def write_side_files(
    file: PredictionFile,
    rows: Iterable[ScoredRow],
    context: ReduceContext,
    metrics: Sequence[str],
    reported: Reported | None,
    scores_as: str,
) -> None:
    """Write the predictions, and beside them the table of accuracies as ``…_acc.csv`` or ``…_acc.json`` and as what an
    ``evaluate`` returns.

    Args:
        file: The settings of the prediction file.
        rows: The rows of the run, in sample order.
        context: Gives its folder and the model's name.
        metrics: The metrics of samples that the table may be made of.
        reported: Makes it; ``None``: there is none.
        scores_as: Its format.
    """
    kept = list(rows)
    path = write_predictions(file, kept, context).path
    if reported is None or not kept:
        return
    data = file.table.data.iloc[[row.index for row in kept]].reset_index(drop=True)
    values = [_values(row) for row in kept]
    present = [name for name in metrics if any(name in own for own in values)]
    table = reported(data.assign(**{name: [own.get(name, math.nan) for own in values] for name in present}))
    dump(table.to_dict("records") if scores_as == "json" else table, side_file(path, f"_acc.{scores_as}"))
    with replacing(path.with_name(RETURNED)) as written:
        written.write(json_text({str(name): jsonable(table[name].tolist()) for name in table.columns}, indent=1))


def _values(row: ScoredRow) -> dict[str, Any]:
    """The numbers of a row by metric."""
    return {} if row.score is None else {name: value for (name, _), value in row.score.values.items()}


def _write(table: pd.DataFrame, file: Path) -> None:
    numbers = whole_numbers(table[INDEX])
    table = table if numbers is None else table.assign(**{INDEX: numbers})
    dump(table.to_dict("records") if file.suffix == ".json" else table, file)
