"""``ulmeval.inference``: predictions for a dataset, made in this process and written to one file.

``polymeter run`` and ``polymeter ulmeval`` do more: they resume, record each sample's outcome, and score.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.interop.ulmeval.shim.ulmeval.smp.file import dump, files_of, load

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FAIL_MSG", "infer_data_job"]

FAIL_MSG = "Failed to obtain answer via API."


def infer_data_job(  # noqa: PLR0917  (the signature that scripts are written against)
    model: Any,
    work_dir: str,
    model_name: str,
    dataset: Any,
    verbose: bool = False,
    api_nproc: int = 4,
    ignore_failed: bool = False,
    use_vllm: bool = False,
    num_generations: int = -1,
) -> Any:
    """Write ``{model_name}_{dataset}.pkl``: the dataset's table with a column ``prediction``, a list for each row.

    Rows that this file already has, equal in every column and with the same number of predictions, are not answered
    again. If any row is, the files that an evaluation has written beside the file are deleted, because authors take
    them for results of these predictions.

    Args:
        model: A wrapper, or its name in ``supported_ULM``.
        work_dir: The folder of the file; made if it is missing.
        model_name: The first part of the file's name.
        dataset: The dataset.
        verbose: Not used.
        api_nproc: Not used: rows are answered in order.
        ignore_failed: Not used: a failure ends the call, so no file contains one.
        use_vllm: Not used.
        num_generations: Predictions for each row; -1: the dataset's number, else one.

    Returns:
        The wrapper.
    """
    count = getattr(dataset, "NUM_GENERATIONS", 1) if num_generations == -1 else num_generations
    data = dataset.data.copy()
    data["index"] = data["index"].astype(str)
    path = Path(work_dir, f"{model_name}_{dataset.dataset_name}.pkl")
    earlier = _earlier(path, data, count)

    def ask(wrapper: Any, message: Any) -> Any:
        return wrapper.generate(message, dataset=dataset.dataset_name, num_generations=count)

    return written(model, dataset, data, path, earlier=earlier, ask=ask, write=dump)


def written(
    model: Any,
    dataset: Any,
    data: pd.DataFrame,
    path: Path,
    *,
    earlier: Mapping[str, Any],
    ask: Callable[[Any, Any], Any],
    write: Callable[[pd.DataFrame, str], None],
) -> Any:
    """Answer the rows of a dataset and write the prediction file.

    Args:
        model: A wrapper, or its name in ``supported_ULM``.
        dataset: The dataset.
        data: The rows as they are written.
        path: The file.
        earlier: Existing predictions, by the text of their row's index.
        ask: ``(wrapper, message) → prediction``.
        write: Writes the table.

    Returns:
        The wrapper.
    """
    from polymeter.interop.ulmeval.models.native import supported_ULM

    wrapper = supported_ULM[model]() if isinstance(model, str) else model
    name = dataset.dataset_name
    if hasattr(wrapper, "set_dump_image") and hasattr(dataset, "dump_image"):
        wrapper.set_dump_image(dataset.dump_image)
    is_custom = hasattr(wrapper, "use_custom_prompt") and wrapper.use_custom_prompt(name)
    predictions = []
    for _, line in data.iterrows():
        if str(line["index"]) in earlier:
            predictions.append(earlier[str(line["index"])])
            continue
        predictions.append(
            ask(wrapper, wrapper.build_prompt(line, dataset=name) if is_custom else dataset.build_prompt(line))
        )
    data["prediction"] = predictions
    os.makedirs(path.parent, exist_ok=True)
    if len(earlier) < len(data):
        for stale in files_of(path, name):
            stale.unlink()
    write(data, str(path))
    return wrapper


def _earlier(path: Path, data: pd.DataFrame, count: int) -> dict[str, list[Any]]:
    """The predictions of a file that belong to rows of a table: index → predictions."""
    if not path.is_file():
        return {}
    table = load(str(path))
    if set(table.columns) != {*data.columns, "prediction"}:
        return {}
    then = dict(_cells(table, list(data.columns)))
    now = dict(_cells(data, list(data.columns)))
    stored = {str(index): answers for index, answers in zip(table["index"], table["prediction"], strict=True)}
    return {
        index: answers
        for index, answers in stored.items()
        if index in now and then[index] == now[index] and isinstance(answers, list) and len(answers) == count
    }


def _cells(table: pd.DataFrame, columns: list[str]) -> Iterator[tuple[str, str]]:
    """The index of each row, with the text of all its cells."""
    for row in table[columns].to_dict("records"):
        yield str(row["index"]), repr([str(row[column]) for column in columns])
