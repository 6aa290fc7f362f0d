"""Folders that are a task by themselves: media with a table ``metadata.csv`` (or ``.jsonl``, ``.parquet``), or a folder
of images for each class.
"""

from __future__ import annotations

import mimetypes
import os
from collections import Counter
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.data.opening.first_rows import FirstRows, read_first_rows
from polymeter.tasks.guessed.guess import Guess, guess_rows, metrics, task_name

_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
FILE_NAME = "file_name"
"""The column of such a table that names the files."""
_SPLIT = "train"
"""The only split of a folder of media, as ``datasets`` calls it."""
_SPLITS = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval", "evaluation"})
"""Names of folders that ``datasets`` reads as splits."""
_LABEL = "label"
_QUESTION = "What does this image show?"
_FEWEST_CLASSES = 2
_MOST_SHOWN = 4
_KINDS = ("image", "audio", "video")


def metadata_of(folder: Path) -> Path | None:
    """Find the table that describes the media of a folder; ``None`` if the folder has no such table."""
    return next((file for name in _METADATA if (file := folder / name).is_file()), None)


def is_media_folder(folder: Path) -> bool:
    """Check if a folder has media with a table, or a folder of images for each class."""
    return metadata_of(folder) is not None or len(_classes(folder)) >= _FEWEST_CLASSES


def guess_folder(folder: Path) -> Guess:
    """Make a task of a folder of media.

    Raises:
        PlanError: if its table has no columns with usual names, or its folders are splits and not classes.
        DataError: if its table is empty or cannot be read.
    """
    table = metadata_of(folder)
    if table is None:
        return _guess_classes(folder, _classes(folder))
    first = read_first_rows(table)
    if not first.cells(FILE_NAME):
        raise PlanError(
            f"{table.name} of {folder.name!r} has no column 'file_name' that names the files.",
            where=f"{table}:1",
            hint=f"It has: {', '.join(first.columns)}.",
        )
    kind = media_kind(first)
    return guess_rows(folder, table, first, folder_fields(folder, kind), kind)


def media_kind(first: FirstRows) -> str:
    """Return the kind of media that most rows of a folder's table name."""
    names = [str(cell) for cell in first.cells(FILE_NAME)]
    return (Counter(map(_kind_of, names)).most_common(1)[0][0] if names else "") or "image"


def folder_fields(folder: Path, kind: str) -> dict[str, Any]:
    """Return the fields that name a folder of media as the data of a task beside it."""
    return {
        "dataset_path": f"{kind}folder",
        "dataset_kwargs": {"data_dir": folder.name},
        "test_split": _SPLIT,
    }


def _guess_classes(folder: Path, classes: list[str]) -> Guess:
    splits = [name for name in classes if name.lower() in _SPLITS]
    if splits:
        what = f"The folders of {folder.name!r} are called like splits of a data set ({', '.join(splits)})."
        raise PlanError(what, where=str(folder), hint=f"Name one of them: {folder / splits[0]}.")
    fields = {
        "task": task_name(folder),
        **folder_fields(folder, "image"),
        "output_type": "multiple_choice",
        "doc_to_visual": "image",
        "doc_to_text": _QUESTION,
        "doc_to_choice": classes,
        "doc_to_target": _LABEL,
        "metric_list": metrics(is_choice=True),
    }
    shown = ", ".join([*classes[:_MOST_SHOWN], *["…"] * (len(classes) > _MOST_SHOWN)])
    summary = f"{folder.name}: {_QUESTION!r} → prompt, folders ({shown}) → options and target, image → image, acc"
    return Guess(fields, summary, "image", ("image", _LABEL))


def _classes(folder: Path) -> list[str]:
    """Return the names of a folder's folders if each of them holds only images, and no media lie beside them."""
    try:
        with os.scandir(folder) as listed:
            entries = [entry for entry in listed if not entry.name.startswith(".")]
        folders = sorted(entry.name for entry in entries if entry.is_dir())
        if any(_kind_of(entry.name) for entry in entries) or not all(_holds_images(folder / name) for name in folders):
            return []
    except OSError:
        return []
    return folders


def _holds_images(folder: Path) -> bool:
    with os.scandir(folder) as listed:
        names = [entry.name for entry in listed if not entry.name.startswith(".")]
    return bool(names) and all(_kind_of(name) == "image" for name in names)


def _kind_of(name: str) -> str:
    """Return the kind of media of a file by its ending; empty for any other file."""
    kind = (mimetypes.guess_type(name)[0] or "").partition("/")[0]
    return kind if kind in _KINDS else ""
