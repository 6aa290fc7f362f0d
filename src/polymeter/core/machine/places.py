"""Errors of the file system: one message with the place and what to do, so that a bad disk or folder ends a run without
a traceback, and earlier files are safe.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polymeter.core.errors import PlanError, StorageError
from polymeter.core.media.sources import digest

MOST_FOLDERS = 200
"""A place lies in no more folders inside one another: libraries call themselves for each of them that they make."""
LONGEST_NAME = 255
"""Bytes of a name in nearly every file system."""
FREE_SPACE = "Free some space there."
_HINTS = {
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: "The quota is used up: free some space there, or choose another place.",
    errno.EFBIG: "The file would be larger than the system allows (ulimit -f).",
    errno.EROFS: "The file system is read-only: choose another place.",
    errno.EACCES: "Its permissions do not allow it: choose another place, or change them.",
    errno.EPERM: "Its permissions do not allow it: choose another place, or change them.",
    errno.ENOTDIR: "A part of this path is a file: choose another place.",
    errno.EEXIST: "There is a file in its place: choose another one.",
    errno.ENOENT: "The folder does not exist, was deleted meanwhile, or cannot be created: choose another place.",
    errno.EMFILE: "Too many files are open: raise the limit (ulimit -n).",
    errno.ENAMETOOLONG: "The name is too long: choose a shorter one.",
}


def is_of_place(error: OSError) -> bool:
    """Return whether an error says that a place cannot be read or written, and not that something else went wrong."""
    return error.errno in _HINTS


@contextmanager
def stored_at(path: Path | str, doing: str) -> Iterator[None]:
    """Turn an error of the file system inside this into one that names the action and the place.

    Args:
        path: The file or folder.
        doing: What is done, for the message ("Writing results.json").

    Raises:
        StorageError: if the file system refuses.
    """
    try:
        yield
    except OSError as error:
        raise storage_error(error, path, doing) from error


def storage_error(error: OSError, path: Path | str, doing: str) -> StorageError:
    """The error that stands for one of the file system."""
    reason = error.strerror or str(error) or type(error).__name__
    hint = _HINTS.get(error.errno or 0, "Check the disk and the file system.")
    return StorageError(f"{doing} failed: {reason}.", where=str(path), hint=hint)


@contextmanager
def naming_places() -> Iterator[None]:
    """Turn an unnamed error of the file system inside this into one with the place and what to do.

    Raises:
        StorageError: if the file system refuses.
    """
    try:
        yield
    except OSError as error:
        if not is_of_place(error):
            raise
        raise storage_error(error, error.filename or "", "Reading or writing a file") from error


def require_place(path: Path | str, what: str) -> None:
    """Refuse a path that no file or folder can have, before it is used. Nothing is made.

    Args:
        path: The path. It need not exist.
        what: What it is for, for the message ("The cache folder").

    Raises:
        PlanError: if it holds a null character, is too long, or lies in too many folders.
    """
    text = os.fspath(path)
    if "\0" in text:
        raise PlanError(f"{what} has a null character in its path: {text!r}.", hint="Choose another place.")
    n_folders = len(Path(text).parts)
    if n_folders > MOST_FOLDERS:
        hint = f"At most {MOST_FOLDERS} are possible: choose another place."
        raise PlanError(f"{what} lies in {n_folders} folders inside one another.", where=text, hint=hint)
    try:
        os.lstat(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            hint = _HINTS[errno.ENAMETOOLONG]
            raise PlanError(f"{what} cannot be there: {error.strerror}.", where=text, hint=hint) from error


def from_here(path: Path | str) -> str:
    """Return a path relative to the working directory if it lies below that, else unchanged."""
    near = os.path.relpath(path)
    return str(path) if near.startswith(os.pardir) else near


def file_name(stem: str, ending: str) -> str:
    """The name of a file, cut where it is too long for a file system; then a digest keeps it apart from others."""
    name = stem + ending
    if len(name.encode(errors="backslashreplace")) <= LONGEST_NAME:
        return name
    mark = f"-{digest(stem.encode(errors='backslashreplace'))[:8]}"
    most = LONGEST_NAME - len((mark + ending).encode(errors="backslashreplace"))
    return stem.encode(errors="backslashreplace")[:most].decode(errors="ignore") + mark + ending
