"""The folder of a bundle: written beside its place, and moved there when it is whole.

A process that is killed leaves the earlier bundle as it was, and a temporary folder beside it, which the next one
deletes. Only an empty folder or an earlier bundle is replaced.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.machine.files import is_abandoned, is_temporary, temporary_name
from polymeter.core.machine.places import require_place, stored_at

MARKER = "polymeter-bundle.json"
"""The file that marks a folder as a bundle."""
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def require_target(target: Path) -> None:
    """Refuse a folder that may not be replaced, before anything is written. A bundle that a killed process moved away
    is put back.

    Raises:
        PlanError: if it holds other files, or is a file.
        StorageError: if it cannot be read.
    """
    require_place(target, "The folder of the bundle")
    target = Path(os.path.abspath(target))
    with stored_at(target, "Opening the folder"):
        if target.parent.is_dir():
            _restore(target)
        if target.exists() and not target.is_dir():
            raise PlanError("The place of the bundle is a file, not a folder.", where=str(target))
        if target.is_dir() and any(target.iterdir()) and not (target / MARKER).is_file():
            raise PlanError(
                "The folder for the bundle is not empty, and is not an earlier bundle.",
                where=str(target),
                hint="Name another folder, or delete this one.",
            )


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """A new folder to write to, which takes the place of ``target`` when the block ends without an exception.

    Raises:
        StorageError: if the file system refuses.
    """
    target = Path(os.path.abspath(target))
    with stored_at(target, "Writing the bundle"):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(temporary_name(target.name))
        draft.mkdir()
        try:
            yield draft
            _take_place(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _earlier(target: Path) -> Path:
    return target.with_name(f".{target.name}.earlier-bundle")


def _restore(target: Path) -> None:
    """Undo what killed processes left: a bundle that was moved away, and folders that were not finished."""
    earlier = _earlier(target)
    if earlier.is_dir():
        if target.exists():
            shutil.rmtree(earlier, ignore_errors=True)
        else:
            earlier.rename(target)
    with os.scandir(target.parent) as entries:
        drafts = [
            entry
            for entry in entries
            if entry.name.startswith(f".{target.name[:60]}.") and is_temporary(entry.name) and entry.is_dir()
        ]
    for entry in drafts:
        if is_abandoned(entry):
            shutil.rmtree(entry.path, ignore_errors=True)


def _take_place(draft: Path, target: Path) -> None:
    """Move a whole bundle to its place. On Linux both change places at once; elsewhere the place is empty between two
    renames, and the next call puts the earlier bundle back if the process was killed there.
    """
    if not target.exists():
        draft.rename(target)
        return
    if _exchanged(draft, target):
        return
    earlier = _earlier(target)
    target.rename(earlier)
    try:
        draft.rename(target)
    except OSError:
        earlier.rename(target)
        raise
    shutil.rmtree(earlier, ignore_errors=True)


def _exchanged(first: Path, second: Path) -> bool:
    """Let two folders change names in one step; returns whether the system could."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):  # a C library without this call
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0)
    return False
