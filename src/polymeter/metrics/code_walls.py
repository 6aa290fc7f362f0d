"""Walls between a generated program and this machine: ``bwrap`` if it is installed, else namespaces of the kernel, else
nothing but limits. Landlock, which needs no rights, is added inside each of them (``code_child``).

Each kind is tried once with an empty program before it is used.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime")


@dataclass(frozen=True, slots=True)
class Walls:
    """A way to separate a program from this machine.

    Attributes:
        name: Its name: ``bwrap``, ``namespaces`` or ``limits``.
        has_own_files: Whether the program sees no files but the system's, Python's, and its own folder.
        has_no_network: Whether it has no network.
        has_own_processes: Whether it sees no process but its own.
        is_alone: Whether it cannot start processes, so that each limit of a process is one of the program.
    """

    name: str
    has_own_files: bool = False
    has_no_network: bool = False
    has_own_processes: bool = False
    is_alone: bool = True

    def with_what_was_found(self, found: Mapping[str, Any]) -> Walls:
        """Return these walls with their properties on this machine.

        Args:
            found: The additions of the kernel: ``landlock``, a ``filter`` of system calls, and read-only ``mounts``.
        """
        has_filter, has_landlock = bool(found.get("filter")), bool(found.get("landlock"))
        keeps_attributes = has_filter or bool(found.get("mounts"))  # Landlock does not
        return replace(
            self,
            has_own_files=self.has_own_files or (has_landlock and keeps_attributes),
            has_no_network=self.has_no_network or has_filter,
            has_own_processes=self.has_own_processes or (has_landlock and has_filter),
            is_alone=has_filter,
        )

    @property
    def words(self) -> str:
        """A description of what the program can and cannot reach, for the user."""
        reach = [
            text
            for text, is_closed in (
                ("your files", self.has_own_files),
                ("the network", self.has_no_network),
                ("your processes", self.has_own_processes),
            )
            if not is_closed
        ]
        limited = "with limits of time, memory, files and processes"
        if not self.is_alone:
            limited += ", some of them for each process alone"
        if not reach:
            how = {"bwrap": "bubblewrap", "namespaces": "namespaces of its own"}.get(self.name, "a process of its own")
            return f"in {how}, without network or your files, {limited}"
        return f"{limited}, but it can reach {' and '.join([', '.join(reach[:-1]), reach[-1]] if reach[1:] else reach)}"

    def command(self, folder: Path, disk_mb: int) -> list[str]:
        """Return the words before the program's own command.

        Args:
            folder: The program's folder, the only place where it may write.
            disk_mb: The size limit of the folder, if its file system supports one.
        """
        if self.name == "bwrap":
            return _bwrap(folder, disk_mb)
        if self.name == "namespaces":
            flags = ("--user", "--map-root-user", "--net", "--pid", "--ipc", "--uts", "--fork", "--mount-proc")
            return [*_ended_with_us(), _program_path("unshare"), *flags, "--kill-child"]
        return []


ALL_WALLS = (
    Walls("bwrap", has_own_files=True, has_no_network=True, has_own_processes=True),
    Walls("namespaces", has_no_network=True, has_own_processes=True),
    Walls("limits"),
)
"""All kinds, the best first."""


def is_installed(walls: Walls) -> bool:
    """Check whether the program that makes such walls is on this machine."""
    return walls.name == "limits" or bool(_program_path("bwrap" if walls.name == "bwrap" else "unshare"))


def readable_places() -> list[str]:
    """Return the folders that a Python program has to read: the system's libraries, Python's own, and installed
    packages.
    """
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}
    python |= {str(Path(sys.executable).parent), str(Path(sys.executable).resolve().parent)}
    own = sorted(path for path in python if path.startswith("/") and len(Path(path).parts) > 1 and os.path.exists(path))
    return [*(path for path in _SYSTEM_FOLDERS if os.path.exists(path)), *_outermost(own)]


def _outermost(paths: Sequence[str]) -> list[str]:
    """Return paths without those inside another one, or inside the system's folders."""
    kept: list[str] = []
    for path in paths:
        if not any(path == other or path.startswith(f"{other}/") for other in (*_SYSTEM_FOLDERS, *kept)):
            kept.append(path)
    return kept


def _bwrap(folder: Path, disk_mb: int) -> list[str]:
    words = [
        _program_path("bwrap"),
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    for path in readable_places():
        if os.path.islink(path) and path in _SYSTEM_FOLDERS:
            words += ["--symlink", os.readlink(path), path]
        else:
            words += ["--ro-bind", path, path]
    words += ["--size", str(disk_mb * 2**20), "--tmpfs", str(folder), "--remount-ro", "/dev", "--remount-ro", "/"]
    return [*words, "--chdir", str(folder), "--"]


# Kept for the life of the process: a fact of the machine.
@lru_cache(maxsize=1)
def _ended_with_us() -> list[str]:
    """Return the words before ``unshare`` that make it, and with it the program, end with the thread that starts it;
    none if that tool is missing. A program that sleeps does not notice by itself that nobody waits for it.
    """
    words = [_program_path("setpriv") or "setpriv", "--pdeathsig", "KILL"]
    try:
        done = subprocess.run([*words, "true"], capture_output=True, check=False)
    except OSError:
        return []
    return words if done.returncode == 0 else []


def _program_path(program: str) -> str:
    return shutil.which(program) or ""
