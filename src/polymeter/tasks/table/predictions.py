"""Answers as authors score them, and the prediction file that holds them: ``{model}_{dataset}.pkl``, a pickled
DataFrame of the dataset's rows with the model's answers in the column ``prediction``, or the same table in another
format that the authors expect.

The file is made from the run's answers when it is needed. Images are references to the files in which the run keeps
them and open on first access, so the file is small and no pixels are held while it is made.

A whole prediction file gives whole numbers: ``evaluate`` runs once for each scoring, in a folder without the side
files of an earlier one. Where only ``evaluate`` knows the scores, no interval is made up. A class that wants
intervals scores each sample through ``evaluate_sample``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polymeter.core.errors import ScoreError
from polymeter.core.machine.places import file_name
from polymeter.core.request import Generate, GenerateImage, Response
from polymeter.core.task import ReduceContext, ScoredRow
from polymeter.data.pickles import write_pickle
from polymeter.tasks.table.files.roots import file_stem
from polymeter.tasks.table.rows import TableRows

if TYPE_CHECKING:
    import pandas as pd

COLUMN = "prediction"
FAILED = "Failed to obtain answer via API."
"""ULMEvalKit's ``FAIL_MSG``, which authors compare answers with."""
PICKLE = ".pkl"
RETURNED = "evaluate.json"
"""The file beside the predictions that holds what ``evaluate`` returned."""


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """The settings of a dataset's prediction file.

    Attributes:
        table: All rows of the dataset; its name is part of the file's.
        parameters: The parameters of the requests.
        model_id: The model's name in the file's name; empty: the last part of its name.
        failed_as_text: Whether rows without an answer are included, with a text that says so.
        suffix: Its format. Of other formats than a pickle, predictions are texts: several answers are a printed list.
        left_out: Columns of the table that it does not have.
        is_conversation: Whether a prediction is a list of turns, also of one.
        write: Writes it.
        made_of: Makes the rows that are written of the rows that were asked; ``None``: these are the same.
    """

    table: TableRows
    parameters: Generate | GenerateImage
    model_id: str = ""
    failed_as_text: bool = False
    suffix: str = PICKLE
    left_out: tuple[str, ...] = ()
    is_conversation: bool = False
    write: Callable[[pd.DataFrame, Path], None] = write_pickle
    made_of: Callable[[pd.DataFrame], pd.DataFrame] | None = None


class WrittenPredictions(NamedTuple):
    """A prediction file.

    Attributes:
        path: The file.
        frame: What has been written.
    """

    path: Path
    frame: pd.DataFrame


def prediction_of(
    name: str, parameters: Generate | GenerateImage, responses: Sequence[Response], *, is_conversation: bool = False
) -> Any:
    """The prediction that authors score: a list of images (also for a single one), or a text (a list for several
    answers, and for a conversation).

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
    return texts[0] if len(texts) == 1 and not is_conversation else texts


def write_predictions(file: PredictionFile, rows: Iterable[ScoredRow], context: ReduceContext) -> WrittenPredictions:
    """Write the file into a separate folder.

    Files that an earlier call of ``evaluate`` left there are deleted: authors would take them for results of these
    predictions.

    Args:
        file: Its settings.
        rows: The rows of the run, in sample order.
        context: Gives its folder and the model's name.
    """
    import numpy as np
    import pandas as pd

    table = file.table
    path = prediction_path(context.output_dir, file.model_id or model_name(context.model), table.name, file.suffix)
    numbers: list[int] = []
    predictions: list[Any] = []
    for row in rows:
        if row.score is not None:
            predictions.append(_prediction(file, row))
        elif file.failed_as_text:
            predictions.append(FAILED)
        else:
            continue
        numbers.append(row.index)
    frame = table.data.iloc[numbers].reset_index(drop=True)
    frame = frame.drop(columns=[name for name in file.left_out if name in frame.columns])
    column = np.empty(len(numbers), dtype=object)
    for number, prediction in enumerate(predictions):  # a list of images is one cell
        column[number] = prediction if file.suffix == PICKLE else str(prediction)
    frame[COLUMN] = pd.Series(column, dtype=object)
    frame = frame if file.made_of is None else file.made_of(frame)
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(parents=True)
    file.write(frame, path)
    return WrittenPredictions(path, frame)


def _prediction(file: PredictionFile, row: ScoredRow) -> Any:
    return prediction_of(file.table.name, file.parameters, row.responses(), is_conversation=file.is_conversation)


def prediction_path(folder: Path, model: str, dataset: str, suffix: str = PICKLE) -> Path:
    """The path of the prediction file of a model and dataset: in a folder for the dataset, so that ``evaluate`` can
    write files beside it.
    """
    return folder / file_stem(dataset) / file_name(f"{_safe(model)}_{_safe(dataset)}", suffix)


def model_name(display: str) -> str:
    """A model's name in a file's name: the last part of its name (``Qwen2.5-VL-3B`` of ``hf:Qwen/Qwen2.5-VL-3B``)."""
    _, colon, path = display.partition(":")
    return (path if colon and path else display).rstrip("/").rpartition("/")[2] or "model"


def _safe(name: str) -> str:
    """A name as one component of a path."""
    plain = "".join("_" if sign in '/\\:*?"<>|' or not sign.isprintable() else sign for sign in name)
    return plain if plain.strip(".") else "_" * max(len(plain), 1)
