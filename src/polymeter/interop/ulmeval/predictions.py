"""A prediction file in place of a model: its answers are scored like a model's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, ModelError, boundary
from polymeter.core.media.sources import digest, is_pil
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.request import GenerateImage, Output, Parameters, Request, Response
from polymeter.core.settings.repeats import group_repeats
from polymeter.data.fetching.expansion import check_expansion
from polymeter.data.formats import load, require_excel
from polymeter.data.tables.tsv import is_nothing
from polymeter.tasks.table.classes.cells import text_of
from polymeter.tasks.table.files.cells import toliststr
from polymeter.tasks.table.turns import TURN

_INDEX, _PREDICTION = "index", "prediction"
_FAILED = "Failed to obtain answer"
_DAMAGED = "The file is damaged, or of another format than its suffix states: write it again, or rename it."


class Predictions(BatchModel):
    """The answers of a prediction file. A row without an answer, and a row that is missing from the file, are failures.

    Args:
        file: ``{model}_{dataset}.pkl``, or another format that ``load`` reads. A pickle may hold only data.
        name: The model that answered.

    Raises:
        DataError: if the file is missing, is not a table with ``index`` and ``prediction``, or has an index twice.
    """

    def __init__(self, file: Path, name: str) -> None:
        self.display_name = name
        self.traits = ModelTraits(
            name,
            requests={"generate": True, "generate_image": True, "loglikelihood": False},
            modalities={"text": True, "image": True, "audio": True, "video": True},
        )
        self._answers = _answers(file)
        self._identity = {"backend": "predictions", "name": name, "content": digest(file.read_bytes())}

    @property
    def identity(self) -> Mapping[str, Any]:
        """The file's content."""
        return self._identity

    @property
    def count(self) -> int | None:
        """The most frequent number of answers of a row; ``None`` if no row holds a list."""
        counts = [len(answer) for answer in self._answers.values() if isinstance(answer, list)]
        return max(counts, key=counts.count) if counts else None

    @property
    def joins_repeats(self) -> bool:
        """A row holds the answers of all repeats, and must hold exactly that many."""
        return True

    def respond(self, requests: list[Request]) -> list[Response]:
        """The file's answer to each request."""
        return [response for repeats in group_repeats(requests) for response in self._respond(repeats)]

    def _respond(self, repeats: list[Request]) -> list[Response]:
        try:
            return [Response((output,)) for output in self._outputs(repeats)]
        except ModelError as error:
            return [Response.failed(error)] * len(repeats)

    def _outputs(self, repeats: list[Request]) -> list[Output]:
        origin, parameters = repeats[0].origin, repeats[0].parameters
        sample = origin.sample if origin is not None else ""
        if sample not in self._answers:
            raise ModelError(f"The prediction file has no row with the index {sample!r}.", kind="permanent")
        answer = self._answers[sample]
        turn = None if origin is None else origin.metadata.get(TURN)
        items = (answer if isinstance(answer, list) else [answer]) if turn is None else [_turn(answer, turn, sample)]
        outputs = [output for item in items if (output := _output(parameters, item)) is not None]
        if not outputs or len(outputs) != len(items):
            what = f"The prediction file has no answer for the index {sample!r}: {_first_shown(items)}."
            raise ModelError(what, kind="permanent")
        if len(outputs) != len(repeats):
            wanted = f"{len(repeats)} image(s)" if isinstance(parameters, GenerateImage) else str(len(repeats))
            raise ModelError(f"The model gave {len(outputs)} outputs where {wanted} were asked for.")
        return outputs


def _turn(answer: Any, number: int, sample: str) -> Any:
    """The answer to one turn of a conversation: a prediction is the list of all, printed in a spreadsheet.

    Raises:
        ModelError: if there is none.
    """
    try:
        turns = toliststr(answer)
    except DataError as error:
        raise ModelError(f"The prediction of the index {sample!r} is no list of turns: {error.what}") from error
    if number >= len(turns):
        raise ModelError(f"The prediction of the index {sample!r} has {len(turns)} turns, and turn {number} was asked.")
    return turns[number]


def _answers(file: Path) -> dict[str, Any]:
    try:
        table = _read_predictions(file)
    except DataError as error:
        raise DataError(error.what, where=str(file), hint=error.hint or _DAMAGED) from error
    columns = getattr(table, "columns", ())
    for name in (_INDEX, _PREDICTION):
        if name not in columns:
            raise DataError(
                f"{file.name} is not a prediction file: it has no column {name!r}.",
                where=str(file),
                hint="It must hold a DataFrame, or a list of rows, with the columns 'index' and 'prediction'.",
            )
    names = [text_of(value) for value in table[_INDEX]]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        what = f"{file.name} has the index {twice!r} more than once."
        raise DataError(what, where=str(file), hint="Keep one row for each index, with the answer that is scored.")
    return dict(zip(names, (_as_list(value) for value in table[_PREDICTION]), strict=True))


def _read_predictions(file: Path) -> Any:
    """Read the content of a file. The answers of a spreadsheet, or of separated values, are texts as they were written:
    a column of bare numbers holds texts too, and "None" is an answer.
    """
    suffix = file.suffix.lower()
    if suffix not in (".xlsx", ".csv", ".tsv"):
        return _as_table(load(file))
    import pandas as pd

    if suffix == ".xlsx":
        require_excel(file)
    with boundary(DataError, f"Reading {file}"):
        texts: dict[str, Any] = {"dtype": {_PREDICTION: str}, "keep_default_na": False, "na_values": [""]}
        if suffix == ".xlsx":
            check_expansion(file)
            return pd.read_excel(file, engine="openpyxl", **texts)
        return pd.read_csv(file, sep="\t" if suffix == ".tsv" else ",", **texts)


def _as_table(content: Any) -> Any:
    """A table from what VLMEvalKit's versions write as JSON: a list of rows, columns and rows, or lists by column."""
    import pandas as pd

    if isinstance(content, Mapping) and {"columns", "data"} <= content.keys():
        return pd.DataFrame(content["data"], columns=content["columns"], dtype=object)
    is_rows = isinstance(content, list) and bool(content) and all(isinstance(row, Mapping) for row in content)
    is_columns = isinstance(content, Mapping) and bool(content) and all(isinstance(c, list) for c in content.values())
    return pd.DataFrame(content, dtype=object) if is_rows or is_columns else content


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


def _output(parameters: Parameters, item: Any) -> Output | None:
    """An answer as an output; ``None`` if it is not of the kind that the parameters ask for."""
    if isinstance(parameters, GenerateImage):
        return Output(images=(item,)) if is_pil(item) else None
    if is_nothing(item) or not isinstance(item, (str, int, float)):
        return None
    text = str(item)
    return None if text.startswith(_FAILED) else Output(text)


def _first_shown(items: list[Any]) -> str:
    return str(items[0])[:80].rstrip(".") if items else "an empty list"
