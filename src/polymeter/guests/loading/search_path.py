"""``sys.path`` around guests: the folders that they put there, those put there for them, and installed packages."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from polymeter.core.errors import GUEST_PREFIX
from polymeter.core.names.installed import is_benchmark_file
from polymeter.guests.shims.tables import ShimModule

_STDLIB = str(Path(importlib.__file__ or "").resolve().parents[1])

_loading: list[frozenset[str]] = []  # what sys.path held before each load that is under way, outermost first
_settled: list[str] = []  # what sys.path holds of which no function of a guest's has just put anything there


class _OurEntry(str):
    """An entry of ``sys.path`` that we put there, to distinguish it from the guest's."""

    __slots__ = ()


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Put the folder on ``sys.path`` while its code loads, for code that imports by other means than ``import``."""
    before = set(sys.modules)
    if not _loading:
        _settled[:] = sys.path
    _loading.append(frozenset(sys.path))
    entry = _OurEntry(folder)
    sys.path.append(entry)
    try:
        yield
    finally:
        _loading.pop()
        sys.path[:] = [item for item in sys.path if item is not entry]
        _forget_bare(before, folder)


def _forget_bare(before: set[str], folder: Path) -> None:
    """Remove from ``sys.modules`` the modules that guest code has imported under a bare name by other means than
    ``import``.
    """
    root = str(folder)
    for name in set(sys.modules) - before:
        file = str(getattr(sys.modules[name], "__file__", None) or "")
        if not name.startswith(GUEST_PREFIX) and file.startswith(root):
            del sys.modules[name]


def added_folders() -> Iterator[Path]:
    """The folders that guest code has put on ``sys.path``: while it loads, which is taken off again later, or in a
    function, since this was last asked.
    """
    if _loading:
        entries = [entry for entry in sys.path if entry not in _loading[0]]
    elif _settled and len(sys.path) != len(_settled):
        entries = list(Counter(sys.path) - Counter(_settled))
        _settled[:] = sys.path
    else:
        return
    for entry in entries:
        folder = Path(entry).resolve()
        if entry and not isinstance(entry, _OurEntry) and folder.is_dir() and not _is_site(str(folder)):
            yield folder


@contextmanager
def kept_search_path() -> Iterator[None]:
    """Restore ``sys.path`` after the block."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


@contextmanager
def without_our_entries() -> Iterator[None]:
    """Leave out of ``sys.path`` the folders whose code is loading."""
    ours = [entry for entry in sys.path if isinstance(entry, _OurEntry)]
    sys.path[:] = [entry for entry in sys.path if not isinstance(entry, _OurEntry)]
    try:
        yield
    finally:
        sys.path.extend(ours)


def is_installed(module: ModuleType) -> bool:
    """Return whether a module is not a guest's: an installed one, Python's own, a shim, or Polymeter's."""
    file = getattr(module, "__file__", None)
    is_ours = isinstance(module, ShimModule) or module.__name__.partition(".")[0] == "polymeter"
    return file is None or _is_site(file) or is_ours


def is_findable(name: str) -> bool:
    """Return whether an installed package has that name. Only real installations count, not the working directory."""
    installations = [entry for entry in sys.path if entry and _is_site(entry)]
    return PathFinder.find_spec(name, installations) is not None


def _is_site(path: str) -> bool:
    is_site = "site-packages" in path or "dist-packages" in path or path.startswith((sys.base_prefix + "/lib", _STDLIB))
    return is_site and not is_benchmark_file(f"{path}/")
