"""The prediction file that ``evaluate`` is given: ``{model}_{dataset}.pkl``, a pickled DataFrame of the dataset's rows
with what the model answered in the column ``prediction``.

It is made from the run's answers when it is asked for. Images are references to the files in which the run keeps them,
opened at first access, so the file is small and making it holds no pixels.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from polymeter.core.environment import environment_set
from polymeter.core.task import ScoredRow
from polymeter.data.pickles import write_pickle
from polymeter.formats.table.requests import Asking
from polymeter.formats.table.roots import file_stem
from polymeter.formats.table.rows import Table

COLUMN = "prediction"
FAILED = "Failed to obtain answer"
"""What ULMEvalKit writes in place of an answer that it could not have."""
_ENDING = ".pkl"
_WORLD = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}


def prediction_path(folder: Path, model: str, dataset: str) -> Path:
    """Where the prediction file of a model and dataset lies: in a folder of the dataset, for the files that
    ``evaluate`` writes beside it.
    """
    return folder / file_stem(dataset) / f"{_safe(model)}_{_safe(dataset)}{_ENDING}"


def write_predictions(
    path: Path, table: Table, asking: Asking, rows: Iterable[ScoredRow], *, failed_as_text: bool
) -> int:
    """Write the file into a folder that holds nothing else.

    What an earlier call of ``evaluate`` left beside it goes: authors take such files for their own results of these
    predictions.

    Args:
        path: As ``prediction_path`` gives it.
        table: All rows of the dataset.
        asking: How responses become predictions.
        rows: The rows that were played, in sample order.
        failed_as_text: Whether rows without an answer are there with a text that says so; else they are left out.

    Returns:
        How many rows it has.
    """
    import numpy as np
    import pandas as pd

    places: list[int] = []
    predictions: list[Any] = []
    for row in rows:
        if row.score is not None:
            predictions.append(asking.prediction(row.responses()))
        elif failed_as_text:
            predictions.append(FAILED)
        else:
            continue
        places.append(row.index)
    frame = table.frame.iloc[places].reset_index(drop=True)
    column = np.empty(len(places), dtype=object)
    for place, prediction in enumerate(predictions):  # a list of images is one cell
        column[place] = prediction
    frame[COLUMN] = pd.Series(column, dtype=object)
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(parents=True)
    write_pickle(frame, path)
    return len(places)


def files_beside(path: Path) -> list[Path]:
    """The prediction file and all that was written beside it, sorted."""
    return sorted(file for file in path.parent.rglob("*") if file.is_file())


def model_name(display: str) -> str:
    """A model's name in a file's name: the last part of its own (``Qwen2.5-VL-3B`` of ``hf:Qwen/Qwen2.5-VL-3B``)."""
    _, colon, rest = display.partition(":")
    return (rest if colon and rest else display).rstrip("/").rpartition("/")[2] or "model"


def single_process() -> AbstractContextManager[None]:
    """Let code inside see a world of one process, whatever the environment of this one says."""
    return environment_set(_WORLD)


def _safe(name: str) -> str:
    """A name as one part of a path, that of a folder inside another one."""
    plain = "".join("_" if sign in '/\\:*?"<>|' or not sign.isprintable() else sign for sign in name)
    return plain if plain.strip(".") else "_" * max(len(plain), 1)
