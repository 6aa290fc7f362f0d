"""Why a dataset cannot be opened, in terms of the files and settings that somebody wrote: ``datasets`` says what went
wrong inside of it. Files are only looked at once opening them has failed, so good ones cost nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from polymeter.core.errors import DataError, did_you_mean

Key = Literal["dataset_path", "dataset_name", "dataset_kwargs", "split"]
"""What of a task's configuration an error is about."""

_SETTINGS = (
    *("data_files", "data_dir", "revision", "token", "features", "encoding", "sep", "delimiter", "column_names"),
    *("field", "load_from_disk", "num_proc", "trust_remote_code", "drop_labels", "drop_metadata", "columns"),
)
_UNKNOWN_SETTING = re.compile(r"unexpected keyword argument '(\w+)'|BuilderConfig .* doesn't have a '(\w+)' key")
_EXAMPLE = "Write dataset_kwargs: {data_files: {test: rows.csv}}; a file lies beside the YAML."
_ROWS = "The first line of a CSV has the names of the columns, and the rows come below it."
_FEATURES = (
    "Leave it out: numbers in a CSV are compared as they are written there. For other types write the rows as .jsonl, "
    "with quotes around what is text."
)
_LONGEST = 300
_MOST_FILES = 3


class SourceError(DataError):
    """A dataset cannot be opened.

    Args:
        what: What is wrong.
        key: What of the task's configuration it is about.
        hint: What to do.
        is_absent: Whether it is not on this machine; else it is here and at fault.
    """

    def __init__(self, what: str, *, key: Key, hint: str = "", is_absent: bool = False) -> None:
        super().__init__(what, hint=hint)
        self.key: Key = key
        self.is_absent = is_absent


def explain(
    error: DataError, path: str, kwargs: Mapping[str, Any], builders: Iterable[str], directory: Path
) -> DataError | None:
    """What to raise in place of an error that was raised while a dataset was loaded; ``None`` if it says enough.

    Args:
        error: The error.
        path: What the dataset is loaded by: a file format, a folder, or an id.
        kwargs: The arguments of ``datasets.load_dataset``.
        builders: The file formats.
        directory: The folder of the task.
    """
    cause = _innermost(error.__cause__)
    if cause is None:
        return None
    unknown = _UNKNOWN_SETTING.search(str(cause))
    if unknown:
        name = unknown[1] or unknown[2]
        hint = did_you_mean(name, _SETTINGS, n=1) or f"Common ones are {', '.join(_SETTINGS[:6])}."
        return SourceError(f"dataset_kwargs has no setting {name!r}.", key="dataset_kwargs", hint=hint)
    if isinstance(kwargs.get("features"), (Mapping, list, str)):
        return SourceError("dataset_kwargs 'features' cannot be written in YAML.", key="dataset_kwargs", hint=_FEATURES)
    if path not in builders:
        near = did_you_mean(path, builders, n=1) if "/" not in path else ""
        why = _line(cause)
        return SourceError(
            f"Dataset {path!r} cannot be loaded: {why}",
            key="dataset_path",
            hint=near or error.hint,
            is_absent=not near and not Path(path).exists(),
        )
    if not kwargs.get("data_files") and not kwargs.get("data_dir"):
        what = f"dataset_path {path!r} is a file format, and dataset_kwargs names no data_files."
        return SourceError(what, key="dataset_kwargs", hint=_EXAMPLE)
    return _in_files(path, kwargs, directory) or SourceError(
        f"The {path} files cannot be read{_named(kwargs)}: {_line(cause)}", key="dataset_kwargs", hint=error.hint
    )


def missing_split(dataset: str, split: str, has: Iterable[str]) -> SourceError:
    """The error for a split that a dataset does not have."""
    names = sorted(map(str, has))
    near = did_you_mean(split, names, n=1)
    hint = f"{near} It has: {', '.join(names)}.".strip()
    return SourceError(f"Dataset {dataset} has no split {split!r}.", key="split", hint=hint)


