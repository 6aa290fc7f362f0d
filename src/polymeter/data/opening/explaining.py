"""Reasons why a dataset cannot be opened, in terms of the files and settings that somebody wrote: ``datasets`` reports
errors of its own internals. Files are only looked at once opening them has failed, so good ones are not slower.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from polymeter.core.errors import DataError, did_you_mean
from polymeter.core.text.phrases import first_of

Key = Literal["dataset_path", "dataset_name", "dataset_kwargs", "split"]
"""The key of a task's configuration that an error is about."""

_SETTINGS = (
    "data_files", "data_dir", "revision", "token", "features", "encoding", "sep", "delimiter", "column_names",
    "field", "load_from_disk", "num_proc", "trust_remote_code", "drop_labels", "drop_metadata", "columns",
)  # fmt: skip
_UNKNOWN_SETTING = re.compile(r"unexpected keyword argument '(\w+)'|BuilderConfig .* doesn't have a '(\w+)' key")
_EMPTY_SLICE = re.compile(r'Instruction "(\w+\[.*\])" corresponds to no data')
_EQUAL_NAMES = re.compile(r"Multiple matches for FieldRef\.Name\((.+?)\) in ")
_OWN_NAME = "Give each column a different name."
_EXAMPLE = "Write dataset_kwargs: {data_files: {test: rows.csv}}; a file lies beside the YAML."
ROWS_BELOW = "The first line of a CSV has the names of the columns, and the rows come below it."
"""The advice for a table without rows."""
_FEATURES = (
    "Leave it out: numbers in a CSV are compared as written. For other types write the rows as .jsonl, "
    "with quotes around what is text."
)
_AS_CSV = "Save it as CSV in UTF-8 (in a spreadsheet: save as, CSV UTF-8) and name that file."
_AS_EXCEL = "Write dataset_path: excel, and name the file in dataset_kwargs: {data_files: …}."
_EXCEL = ".xlsx"
_READ_EXCEL = ("csv", "excel")
_SPREADSHEETS = (_EXCEL, ".xls", ".ods", ".numbers")
_FILE_KINDS = frozenset(ending[1:] for ending in _SPREADSHEETS)
_STARTS = (
    (b"\xff\xfe", "written in UTF-16, not in UTF-8"),
    (b"\xfe\xff", "written in UTF-16, not in UTF-8"),
    (b"PK\x03\x04", "an archive or a spreadsheet, not a text file"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet, not a text file"),
    (b"\x1f\x8b", "compressed, not a text file"),
    (b"PAR1", "a Parquet file, not a text file"),
)
"""The first bytes of files that are taken for text by mistake."""
_READ = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow")
_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPED = (
    "In double quotes YAML reads \\n, \\t and \\b as characters of their own: put the path in single quotes, or write "
    "/ in place of \\."
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


def refuse_equal_names(names: Sequence[str], file: Path, *, has_lines: bool = True) -> None:
    """Refuse a table that has two columns of one name.

    Args:
        names: The names of its columns.
        file: The file that it is in.
        has_lines: Whether they are the first line of that file.

    Raises:
        DataError: if it has.
    """
    equal = next((name for name in names if name and list(names).count(name) > 1), None)
    if equal is not None:
        where = f"{file}:1" if has_lines else str(file)
        raise DataError(f"The table {file.name} has two columns {equal!r}.", where=where, hint=_OWN_NAME)


def explain(
    error: DataError, path: str, kwargs: Mapping[str, Any], builders: Iterable[str], directory: Path
) -> DataError | None:
    """Return the error to raise instead of one that was raised while a dataset was loaded; ``None`` if it says enough.

    Args:
        error: The error.
        path: What the dataset is loaded by: a file format, a folder, or an id.
        kwargs: The arguments of ``datasets.load_dataset``.
        builders: The file formats.
        directory: The folder of the task.
    """
    cause = root_cause(error.__cause__)
    if cause is None:
        return None
    told = _explained(str(cause), path, kwargs)
    if told is not None:
        return told
    if path not in builders and (path in _FILE_KINDS or Path(path).suffix.lower() in _SPREADSHEETS):
        what = f"dataset_path {path!r} is not a format of data that can be read."
        is_read = _EXCEL in (f".{path}", Path(path).suffix.lower())
        return SourceError(
            what, key="dataset_path", hint=_AS_EXCEL if is_read else f"Write dataset_path: csv. {_AS_CSV}"
        )
    if path not in builders:
        near = did_you_mean(path, builders, n=1) if "/" not in path else ""
        why = sentence(cause)
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
        f"The {path} files cannot be read{_files_named(kwargs)}: {sentence(cause)}",
        key="dataset_kwargs",
        hint=error.hint,
    )


def _explained(message: str, path: str, kwargs: Mapping[str, Any]) -> SourceError | None:
    """Return the explanation of a failure if its message names its reason, else ``None``."""
    equal = _EQUAL_NAMES.search(message)
    if equal:
        return SourceError(
            f"A table of {path!r}{_files_named(kwargs)} has two columns {equal[1]!r}.",
            key="dataset_path",
            hint=_OWN_NAME,
        )
    unknown = _UNKNOWN_SETTING.search(message)
    if unknown:
        name = unknown[1] or unknown[2]
        hint = did_you_mean(name, _SETTINGS, n=1) or f"Common ones are {', '.join(_SETTINGS[:6])}."
        return SourceError(f"dataset_kwargs has no setting {name!r}.", key="dataset_kwargs", hint=hint)
    if isinstance(kwargs.get("features"), (Mapping, list, str)):
        return SourceError("dataset_kwargs 'features' cannot be written in YAML.", key="dataset_kwargs", hint=_FEATURES)
    sliced = _EMPTY_SLICE.search(message)
    if sliced:
        hint = "Rows count from 0, so test[:100] is the first hundred."
        return SourceError(f"The slice {sliced[1]!r} names no rows.", key="split", hint=hint)
    return None


def missing_split(dataset: str, split: str, has: Iterable[str]) -> SourceError:
    """The error for a split that a dataset does not have."""
    names = sorted(map(str, has))
    near = did_you_mean(split, names, n=1)
    hint = f"{near} It has: {', '.join(names)}.".strip()
    return SourceError(f"Dataset {dataset} has no split {split!r}.", key="split", hint=hint)


def _in_files(path: str, kwargs: Mapping[str, Any], directory: Path) -> SourceError | None:
    """Return the error in the files that the settings name; ``None`` if none is found."""
    folder = kwargs.get("data_dir")
    if folder and not Path(str(folder)).is_dir():
        near = _near_file(directory / str(folder))
        return SourceError(f"There is no folder {str(folder)!r}.", key="dataset_kwargs", hint=near, is_absent=True)
    if folder and not kwargs.get("data_files"):
        holds = sorted(entry.name for entry in Path(str(folder)).iterdir())[:5]
        what = f"The folder {str(folder)!r} holds nothing that {path!r} reads."
        return SourceError(what, key="dataset_kwargs", hint=f"It holds: {', '.join(holds) or 'nothing'}.")
    for name in _file_names(kwargs.get("data_files")):
        file = Path(name)
        if any(sign in name for sign in "*?[") or "://" in name:
            continue
        if file.is_dir():
            what = f"{file.name!r} in data_files is a folder, not a file."
            return SourceError(what, key="dataset_kwargs", hint=_inside(file))
        if not file.exists():
            is_escaped = _CONTROL.search(name) is not None
            near = _ESCAPED if is_escaped else _near_file(directory / file)
            what = f"There is no file {name!r}."
            return SourceError(what, key="dataset_kwargs", hint=near, is_absent=not is_escaped)
        if file.is_file() and (found := file_problem(path, file)):
            return found
    return None


def file_problem(path: str, file: Path) -> SourceError | None:
    """Return the error in a file that could not be read, as far as its content shows."""
    if file.stat().st_size == 0:
        return SourceError(f"The file {file.name} is empty (0 bytes).", key="dataset_kwargs", hint=ROWS_BELOW)
    if file.suffix.lower() == _EXCEL and path in _READ_EXCEL:
        return None
    if path != "parquet" and (what := _other_kind(file)):
        return SourceError(f"The file {file.name} is {what}.", key="dataset_kwargs", hint=_AS_CSV)
    if path == "csv":
        with file.open("rb") as lines:
            is_header_only = sum(1 for _, line in zip(range(2), filter(bytes.strip, lines), strict=False)) < 2
        if is_header_only:
            return SourceError(
                f"The file {file.name} has column names and no rows.", key="dataset_kwargs", hint=ROWS_BELOW
            )
    if path == "json":
        is_lines = file.suffix == ".jsonl"
        found = broken_json_line(file, file.name, '{"question": …, "answer": …}') if is_lines else _broken_json(file)
        return SourceError(found[0], key="dataset_kwargs", hint=found[1]) if found else None
    return in_other_encoding(file) if path == "csv" else None


def in_other_encoding(file: Path) -> SourceError | None:
    """Return the error for a file of text that is not UTF-8; ``None`` if it is, or if it is not text at all."""
    found = None if _other_kind(file) else first_bad_byte(file)
    if found is None:
        return None
    # In JSON there is no other encoding, and a table that is a task by itself has no dataset_kwargs.
    named = ", or name its encoding in dataset_kwargs, such as encoding: cp1252" if file.suffix == ".csv" else ""
    return SourceError(bad_byte_sentence(file.name, found), key="dataset_kwargs", hint=f"Save it as UTF-8{named}.")


def bad_byte_sentence(shown: str, found: tuple[int, int]) -> str:
    """The sentence about a file that is not UTF-8.

    Args:
        shown: Its name in the message.
        found: The line and the byte.
    """
    return f"{shown} is not UTF-8: line {found[0]} has the byte 0x{found[1]:02x}."


def first_bad_byte(file: Path) -> tuple[int, int] | None:
    """The first line of a file that is not UTF-8, counted from 1, and the byte there; ``None`` if all are."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return number, line[error.start]
    return None


def _files_named(kwargs: Mapping[str, Any]) -> str:
    names = [Path(name).name for name in _file_names(kwargs.get("data_files"))]
    return f" ({first_of(names, _MOST_FILES)})" if names else ""


def _broken_json(file: Path) -> tuple[str, str] | None:
    """Return the error in a file that is not one value of JSON, and what to do; rows on lines of their own are fine."""
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        json.loads(text)
    except ValueError as error:
        if not str(error).startswith("Extra data"):
            return (
                f"The file {file.name} is not valid JSON: {error}.",
                "Write a list of rows, separated by commas.",
            )
    return None


def _other_kind(file: Path) -> str:
    """Return the kind of a file that is not text in UTF-8; empty if it may be."""
    with file.open("rb") as content:
        start = content.read(4)
    if file.suffix.lower() in _SPREADSHEETS:
        return "a spreadsheet, not a text file"
    return next((what for sign, what in _STARTS if start.startswith(sign)), "")


def broken_json_line(file: Path, shown: str, example: str) -> tuple[str, str] | None:
    """Return the error in the first line of a file that is not valid JSON, and what to do; ``None`` if all are.

    Args:
        file: A file of JSON lines.
        shown: Its name in the message.
        example: What a line may look like.
    """
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if line.strip():
                    json.loads(line)
            except ValueError as error:
                return f"Line {number} of {shown} is not valid JSON: {error}.", f"Each line holds a row: {example}"
    return None


def _inside(folder: Path) -> str:
    """Return the text to write instead of a folder."""
    names = sorted(entry.name for entry in folder.iterdir() if entry.suffix.lower() in _READ)
    if names:
        return f"Name a file in it: {first_of(names, _MOST_FILES)}."
    return "A folder of images is named with dataset_path: imagefolder and dataset_kwargs: {data_dir: FOLDER}."


def _near_file(file: Path) -> str:
    """A sentence with a file beside the one that is missing and has nearly its name; else where it was looked for."""
    parent = file.parent
    near = did_you_mean(file.name, (entry.name for entry in parent.iterdir()), n=1) if parent.is_dir() else ""
    return near or f"It is looked for in {parent} and in the working directory."


def _file_names(files: Any) -> Iterator[str]:
    if isinstance(files, (Mapping, list, tuple)):
        for item in files.values() if isinstance(files, Mapping) else files:
            yield from _file_names(item)
    elif files is not None:
        yield str(files)


def root_cause(error: BaseException | None) -> BaseException | None:
    """The error behind the errors in which ``datasets`` wraps it."""
    while error is not None and type(error).__name__ == "DatasetGenerationError" and error.__cause__ is not None:
        error = error.__cause__
    return error


def sentence(error: BaseException) -> str:
    """Return the message of an error, on one line that ends with a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{text[:_LONGEST].rstrip('.')}."
