"""Answers as authors score them, and the prediction file that holds them: ``{model}_{dataset}.pkl``, a pickled
DataFrame of the dataset's rows with the model's answers in the column ``prediction``.

The file is made from the run's answers when it is needed. Images are references to the files in which the run keeps
them and open on first access, so the file is small and no pixels are held while it is made.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.places import file_name
from polymeter.core.records import dataclass
from polymeter.core.request import Generate, GenerateImage, Response
from polymeter.core.task import ReduceContext, ScoredRow
from polymeter.data.pickles import write_pickle
from polymeter.formats.table.roots import file_stem
from polymeter.formats.table.rows import Table

COLUMN = "prediction"
FAILED = "Failed to obtain answer via API."
"""ULMEvalKit's ``FAIL_MSG``, which authors compare answers with."""
_SUFFIX = ".pkl"


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """The settings of a dataset's prediction file.

    Attributes:
        table: All rows of the dataset; its name is part of the file's.
        parameters: The parameters of the requests.
        model_id: The model's name in the file's name; empty: the last part of its name.
        failed_as_text: Whether rows without an answer are included, with a text that says so.
    """

    table: Table
    parameters: Generate | GenerateImage
    model_id: str = ""
    failed_as_text: bool = False


def prediction_of(name: str, parameters: Generate | GenerateImage, responses: Sequence[Response]) -> Any:
    """The prediction that authors score: a list of images (also for a single one), or a text (a list for several
    answers).

    Raises:
        ScoreError: if there is no answer.
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


def write_predictions(
    file: PredictionFile, rows: Iterable[ScoredRow], context: ReduceContext
) -> tuple[Path, list[int]]:
    """Write the file into a separate folder.

    Files that an earlier call of ``evaluate`` left there are deleted: authors would take them for results of these
    predictions.

    Args:
        file: Its settings.
        rows: The rows of the run, in sample order.
        context: Gives its folder and the model's name.

    Returns:
        The file, and the numbers of the table's rows that it has.
    """
    import numpy as np
    import pandas as pd

    table = file.table
    path = prediction_path(context.output_dir, file.model_id or model_name(context.model), table.name)
    numbers: list[int] = []
    predictions: list[Any] = []
    for row in rows:
        if row.score is not None:
            predictions.append(prediction_of(table.name, file.parameters, row.responses()))
        elif file.failed_as_text:
            predictions.append(FAILED)
        else:
            continue
        numbers.append(row.index)
    frame = table.frame.iloc[numbers].reset_index(drop=True)
    column = np.empty(len(numbers), dtype=object)
    for number, prediction in enumerate(predictions):  # a list of images is one cell
        column[number] = prediction
    frame[COLUMN] = pd.Series(column, dtype=object)
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(parents=True)
    write_pickle(frame, path)
    return path, numbers


def prediction_path(folder: Path, model: str, dataset: str) -> Path:
    """The path of the prediction file of a model and dataset: in a folder for the dataset, so that ``evaluate`` can
    write files beside it.
    """
    return folder / file_stem(dataset) / file_name(f"{_safe(model)}_{_safe(dataset)}", _SUFFIX)


def model_name(display: str) -> str:
    """A model's name in a file's name: the last part of its name (``Qwen2.5-VL-3B`` of ``hf:Qwen/Qwen2.5-VL-3B``)."""
    _, colon, path = display.partition(":")
    return (path if colon and path else display).rstrip("/").rpartition("/")[2] or "model"


def _safe(name: str) -> str:
    """A name as one component of a path."""
    plain = "".join("_" if sign in '/\\:*?"<>|' or not sign.isprintable() else sign for sign in name)
    return plain if plain.strip(".") else "_" * max(len(plain), 1)