def _in_files(path: str, kwargs: Mapping[str, Any], directory: Path) -> SourceError | None:
    """What is wrong with the files that the settings name; ``None`` if that cannot be seen."""
    folder = kwargs.get("data_dir")
    if folder and not Path(str(folder)).is_dir():
        near = _near_file(directory / str(folder))
        return SourceError(f"There is no folder {str(folder)!r}.", key="dataset_kwargs", hint=near, is_absent=True)
    if folder and not kwargs.get("data_files"):
        holds = sorted(entry.name for entry in Path(str(folder)).iterdir())[:5]
        what = f"The folder {str(folder)!r} holds nothing that {path!r} reads."
        return SourceError(what, key="dataset_kwargs", hint=f"It holds: {', '.join(holds) or 'nothing'}.")
    for name in _names(kwargs.get("data_files")):
        file = Path(name)
        if any(sign in name for sign in "*?[") or "://" in name:
            continue
        if not file.exists():
            near = _near_file(directory / file)
            return SourceError(f"There is no file {name!r}.", key="dataset_kwargs", hint=near, is_absent=True)
        if file.is_file() and (found := _in_file(path, file)):
            return found
    return None


def _in_file(path: str, file: Path) -> SourceError | None:
    """What is wrong with a file."""
    if file.stat().st_size == 0:
        return SourceError(f"The file {file.name} is empty (0 bytes).", key="dataset_kwargs", hint=_ROWS)
    if path == "csv":
        with file.open("rb") as lines:
            is_header_only = sum(1 for _, line in zip(range(2), filter(bytes.strip, lines), strict=False)) < 2
        if is_header_only:
            return SourceError(f"The file {file.name} has column names and no rows.", key="dataset_kwargs", hint=_ROWS)
    if path == "json" and file.suffix == ".jsonl":
        return _in_json_lines(file)
    return _in_encoding(file) if path == "csv" else None


def _in_encoding(file: Path) -> SourceError | None:
    """The first line of a file that is no UTF-8."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"0x{line[error.start]:02x}"
                return SourceError(
                    f"The file {file.name} is not written in UTF-8: line {number} has the byte {byte}.",
                    key="dataset_kwargs",
                    hint="Save it as UTF-8, or name its encoding in dataset_kwargs, such as encoding: cp1252.",
                )
    return None


def _named(kwargs: Mapping[str, Any]) -> str:
    names = [Path(name).name for name in _names(kwargs.get("data_files"))]
    return f" ({', '.join(names[:_MOST_FILES])}{', …' * (len(names) > _MOST_FILES)})" if names else ""


def _in_json_lines(file: Path) -> SourceError | None:
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if line.strip():
                    json.loads(line)
            except ValueError as error:
                what = f"Line {number} of {file.name} is not valid JSON: {error}."
                return SourceError(
                    what, key="dataset_kwargs", hint='Each line holds a row: {"question": …, "answer": …}'
                )
    return None


def _near_file(file: Path) -> str:
    """A sentence with a file beside the one that is missing and has nearly its name; else where it was looked for."""
    parent = file.parent
    near = did_you_mean(file.name, (entry.name for entry in parent.iterdir()), n=1) if parent.is_dir() else ""
    return near or f"It is looked for in {parent} and in the working directory."


def _names(files: Any) -> Iterator[str]:
    if isinstance(files, (Mapping, list, tuple)):
        for item in files.values() if isinstance(files, Mapping) else files:
            yield from _names(item)
    elif files is not None:
        yield str(files)


def _innermost(error: BaseException | None) -> BaseException | None:
    """The error behind the errors in which ``datasets`` wraps it."""
    while error is not None and type(error).__name__ == "DatasetGenerationError" and error.__cause__ is not None:
        error = error.__cause__
    return error


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{text[:_LONGEST].rstrip('.')}."
