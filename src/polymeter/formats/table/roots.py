"""Where benchmarks' tables and their images lie: the folder ``LMUData``, and the tables that a run puts in place of
others (the ``data`` of ``core.guest_context``: name → file, or a folder that holds ``<name>.tsv``).
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.core.sources import digest

_VARIABLE = "LMUData"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=,@() ")
_LONGEST_NAME = 100


def is_offline_here() -> bool:
    """Whether nothing may be fetched here."""
    return guest_context().is_offline


def table_folders() -> tuple[Path, ...]:
    """Where tables lie: the folder of tables, then that of the class that is asked for."""
    folder = guest_context().folder
    root = Path(LMUDataRoot())
    return (root,) if folder is None else (root, folder)


def LMUDataRoot() -> str:  # the name that authors know
    """The folder of tables and images: ``$LMUData``, made when it is missing, or ``$HOME/LMUData``, which is made when
    something is written to it.
    """
    named = os.environ.get(_VARIABLE)
    if not named:
        return str(Path.home() / _VARIABLE)
    root = Path(named).expanduser().absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder {root} cannot be made: {error.strerror}.", where=f"${_VARIABLE}") from error
    return str(root)


def find_data_root() -> Path | None:
    """The folder of tables if there is one. Makes nothing."""
    named = os.environ.get(_VARIABLE)
    root = Path(named).expanduser().absolute() if named else Path.home() / _VARIABLE
    return root if root.is_dir() else None


def placed(name: str) -> Path | None:
    """The table that the run puts in a dataset's place; ``None`` when it says nothing about it.

    Raises:
        DataError: if there is no such file.
    """
    named = guest_context().data.get(name)
    if named is None:
        return None
    path = Path(named).expanduser().absolute()
    if path.is_dir():
        path = path / f"{file_stem(name)}.tsv"
    if not path.is_file():
        raise DataError(f"--data {name}={named}: there is no file {path}.")
    return path


def table_names(name: str, url: str) -> tuple[str, ...]:
    """The file names that a dataset's table may have in the folder of tables, first the one it is given: the dataset's
    own name, and the last component of its URL.
    """
    last = unquote(urlsplit(url).path).rsplit("/", 1)[-1] if url else ""
    own = f"{file_stem(name)}.tsv"
    return (own, last) if last not in ("", ".", "..", own) else (own,)


def image_root(name: str) -> Path:
    """Where the images of a dataset are written."""
    return Path(LMUDataRoot()) / "images" / file_stem(name)


def fetched_root(name: str) -> Path:
    """Where copies of images that lie elsewhere are kept for a dataset."""
    return image_root(name) / "fetched"


def file_stem(name: object) -> str:
    """A file name, without suffix, for anything that names a row or a dataset: the name itself where it is a plain one;
    else a plain one that no other name has.
    """
    text = str(name)
    plain = "".join(char if char in _PLAIN or (char > "\u00a1" and char.isalnum()) else "_" for char in text)
    if plain == text and 0 < len(text.encode()) <= _LONGEST_NAME and text[0] not in ". " and text[-1] not in ". ":
        return text
    return f"{plain[:40].strip('. ') or 'row'}-{digest(text.encode(errors='backslashreplace'))[:12]}"
