"""The resources that the processes of one generated program use together, seen from outside: while it runs, and when it
has ended.

The system limits each process separately. On Linux, a filter keeps a program from starting a second process, and a
mount namespace gives it a file system of limited size. The limits here hold even without these two.
"""

from __future__ import annotations

import math
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

N_PROCESSES = 64
N_ENTRIES = 10_000
"""The most files and folders in a program's folder."""
_N_THREADS = 640
"""The most threads of all processes. The system's limit of processes also counts threads, and does not hold for
root.
"""


@contextmanager
def program_folder() -> Iterator[Path]:
    """Provide an empty folder for one program, and remove it with all its content afterwards."""
    place = tempfile.TemporaryDirectory(prefix="polymeter-code-", ignore_cleanup_errors=True)
    try:
        yield Path(place.name).resolve()
    finally:
        try:
            place.cleanup()
        except RecursionError:  # folders that are nested too deeply
            subprocess.run(["rm", "-rf", place.name], stderr=subprocess.DEVNULL, check=False)


def excess(number: int, folder: Path, memory_mb: int, disk_mb: int) -> str:
    """Return the limit that a process and its descendants exceed together, as far as the system reports it; empty if
    none.

    Args:
        number: The process.
        folder: The program's folder.
        memory_mb: The most memory in use.
        disk_mb: The most that the program may write.
    """
    tree = [number, *descendants(number, N_PROCESSES + 1)]
    if len(tree) - 1 > N_PROCESSES or sum(map(_n_threads, tree)) > _N_THREADS:
        return "it started too many processes or threads"
    if sum(map(_resident_bytes, tree)) > memory_mb * 2**20:
        return f"it used more than {memory_mb} MB of memory"
    own = Path(_first_alive(tree[-1]), "root", *folder.parts[1:])  # in a namespace, another file system is there
    filled = _bytes_in(own if os.path.isdir(own) else folder) + _bytes_of_deleted(tree)
    if max(filled, sum(map(_bytes_written, tree))) > disk_mb * 2**20:
        return f"it wrote more than {disk_mb} MB or {N_ENTRIES:,} files"
    return ""


def descendants(number: int, most: int) -> list[int]:
    """Return the processes that a process and its children have started, as far as the system reports them.

    Args:
        number: The process.
        most: The number to stop at.
    """
    found: list[int] = []
    ahead = [number]
    while ahead and len(found) < most:
        started = children(ahead.pop())
        found += started
        ahead += started
    return found


def children(number: int) -> list[int]:
    """Return the running processes that the threads of a process have started, as far as the system reports them."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        for thread in os.listdir(f"/proc/{number}/task"):
            found += map(int, Path(f"/proc/{number}/task/{thread}/children").read_text("ascii").split())
    return found


def tasks_of_user() -> int:
    """Return the number of threads of this user: the limit of processes counts them all."""
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += _n_threads(int(name))
    return count


def _n_threads(number: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{number}/task"))
    return 0


def _first_alive(number: int) -> str:
    """Return the folder in ``/proc`` of a process's first running thread. When the main thread has ended, the folder of
    the process says nothing about the others.
    """
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{number}/task"):
            folder = f"/proc/{number}/task/{thread}"
            with suppress(OSError):
                if not Path(folder, "statm").read_text("ascii").startswith("0 "):
                    return folder
    return f"/proc/{number}"


def _resident_bytes(number: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        pages = Path(_first_alive(number), "statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _bytes_written(number: int) -> int:
    """Return the number of bytes that a process has written to files on a disk, deleted ones included. The system knows
    it while the process runs.
    """
    with suppress(OSError, ValueError, KeyError):
        counts = dict(line.split(": ") for line in Path(f"/proc/{number}/io").read_text("ascii").splitlines())
        return int(counts["write_bytes"])
    return 0


def _bytes_in(folder: Path) -> float:
    """Return the size of all files in a folder; infinite if they are too many or nested too deeply."""
    n_bytes = 0
    n_entries = 0
    ahead = [str(folder)]
    while ahead:
        try:
            with os.scandir(ahead.pop()) as entries:
                for entry in entries:
                    n_entries += 1
                    if n_entries > N_ENTRIES:
                        return math.inf
                    with suppress(FileNotFoundError):
                        n_bytes += _bytes_on_disk(entry.stat(follow_symlinks=False))
                        if entry.is_dir(follow_symlinks=False):
                            ahead.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):  # removed meanwhile, or not readable
            continue
        except OSError:  # its path is too long
            return math.inf
    return n_bytes


def _bytes_of_deleted(numbers: Iterable[int]) -> int:
    """Return the size of deleted files that processes hold open."""
    sizes = {}
    for number in numbers:
        with suppress(OSError):
            place = f"{_first_alive(number)}/fd"
            for descriptor in os.listdir(place):
                with suppress(OSError):
                    status = os.stat(f"{place}/{descriptor}")
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        sizes[status.st_dev, status.st_ino] = _bytes_on_disk(status)
    return sum(sizes.values())


def _bytes_on_disk(status: os.stat_result) -> int:
    """Return the space that a file occupies: less than its size if it has holes. Some file systems reserve more than
    its size.
    """
    return min(status.st_size, status.st_blocks * 512)
