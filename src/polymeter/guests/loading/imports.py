"""Importing guests: each module of a folder is loaded once, under the folder's private package (``packages``), and its
import statements find the modules that its author meant (``import_statements``).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import GUEST_PREFIX
from polymeter.core.media.sources import digest
from polymeter.guests.door import in_mode
from polymeter.guests.held import hand_over
from polymeter.guests.loading.neighbours import tree_path
from polymeter.guests.loading.packages import GUEST_LOCK, folder_of, has_module, package_of
from polymeter.guests.loading.search_path import importable, kept_search_path
from polymeter.guests.opened_sources import loading_sources
from polymeter.guests.reading.import_statements import statements_of


class _GuestLoader(SourceFileLoader):
    """Loads a file with its folder's builtins in place.

    Attributes:
        is_loading: Whether it is executing the file now.
    """

    is_loading = False

    def exec_module(self, module: ModuleType) -> None:
        folder = folder_of(module.__name__)
        statements = statements_of(folder)
        module.__dict__["__builtins__"] = folder.builtins
        self.is_loading = True
        try:
            with in_mode("load"), loading_sources(Path(self.path)):
                super().exec_module(module)
        finally:
            self.is_loading = False
        hand_over(module)  # to a script that imports it from its package; ``load_file`` is not a script
        statements.note_added()  # for imports inside its functions, which run when the search path is as before


class _GuestFinder(MetaPathFinder):
    """Finds private packages and their modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(GUEST_PREFIX) or path is None:
            return None
        spec = PathFinder.find_spec(fullname, list(path))
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin:
            spec.loader = _GuestLoader(fullname, spec.origin)
        return spec


def _find_guests() -> None:
    """Make Python find modules of private packages, from now on."""
    with GUEST_LOCK:
        if not any(isinstance(finder, _GuestFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _GuestFinder())


def load_file(
    file: Path, supplied: Mapping[str, Any] | None = None, stands_for: Sequence[str] = (), copy: str = ""
) -> ModuleType:
    """The module of a source file; executed on first use, the same instance until ``forget_modules``. Call it inside
    ``contained``.

    Args:
        file: The file.
        supplied: Names that code of its folder may use without importing them; its own definitions take precedence.
        stands_for: Packages that the code was written to lie in, the likeliest first: names that its relative imports
            need and its neighbours do not have are taken from their shims.
        copy: Names an instance of the module of its own, with its own globals; empty: the one that all share.
    """
    _find_guests()
    file = file.resolve()
    package = package_of(file.parent)
    folder = folder_of(package)
    folder.builtins.update(supplied or {})
    folder.stands_for = folder.stands_for or tuple(stands_for)
    stem = file.stem
    with GUEST_LOCK, in_mode("load"):
        name = f"{package}.{stem}"
        if "." not in stem and not copy:
            with importable(file.parent):
                return importlib.import_module(name)
        # A file literally named "utils.sub.py" cannot be found by a dotted name, nor can a copy.
        name = f"{package}.{stem.replace('.', '_dot_')}{f'_{digest(copy.encode())[:16]}' if copy else ''}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, file, loader=_GuestLoader(name, str(file)))
            if spec is None or spec.loader is None:
                raise ModuleNotFoundError(f"Cannot load {file}", name=stem)
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            try:
                with importable(file.parent):
                    spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return sys.modules[name]


def load_from_tree(name: str) -> str | None:
    """The private name under which the module of a dotted name of one of the trees has been loaded, from the folders of
    benchmarks that the user has named; ``None`` if there is none there.
    """
    path = tree_path(name, None)
    if path is None:
        return None
    _find_guests()
    is_module = path.with_name(f"{path.name}.py").is_file() or (path / "__init__.py").is_file()
    private = f"{package_of(path.parent)}.{path.name}" if is_module else package_of(path)
    with GUEST_LOCK, kept_search_path():
        hand_over(importlib.import_module(private))
    return private


def guest_import_module(name: str, folder: Path, supplied: Mapping[str, Any] | None = None) -> ModuleType | None:
    """The module of a dotted name below a folder; ``None`` if there is none. ``supplied`` as for ``load_file``."""
    if not has_module(folder, name.partition(".")[0]):
        return None
    _find_guests()
    folder_of(package_of(folder)).builtins.update(supplied or {})
    with GUEST_LOCK, importable(folder), in_mode("load"):
        return importlib.import_module(f"{package_of(folder)}.{name}")
