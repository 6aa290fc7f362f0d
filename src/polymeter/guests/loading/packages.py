"""Private packages: one for each folder of guest code, under a name that nobody else can mean.

Nothing of a guest is ever registered in ``sys.modules`` under a bare name, so folders cannot see each other's
``utils``. ``import_statements`` determines the meaning of an ``import`` in such a folder.
"""

from __future__ import annotations

import builtins
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import GUEST_PREFIX
from polymeter.core.machine.opened_files import not_noting
from polymeter.core.media.sources import digest

GUEST_LOCK = threading.RLock()

# Of the process, like ``sys.modules``, whose names these are.
_folders: dict[str, Folder] = {}
# Of the process, like ``sys.modules``; a changed folder gets another package.
_packages: dict[Path, tuple[object, str]] = {}


class Folder:
    """The folder behind a private package.

    Args:
        path: The folder.
        package: The name of its package.

    Attributes:
        builtins: The ``__builtins__`` of its modules.
        stands_for: Packages of another system that its code was written to lie in, the likeliest first.
        added: Further folders that its code has put on ``sys.path``.
    """

    def __init__(self, path: Path, package: str) -> None:
        self.path = path
        self.package = package
        self.builtins: dict[str, Any] = {**vars(builtins)}
        self.stands_for: tuple[str, ...] = ()
        self.added: list[Path] = []


def package_of(folder: Path) -> str:
    """Name of the private package that stands for a folder, made on first use.

    The name holds a digest of the folder's code: an edited folder is another package, and caches that know functions
    by name (``datasets.map``) see that it changed.
    """
    folder = folder.resolve()
    files = sorted(folder.glob("*.py"))
    state = [(file.name, stat.st_size, stat.st_mtime_ns) for file in files for stat in [file.stat()]]
    with GUEST_LOCK:
        earlier = _packages.get(folder)
        if earlier is not None and earlier[0] == state:
            return earlier[1]
        with not_noting():  # modules that a guest does not import are not its sources
            code = digest(b"".join(file.read_bytes() for file in files))
        name = GUEST_PREFIX + digest(f"{folder}:{code}".encode())[:16]
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [str(folder)]
            package.__package__ = name
            _folders[name] = Folder(folder, name)
            sys.modules[name] = package
        _packages[folder] = (state, name)
        return name


def folder_of(name: str) -> Folder:
    """The folder behind a private package, or behind a module in one."""
    return _folders[name.partition(".")[0]]


def has_module(folder: Path, name: str) -> bool:
    """Return whether a folder has a module, or a package, of that name."""
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()
