"""Shims: importable names of other systems that lead to our objects, served from the first guest on. ``tables`` holds
the names.

Nothing is installed under another project's name; one entry of ``sys.meta_path`` answers for it. Modules of a task's
own collection (``lmms_eval.tasks.mmbench.en_utils``) never get here: guests' imports look there first.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from polymeter.core.errors import PlanError
from polymeter.guests.loading.imports import load_from_tree
from polymeter.guests.shims.tables import Contents, ShimModule, ShimNames


def switch_on_shims() -> None:
    """Make the names of every system importable, for the life of the process. Calling it again changes nothing.

    Raises:
        PlanError: if a real package is loaded already, so that its code and ours would mix.
    """
    if any(isinstance(finder, _ShimFinder) for finder in sys.meta_path):
        return
    shims = _ShimFinder()
    for root in shims.roots:
        loaded = sys.modules.get(root)
        # A module of ours that is served under another name keeps its own.
        if loaded is not None and loaded.__name__ == root and not isinstance(loaded, ShimModule):
            raise PlanError(
                f"The package {root!r} is loaded already, so Polymeter cannot replace it.",
                where=str(getattr(loaded, "__file__", None) or root),
                hint=f"Evaluate in a process that does not import {root} first.",
            )
    sys.meta_path.insert(0, shims)


class _ShimFinder(ShimNames, MetaPathFinder):
    """Finds modules of the other systems' import roots and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, below = fullname.partition(".")
        if root not in self.roots:
            return None
        names = [f"{answering}.{below}" if below else answering for answering in self.answering(root)]
        found = [name for name in names if name in self.tables_of(name.partition(".")[0]).modules]
        if found:
            return self._spec(fullname, found[0], found[1] if len(found) > 1 else "")
        private = self._in_a_tree(fullname)
        if private is not None:
            return private
        if _is_import():
            raise ModuleNotFoundError(self._what_is_missing(fullname), name=fullname)
        return None

    def _spec(self, fullname: str, name: str, otherwise: str) -> ModuleSpec:
        tables = self.tables_of(name.partition(".")[0])
        target = tables.target(name) or (name if name != fullname else "")
        if target:
            real = importlib.util.find_spec(target)
            is_package = real is not None and real.submodule_search_locations is not None
            origin = real.origin if real is not None else None
            return ModuleSpec(fullname, _Alias(target), origin=origin, is_package=is_package)
        modules = self.modules(fullname.partition(".")[0])
        loader = _Made(replace(tables.contents(name, modules), otherwise=otherwise), tables.file)
        return ModuleSpec(fullname, loader, origin=tables.file, is_package=tables.is_package(name, modules))

    def _in_a_tree(self, fullname: str) -> ModuleSpec | None:
        """A module from the user's own folders, for a script: guests' imports look there themselves."""
        private = load_from_tree(fullname)
        if private is None:
            return None
        module = sys.modules[private]
        origin = getattr(module, "__file__", None)
        return ModuleSpec(fullname, _Alias(private), origin=origin, is_package=hasattr(module, "__path__"))

    def _what_is_missing(self, fullname: str) -> str:
        """A message for a name that does not exist, with similar ones."""
        root, _, below = fullname.partition(".")
        near = get_close_matches(fullname, sorted(self.modules(root) - {root}), n=3, cutoff=0.6)
        hints = [f"Near: {', '.join(near)}."] if near else []
        system = self.roots[root][0]
        hints.extend(hint for prefix, hint in system.absent.items() if below.startswith(prefix))
        return " ".join([f"Polymeter's stand-in for {root} has no module {fullname!r}.", *hints])


class _Alias(Loader):
    """Serves a module that exists under another name.

    Args:
        real: The other name.
    """

    def __init__(self, real: str) -> None:
        self._real = real
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just written the alias's spec over the module's own, which relative imports and pickle
        # need.
        module.__spec__ = self._spec


class _Made(Loader):
    """Makes a module of the names of a table.

    Args:
        contents: The names.
        file: The file of the table, which stands as the module's source.
    """

    def __init__(self, contents: Contents, file: str) -> None:
        self._contents = contents
        self._file = file

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ShimModule(spec.name, self._contents)

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._file


def _is_import() -> bool:
    """Return whether the import system asks a finder for an ``import`` statement, which fails without a module and
    should state the reason. Code that asks whether there is one (``importlib.util.find_spec``) is answered with
    ``None``.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_name == "_find_spec" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name == "_find_and_load_unlocked"
