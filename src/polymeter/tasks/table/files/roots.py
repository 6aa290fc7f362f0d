"""The places of benchmarks' tables and images: the folder ``LMUData``, and the tables that a run names in place of
others (the ``data`` of ``core.guest_context``: name → file, or a folder that holds ``<name>.tsv``).
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.places import require_place
from polymeter.core.media.sources import digest

_VARIABLE = "LMUData"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=,@() ")
_LONGEST_NAME = 100


def is_offline_here() -> bool:
    """Return whether the current run forbids fetching."""
    return guest_context().is_offline


def table_folders() -> tuple[Path, ...]:
    """The folders that may hold tables: the folder of tables, then that of the class that is being loaded."""
    folder = guest_context().folder
    root = Path(LMUDataRoot())
    return (root,) if folder is None else (root, folder)


def LMUDataRoot() -> str:  # the name that authors' code uses
    """The folder of tables and images: ``$LMUData``, which is created if it is missing, or ``$HOME/LMUData``, which is
    created when something is written to it.
    """
    named = os.environ.get(_VARIABLE)
    if not named:
        return str(Path.home() / _VARIABLE)
    root = Path(named).expanduser().absolute()
    require_place(root, f"${_VARIABLE}")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder {root} cannot be made: {error.strerror}.", where=f"${_VARIABLE}") from error
    return str(root)


def find_data_root() -> Path | None:
    """The folder of tables if it exists; it is not created."""
    named = os.environ.get(_VARIABLE)
    root = Path(named).expanduser().absolute() if named else Path.home() / _VARIABLE
    require_place(root, f"${_VARIABLE}")
    return root if root.is_dir() else None


def named_table(name: str) -> Path | None:
    """The table that the run names for a dataset; ``None`` if it names none.

    Raises:
        DataError: if there is no such file.
    """
    named = guest_context().data.get(name)
    if named is None:
        return None
    path = Path(named).expanduser().absolute()
    require_place(path, f"--data {name}=…")
    if path.is_dir():
        path = path / f"{file_stem(name)}.tsv"
    if not path.is_file():
        raise DataError(f"--data {name}={named}: there is no file {path}.")
    return path


def table_names(name: str, url: str) -> tuple[str, ...]:
    """The file names that a dataset's table may have in the folder of tables: the dataset's own name, under which it is
    downloaded, and the last component of its URL.
    """
    last = unquote(urlsplit(url).path).rsplit("/", 1)[-1] if url else ""
    own = f"{file_stem(name)}.tsv"
    return (own, last) if last not in ("", ".", "..", own) else (own,)


def image_root(name: str) -> Path:
    """The folder that the images of a dataset are written to."""
    return Path(LMUDataRoot()) / "images" / file_stem(name)


def fetched_root(name: str) -> Path:
    """The folder for copies of a dataset's images that are fetched from a URL."""
    return image_root(name) / "fetched"


def file_stem(name: object) -> str:
    """A file name, without suffix, for the name of a row or a dataset: the name itself if it is plain, else a plain one
    that is different for every name.
    """
    text = str(name)
    plain = "".join(char if char in _PLAIN or (char > "\u00a1" and char.isalnum()) else "_" for char in text)
    if plain == text and 0 < len(text.encode()) <= _LONGEST_NAME and text[0] not in ". " and text[-1] not in ". ":
        return text
    return f"{plain[:40].strip('. ') or 'row'}-{digest(text.encode(errors='backslashreplace'))[:12]}"
