"""What becomes of an error of the file system: one message with the place and what to do, so that a bad disk or folder
ends a run without a traceback, and what was written before is safe.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polymeter.core.errors import StorageError

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
    errno.ENOENT: "The folder is not there, was deleted meanwhile, or cannot be made: choose another place.",
    errno.EMFILE: "Too many files are open: raise the limit (ulimit -n).",
    errno.ENAMETOOLONG: "The name is too long: choose a shorter one.",
}


def is_of_place(error: OSError) -> bool:
    """Whether an error says that a place cannot be read or written, and not that something else went wrong."""
    return error.errno in _HINTS


@contextmanager
def stored_at(path: Path | str, doing: str) -> Iterator[None]:
    """Read or write files inside this, and an error of the file system becomes one that says what and where.

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
