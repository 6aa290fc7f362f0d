"""Writing a file so that a reader sees the old content or the new, never a part of it.

The content is written to a temporary file in the same folder, which then replaces the target by a rename. The content
reaches the disk before the rename (``fsync``), so a power failure leaves one of the two versions. The directory entry
itself is not synced: after a power failure the old version may come back, which no reader minds.

A process that is killed leaves its temporary files behind. Their names say which process wrote them, so that a later
one can sweep them without touching those of a process that is still writing.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from polymeter.core.media.sources import digest

_LONGEST_STEM = 60
_TEMPORARY = re.compile(r"\..+\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]+)-[0-9a-f]{8}\.tmp")
_UNNAMED_TEMPORARY = re.compile(r"\..+\.(?:[0-9a-f]{12}|[0-9]{6,})")
"""Temporary files of versions whose names did not say who wrote them."""
_LONGEST_PAUSE_S = 3600.0
"""A temporary file that has not been written to for this long belongs to no process that still runs."""


@contextmanager
def replacing(path: Path, *, binary: bool = False, is_synced: bool = True) -> Iterator[IO[Any]]:
    """A file to write to, which replaces ``path`` when the block ends without an exception.

    Args:
        path: The target. Its folder is made.
        binary: Whether bytes are written; else text.
        is_synced: Whether to wait for the disk. Not needed for files that can be made again and are checked before use.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Created by open and not by tempfile, so that the umask applies. To read the umask is to set it, for all threads.
    temporary = path.with_name(temporary_name(path.name))
    try:
        # A truncated answer may end in half a surrogate pair, which UTF-8 cannot hold: it is written as its JSON
        # escape.
        encoding, errors = (None, None) if binary else ("utf-8", "backslashreplace")
        with temporary.open("xb" if binary else "x", encoding=encoding, errors=errors) as file:
            yield file
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_once(path: Path, data: bytes) -> bool:
    """Write a file that does not exist yet, whole or not at all. Of several processes that write it, one does.

    Args:
        path: The target. Its folder is made.
        data: Its content, which is not synced to the disk.

    Returns:
        Whether this call wrote it; false if the file exists, and it stays.

    Raises:
        OSError: if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(temporary_name(path.name))
    try:
        temporary.write_bytes(data)
        try:
            os.link(temporary, path)  # a rename would replace what another process has written meanwhile
        except FileExistsError:
            return False
        except OSError:
            return _create(path, data)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _create(path: Path, data: bytes) -> bool:
    """The same where the file system has no links. A process that is killed here leaves a part of the file."""
    try:
        file = path.open("xb")
    except FileExistsError:
        return False
    try:
        with file:
            file.write(data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return True


def temporary_name(name: str) -> str:
    """Return a name for the temporary file of a file. It names the process and the machine that write it."""
    return f".{name[:_LONGEST_STEM]}.{_machine()}-{os.getpid()}-{os.urandom(4).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Return whether a file of this name is a temporary file of this module."""
    return bool(_TEMPORARY.fullmatch(name) or _UNNAMED_TEMPORARY.fullmatch(name))


def sweep(folders: Iterable[Path], *, has_other_writers: bool = True) -> int:
    """Delete the temporary files that killed processes left in some folders; returns how many there were.

    Args:
        folders: The folders. Those below them are not searched.
        has_other_writers: Whether other processes may be writing there. Then those of a process that lives stay, and
            those of another machine until nobody has written to them for an hour.
    """
    n_swept = 0
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            found = [entry for entry in entries if entry.name[0] == "." and is_temporary(entry.name)]
            abandoned = [entry.path for entry in found if not has_other_writers or is_abandoned(entry)]
            for path in abandoned:
                with suppress(OSError):
                    os.unlink(path)
                    n_swept += 1
    return n_swept


def is_abandoned(entry: os.DirEntry[str]) -> bool:
    """Return whether a temporary file or folder of this module belongs to no process that still runs."""
    written_by = _TEMPORARY.fullmatch(entry.name)
    if written_by and written_by["machine"] == _machine() and not _is_alive(int(written_by["process"])):
        return True
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _LONGEST_PAUSE_S


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


# Kept for the life of the process: it moves to no other machine, and every file that it writes names it.
@lru_cache(maxsize=1)
def _machine() -> str:
    """Return what distinguishes process ids of one machine, or of one container on it, from those of another."""
    with suppress(OSError):
        return digest(f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}".encode())[:8]
    return digest(socket.gethostname().encode())[:8]
