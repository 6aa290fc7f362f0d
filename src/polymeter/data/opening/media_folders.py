"""Folders of images, audio files or videos with a table beside them, and the files that ``datasets`` silently ignores.

``imagefolder`` and its siblings read names of files from ``metadata.csv`` (or ``.jsonl``, ``.parquet``). A name without
a file, a file without a row, a row without a name, a row that occurs twice, and a table with another name all change
the meaning of a result, so each is reported before anything is asked. Nothing is opened: folders are listed once.
"""

from __future__ import annotations

import csv
import mimetypes
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, count, did_you_mean, enumerated
from polymeter.core.media.sources import on_disk
from polymeter.core.text.phrases import first_of
from polymeter.data.media import is_list, modality_of
from polymeter.data.opening.explaining import (
    SourceError,
    bad_byte_sentence,
    broken_json_line,
    first_bad_byte,
    root_cause,
    sentence,
)

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

FOLDER_BUILDERS = ("imagefolder", "audiofolder", "videofolder")
_METADATA = frozenset({"metadata.csv", "metadata.jsonl", "metadata.parquet"})
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".xls")
_NAME_COLUMN = re.compile(r"(?:.*_)?file_names?")
_REFUSED_NAME = re.compile(r"Invalid metadata file_name '(.*?)': ")
_LABEL = "label"
_SHOWN = 3


def media_folder_notes(dataset: datasets.Dataset) -> tuple[str, ...]:
    """Return problems of the rows of a folder of media; none for any other dataset.

    Raises:
        SourceError: if none of the files that its rows name exists.
    """
    if dataset.info.builder_name not in FOLDER_BUILDERS:
        return ()
    rows = _FolderRows(dataset)
    return tuple(f"{rows.folder.name}: {note}" for note in rows.notes()) if rows.files else ()


def folder_problem(error: DataError, path: str, kwargs: Mapping[str, Any]) -> SourceError | None:
    """Return the error in the table of a folder of media that cannot be read; ``None`` if it has none.

    Args:
        error: The error that was raised while it was loaded.
        path: What it is loaded by: a format, or the folder.
        kwargs: The arguments of ``datasets.load_dataset``.
    """
    if path not in FOLDER_BUILDERS and not Path(path).is_dir():
        return None
    folder = Path(str(kwargs.get("data_dir") or path))
    if kwargs.get("data_files") or not folder.is_dir():
        return None
    tables = sorted(file for name in _METADATA for file in folder.rglob(name))
    if not tables:
        return None
    cause = root_cause(error.__cause__)
    found = next(filter(None, (_in_table(file, folder) for file in tables)), None)
    kinds = sorted({file.name for file in tables})
    what, hint = f"The folder {folder.name!r} cannot be read: {sentence(cause) if cause else error.what}", ""
    refused = _REFUSED_NAME.match(str(cause))
    if found is not None:
        what, hint = found
    elif len(kinds) > 1:
        what, hint = f"The folder {folder.name!r} has {' and '.join(kinds)}.", "Keep one of them."
    elif refused:
        what = f"{_below_folder(tables[0], folder)} names {refused[1]!r}, which may lie outside of its folder."
        hint = f"Write names relative to {tables[0].name}, such as {Path(refused[1]).name!r}, with the files below it."
    elif "corresponds to no data" in str(cause):
        what = f"The folder {folder.name!r} has {kinds[0]} for some of its splits only: {_list(tables, folder)}."
        hint = "Put one into the folder of each split."
    return SourceError(what, key="dataset_kwargs", hint=hint)


