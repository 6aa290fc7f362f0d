"""The files and folders that are tasks by themselves.

A table that the user names is one. In a folder that the user names tables count only if nothing else in it is a task,
because the data of tasks lies in their folder too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from polymeter.core.errors import DataError, PolymeterError, Problem
from polymeter.core.machine.folders import files_below
from polymeter.core.names.catalog import Catalog, Claims, Entry, Root, is_default, named_with_protocol, protocol_name
from polymeter.data.opening.first_rows import SUFFIXES
from polymeter.tasks.guessed.folders import is_media_folder
from polymeter.tasks.guessed.guess import task_name
from polymeter.tasks.guessed.reader import NAME, guess_of, table_of
from polymeter.tasks.table.index import is_meant
from polymeter.tasks.table.protocols import readable_protocol

_TSV, _JSON = ".tsv", ".json"


def index_data(roots: Sequence[Root], claims: Claims) -> Catalog:
    """List the tables and folders of media under the roots that are tasks. Others become a ``Problem``."""
    catalog = Catalog()
    for root in roots:
        if root.is_user:
            for place in _places(root, claims):
                _add(catalog, place, is_named=place == root.path and place.is_file())
    return catalog


def _places(root: Root, claims: Claims) -> Iterator[Path]:
    path = root.path
    if path.is_file():
        is_claimed = path.suffix == _TSV and path.stem in claims.names
        if path.suffix.lower() in SUFFIXES and not is_claimed and not _is_of_tables(path):
            yield path
    elif path.is_dir() and not any(file.is_relative_to(path) for file in claims.files):
        if any(map(_is_of_tables, files_below(path, _TSV))):
            return
        if is_media_folder(path):
            yield path
        else:
            yield from (file for file in _files(path) if file.suffix.lower() in SUFFIXES)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError:
        return []


def _is_of_tables(file: Path) -> bool:
    """Check if a TSV belongs to the format of tables, which also reports its problems."""
    if file.suffix != _TSV:
        return False
    try:
        return is_meant(file)
    except DataError:
        return True


def _add(catalog: Catalog, place: Path, *, is_named: bool) -> None:
    try:
        guess_of(place)
    except PolymeterError as error:
        # A .json in a folder may be anything, and the format of tables reports a .tsv.
        if place.suffix == _TSV or (place.suffix.lower() == _JSON and not is_named):
            return
        catalog.problems.append(Problem(error.where or str(place), f"{error.what} {error.hint}".strip()))
    else:
        stated = readable_protocol(table_of(place))
        catalog.add(
            Entry(
                named_with_protocol(task_name(place), stated),
                "task",
                NAME,
                place,
                True,
                about=os.fspath(place.name),
                protocol=protocol_name(stated),
                is_default=is_default(stated),
            )
        )
