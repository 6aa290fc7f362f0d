"""Files that a replica on another machine can read itself, so that they need not be sent there.

A file is read there if it lies on a file system that machines share, and the replica was seen to find one of the same
folder there, of the same size and time. Until that is known, its bytes are carried.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from polymeter.core.media.sources import digest
from polymeter.store.folder import NETWORK_FILE_SYSTEMS, file_system

FileMark = tuple[str, int, int]
"""A file's path, size in bytes, and time of its last change in nanoseconds."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MOUNTS = "/proc/self/ns/mnt"


def machine_mark() -> str:
    """Return a mark that is equal for two processes that see the same files: those of one machine outside containers of
    their own.
    """
    boot = mounts = ""
    with suppress(OSError):
        boot, mounts = _BOOT.read_text().strip(), os.readlink(_MOUNTS)
    return digest(f"{socket.gethostname()} {boot} {mounts}".encode())


def mark_of(path: Path) -> FileMark:
    """The mark of a file.

    Raises:
        OSError: if there is none.
    """
    found = path.stat()
    return str(path.absolute()), found.st_size, found.st_mtime_ns


def is_seen(mark: FileMark) -> bool:
    """Return whether this process sees the file that another one has marked."""
    try:
        return mark_of(Path(mark[0])) == mark
    except OSError:
        return False


class Visibility:
    """The files that one replica sees.

    Args:
        machine: The mark of the replica's machine.
        ask: Asks the replica whether it sees a file. Its answer is passed to ``learn`` later.
    """

    def __init__(self, machine: str, ask: Callable[[Path, FileMark], None]) -> None:
        self._is_here = machine == machine_mark()
        self._ask = ask
        self._folders: dict[Path, bool] = {}

    def __call__(self, path: Path) -> bool:
        """Return whether the replica reads a file itself."""
        if self._is_here:
            return True
        folder = path.absolute().parent
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = False
            if self._is_shared(folder):
                with suppress(OSError):  # its reader reports the error
                    self._ask(folder, mark_of(path))
        return known

    def learn(self, folder: Path, is_seen: bool) -> None:
        """Record the replica's answer about a file of a folder."""
        self._folders[folder] = is_seen

    @staticmethod
    def _is_shared(folder: Path) -> bool:
        kind = file_system(folder)
        return kind in NETWORK_FILE_SYSTEMS or kind.startswith("fuse.")
