"""``vlmeval.smp.file``, as far as it differs from ``ulmeval.smp.file``: which files an evaluation reads and writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from polymeter.data import formats
from polymeter.interop.ulmeval.prediction_formats import prediction_format, scores_format, write_table

__all__ = [
    "dump",
    "get_eval_file_format",
    "get_eval_file_path",
    "get_intermediate_file_path",
    "get_pred_file_format",
    "get_pred_file_path",
]

_BY_ENDING = {
    "pkl": ("_tmp", "_response", "_processed"),
    "json": ("_rating", "_config", "_meta"),
}
_NUMBERS = ("_acc", "_fine", "_metrics")


def dump(data: Any, f: str | os.PathLike[str], **kwargs: Any) -> None:
    """Write data to a file, in the format of its suffix; a table as ``json`` is a list of its rows.

    Raises:
        DataError: if the format is unknown, or the data cannot be written in it.
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame) and not kwargs:
        write_table(data, Path(f))
    else:
        formats.dump(data, os.fspath(f), **kwargs)


def get_pred_file_format() -> str:
    """The format of prediction files: what ``PRED_FORMAT`` says, else ``xlsx``.

    Raises:
        PlanError: if it is unknown.
    """
    return prediction_format()


def get_pred_file_path(work_dir: str, model_name: str, dataset_name: str, use_env_format: bool = True) -> str:
    """The path of a prediction file.

    Raises:
        PlanError: if its format is unknown.
    """
    kind = get_pred_file_format() if use_env_format else "xlsx"
    return os.path.join(work_dir, f"{model_name}_{dataset_name}.{kind}")


def get_eval_file_format() -> str:
    """The format of tables of scores: what ``EVAL_FORMAT`` says, else ``csv``.

    Raises:
        PlanError: if it is unknown.
    """
    return scores_format()


def get_eval_file_path(eval_file: str, judge_model: str, use_env_format: bool = True) -> str:
    """The path of a judge's table of scores beside a prediction file.

    Raises:
        PlanError: if its format is unknown.
    """
    kind = get_eval_file_format() if use_env_format else "xlsx"
    return f"{os.path.splitext(eval_file)[0]}_{judge_model}.{kind}"


def get_intermediate_file_path(eval_file: str, suffix: str, target_format: str | None = None) -> str:
    """The path of a file that an evaluation writes beside the predictions.

    Args:
        eval_file: The predictions.
        suffix: The text appended to the name.
        target_format: Its file format; default: by the suffix.

    Raises:
        PlanError: if that is the format of an environment variable that is unknown.
    """
    kind = target_format or next((kind for kind, ends in _BY_ENDING.items() if suffix.endswith(ends)), None)
    if kind is None:
        kind = get_eval_file_format() if suffix.endswith(_NUMBERS) else get_pred_file_format()
    return f"{os.path.splitext(eval_file)[0]}{suffix}.{kind}"
