"""Answers as authors score them, and the prediction file that holds them: ``{model}_{dataset}.pkl``, a pickled
DataFrame of the dataset's rows with what the model answered in the column ``prediction``.

The file is made from the run's answers when it is asked for. Images are references to the files in which the run keeps
them, opened at first access, so the file is small and making it holds no pixels.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.request import Generate, GenerateImage, Response
from polymeter.core.task import ReduceContext, ScoredRow
from polymeter.data.pickles import write_pickle
from polymeter.formats.table.roots import file_stem
from polymeter.formats.table.rows import Table

COLUMN = "prediction"
FAILED = "Failed to obtain answer"
"""What ULMEvalKit writes in place of an answer that it could not have."""
_ENDING = ".pkl"


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """What the prediction file of a dataset is made with.

    Attributes:
        table: All rows of the dataset, whose name is the file's.
        parameters: What was asked for.
        model_id: The model's name in the file's name; empty: the last part of its own.
        failed_as_text: Whether rows without an answer are there with a text that says so; else they are left out.
    """

    table: Table
    parameters: Generate | GenerateImage
    model_id: str = ""
    failed_as_text: bool = False


def prediction_of(name: str, parameters: Generate | GenerateImage, responses: Sequence[Response]) -> Any:
    """What authors score: a list of images (a list also of one), or a text (a list of texts where several answers were
    asked for).

    Raises:
        ScoreError: if there is none.
    """
    outputs = [output for response in responses for output in response.outputs]
    if isinstance(parameters, GenerateImage):
        images = [image for output in outputs for image in output.images]
        if not images:
            raise ScoreError(f"The model gave no image for a sample of {name!r}.")
        return images
    if not outputs:
        raise ScoreError(f"The model gave no text for a sample of {name!r}.")
    texts = [output.text or "" for output in outputs]
    return texts[0] if len(texts) == 1 else texts


def write_predictions(file: PredictionFile, rows: Iterable[ScoredRow], context: ReduceContext) -> tuple[Path, int]:
    """Write the file into a folder of its own.

    What an earlier call of ``evaluate`` left beside it goes: authors take such files for their own results of these
    predictions.

    Args:
        file: What it is made with.
        rows: The rows that were played, in sample order.
        context: Says where it goes, and what the model is called.

    Returns:
        The file, and how many rows it has.
    """
    import numpy as np
    import pandas as pd

    table = file.table
    path = prediction_path(context.output_dir, file.model_id or model_name(context.model), table.name)
    places: list[int] = []
    predictions: list[Any] = []
    for row in rows:
        if row.score is not None:
            predictions.append(prediction_of(table.name, file.parameters, row.responses()))
        elif file.failed_as_text:
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
    return path, len(places)


def prediction_path(folder: Path, model: str, dataset: str) -> Path:
    """Where the prediction file of a model and dataset lies: in a folder of the dataset, for the files that
    ``evaluate`` writes beside it.
    """
    return folder / file_stem(dataset) / f"{_safe(model)}_{_safe(dataset)}{_ENDING}"


def model_name(display: str) -> str:
    """A model's name in a file's name: the last part of its own (``Qwen2.5-VL-3B`` of ``hf:Qwen/Qwen2.5-VL-3B``)."""
    _, colon, rest = display.partition(":")
    return (rest if colon and rest else display).rstrip("/").rpartition("/")[2] or "model"


def _safe(name: str) -> str:
    """A name as one part of a path, that of a folder inside another one."""
    plain = "".join("_" if sign in '/\\:*?"<>|' or not sign.isprintable() else sign for sign in name)
    return plain if plain.strip(".") else "_" * max(len(plain), 1)