class _FolderRows:
    """The rows of a folder of media, and what lies beside the files that they name.

    Args:
        dataset: The rows.
    """

    def __init__(self, dataset: datasets.Dataset) -> None:
        self._dataset = dataset
        self._n = len(dataset)
        kinds = {name: kind for name, feature in dataset.features.items() if (kind := modality_of(feature))}
        self._kinds = frozenset(kinds.values())
        self._columns = {name: _media_paths(dataset.data.table.column(name), dataset.features[name]) for name in kinds}
        self._plain = [name for name in dataset.features if name not in kinds]
        self._listings: dict[str, frozenset[str]] = {}
        named = (file for paths in self._columns.values() for file in paths if file and "://" not in file)
        self.files = [on_disk(file) for file in named]
        self.folder = self._table_folder(self.files[0]) if self.files else Path()

    def notes(self) -> Iterator[str]:
        """Yield their problems.

        Raises:
            SourceError: if none of the files exists.
        """
        yield from self._missing()
        yield from self._nameless()
        if set(self._plain) <= {_LABEL}:
            yield from self._unread_tables()
        else:
            yield from self._without_row()
            yield from self._repeated()

    def _missing(self) -> Iterator[str]:
        there = {file for file in set(self.files) if os.path.basename(file) in self._listed(os.path.dirname(file))}
        missing = [file for file in dict.fromkeys(self.files) if file not in there]
        if not missing:
            return
        names = _few(os.path.relpath(file, self._table_folder(file)) for file in missing)
        hint = self._where_it_is(missing[0])
        if not there:
            of, place = len(missing), repr(self.folder.name)
            what = f"None of the {of} files named in the rows of {place} exists: {names}."
            if of == 1:
                what = f"The file named in the rows of {place} does not exist: {names}."
            raise SourceError(what, key="dataset_kwargs", hint=hint)
        n = sum(file not in there for file in self.files)
        they = "names a file that does not exist" if n == 1 else "name files that do not exist"
        are = "It is not sent to the model and fails." if n == 1 else "They are not sent to the model and fail."
        yield f"{n} of {count(self._n, 'row')} {they} ({names}). {are} {hint}"

    def _nameless(self) -> Iterator[str]:
        for column, paths in self._columns.items():
            rows = [number for number, path in enumerate(paths, 1) if not path]
            if rows and len(paths) == self._n:
                shown = enumerated("row", rows)
                yield f"{len(rows)} of {self._n} rows: no file is named ({shown}); they are asked without {column!r}."

    def _without_row(self) -> Iterator[str]:
        named = set(self.files)
        endings = {os.path.splitext(file)[1].lower() for file in named}
        unnamed = [
            name
            for folder in sorted({os.path.dirname(file) for file in named})
            for name in sorted(self._listed(folder))
            if self._is_media(name, endings) and os.path.join(folder, name) not in named
        ]
        if unnamed:
            n, names = len(unnamed), _few(unnamed)
            have, are = ("has", "is") if n == 1 else ("have", "are")
            yield f"{n} of its files {have} no row ({names}) and {are} not measured: add rows for those that should be."

    def _is_media(self, name: str, endings: Iterable[str]) -> bool:
        kind = (mimetypes.guess_type(name)[0] or "").partition("/")[0]
        return not name.startswith(".") and (kind in self._kinds or os.path.splitext(name)[1].lower() in endings)

    def _repeated(self) -> Iterator[str]:
        """Several questions about one file are common; the same row again, or another label, is a mistake."""
        columns = [paths for paths in self._columns.values() if len(paths) == self._n]
        if not columns:  # lists of files
            return
        paths, others = columns[0], columns[1:]
        several = {path for path, n in Counter(paths).items() if path and n > 1}
        if not several:
            return
        numbers = [number for number, path in enumerate(paths) if path in several]
        rows = self._dataset.data.table.select(self._plain).take(numbers).to_pylist()
        keys = [
            (paths[number], *(other[number] for other in others), repr(row))
            for number, row in zip(numbers, rows, strict=True)
        ]
        twice = [str(key[0]) for key, n in Counter(keys).items() if n > 1]
        if twice:
            names = _few(map(os.path.basename, twice))
            yield f"{len(twice)} × a row that occurs more than once ({names}): each copy counts."
        elif len(self._plain) == 1:
            names = _few(os.path.basename(str(path)) for path in paths if path in several)
            have = "has" if len(several) == 1 else "have"
            yield f"{len(several)} of its files {have} several rows with different {self._plain[0]!r} ({names})."

    def _unread_tables(self) -> Iterator[str]:
        folder = os.path.commonpath({os.path.dirname(file) for file in self.files})
        tables = self._tables_in(folder)
        beside = self._tables_in(os.path.dirname(folder))
        if not tables and beside:
            yield (
                f"{_few(beside)} beside the folder is not read, so the files have no other columns. Put it into the "
                "folder and call it metadata.csv (or .jsonl, .parquet), with the names of the files in the column "
                "'file_name'."
            )
        elif tables and not set(tables) & set(_METADATA):
            yield (
                f"{_few(tables)} is not read, so the files have no other columns. Call it metadata.csv (or .jsonl, "
                ".parquet), with the names of the files in the column 'file_name'."
            )

    def _tables_in(self, folder: str) -> list[str]:
        return sorted(name for name in self._listed(folder) if os.path.splitext(name)[1].lower() in _TABLES)

    def _where_it_is(self, file: str) -> str:
        """Return the place where a missing file may be, else what to do about it."""
        base, stem = self._table_folder(file), _stem(file)
        for folder in dict.fromkeys((os.path.dirname(file), str(base))):
            near = next((name for name in sorted(self._listed(folder)) if _stem(name) == stem), None)
            if near and self._is_media(near, ()):
                right = os.path.relpath(os.path.join(folder, near), base)
                return f"Write {right!r} and not {os.path.relpath(file, base)!r}."
        return "Correct the names, which are relative to the table's folder, or add the files."

    def _table_folder(self, file: str) -> Path:
        """The nearest folder above a file that has a table; without one, the file's own."""
        parents = Path(file).parents
        return next((parent for parent in parents if self._listed(str(parent)) & _METADATA), parents[0])

    def _listed(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            with suppress(OSError):
                self._listings[folder] = frozenset(os.listdir(folder))
        return self._listings.setdefault(folder, frozenset())


def _media_paths(column: pa.ChunkedArray, feature: Any) -> list[str | None]:
    """The files that a column of media names, in the order of its rows; ``None`` for an empty cell."""
    import pyarrow.compute as pc

    cells = pc.list_flatten(column) if is_list(feature) else column
    return pc.struct_field(cells, "path").to_pylist()  # type: ignore[no-any-return]


def _in_table(file: Path, folder: Path) -> tuple[str, str] | None:
    """Return the error in a table as far as its beginning shows, and what to do."""
    shown = _below_folder(file, folder)
    names = "Its first line has the names of the columns, one of them file_name; the rows come below it."
    if file.stat().st_size == 0:
        return f"The file {shown} is empty (0 bytes).", names
    if file.suffix == ".jsonl":
        return broken_json_line(file, shown, '{"file_name": "0.png", "question": …}')
    if file.suffix != ".csv":
        return None
    if bad := first_bad_byte(file):
        return bad_byte_sentence(shown, bad), "Save it as UTF-8 (in a spreadsheet: save as, CSV UTF-8)."
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        columns, *rows = [*islice(csv.reader(lines), 2)] or [[]]
    if not any(map(_NAME_COLUMN.fullmatch, columns)):
        if len(columns) == 1 and any(sign in columns[0] for sign in ";\t|"):
            return (
                f"The columns of {shown} are not separated by commas: {columns[0]!r}.",
                "Save it separated by commas.",
            )
        near = did_you_mean("file_name", columns, n=1)
        hint = near.replace("Did you mean", "Rename").rstrip("?") + " to 'file_name'." if near else names
        return f"{shown} has no column 'file_name'. It has: {', '.join(columns)}.", hint
    return None if rows else (f"The file {shown} has column names and no rows.", names)


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0].casefold()


def _below_folder(file: Path, folder: Path) -> str:
    return str(Path(folder.name) / file.relative_to(folder))


def _list(files: Iterable[Path], folder: Path) -> str:
    return ", ".join(_below_folder(file, folder) for file in files)


def _few(names: Iterable[str]) -> str:
    shown = [*islice(names, _SHOWN + 1)]
    return first_of(shown, _SHOWN)
