"""The meaning of an ``import`` statement of a guest. Task code is written to lie in a folder and to import its
neighbours: by ``from .helper import x``, by ``import helper`` after putting its folder on ``sys.path``, or by just
naming them. Modules of a folder are loaded under a private package, so relative imports work unchanged. For absolute
ones each folder's modules get their own ``__import__``, which looks for a neighbour when Python would not find the name
elsewhere (or when the code has put that folder on ``sys.path``). It holds for imports that run late, inside functions,
as well.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import GUEST_PREFIX
from polymeter.guests.alarms import serve_alarms
from polymeter.guests.loading.neighbours import (
    beside_checkout,
    checkout_path,
    is_checkout,
    is_supplied,
    joined,
    lacking_in_shim,
    name_in_copy,
    names_beside,
    package_names,
    package_root,
    parent_packages,
    shim_of,
    tree_path,
    trees,
)
from polymeter.guests.loading.packages import GUEST_LOCK, Folder, folder_of, has_module, package_of
from polymeter.guests.loading.search_path import (
    added_folders,
    is_findable,
    is_installed,
    kept_search_path,
    without_our_entries,
)
from polymeter.guests.opened_sources import importing
from polymeter.guests.served.datasets import serve_datasets
from polymeter.guests.served.metrics import serve_metrics
from polymeter.guests.served.packages import served_package
from polymeter.guests.shims.tables import is_shim


class ImportStatements:
    """Runs the import statements of one folder's modules, which find it as ``__import__``.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._real = builtins.__import__

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Return the result of ``__import__``."""
        if level:
            return self._relative(name, tuple(fromlist or ()), level, globals or {})
        if name.startswith(trees()) or name.partition(".")[0] in package_names():
            module = self._from_package(name, tuple(fromlist or ()))
            if module is not None:
                return module
        importer = str((globals or {}).get("__name__", ""))
        private = self._private_name(name, importer)
        with importing(private or name, tuple(fromlist or ())):
            if private is None and self._means_another(name, importer):
                with without_our_entries():
                    return self._real(name, globals, locals, fromlist or (), 0)
            if private is None:
                served = served_package(name, fromlist or ())
                if served is not None:
                    return served
                found = self._real(name, globals, locals, fromlist or (), 0)
                serve_datasets(name.partition(".")[0])
                serve_metrics(name.partition(".")[0])
                serve_alarms()
                return found
            if fromlist:
                return self._real(private, globals, locals, fromlist, 0)
            importlib.import_module(private)
            depth = private.count(".") - name.count(".")
            return sys.modules[".".join(private.split(".")[: depth + 1])]

    def note_added(self) -> None:
        """Remember the folders that this folder's code has put on ``sys.path``: for imports inside its functions, which
        run after the search path is restored.
        """
        for folder in added_folders():
            if folder not in self._folder.added:
                self._folder.added.append(folder)

    def _relative(self, name: str, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType:
        """Return the module of a relative import: names that the shim supplies in a copy of its package, then those of
        an ``__init__.py``, then of the shim, then modules of the folders.
        """
        module = self._supplied(name, wanted, level, scope)
        if module is None and wanted and not name:
            module = self._from_init(wanted, level, scope)
        if module is None and self._folder.stands_for:
            module = self._from_shim(name, wanted, level, scope)
        if module is not None:
            return module
        if level > 1:
            return self._from_parent(name, wanted, level, scope)
        return builtins.__import__(name, scope, None, wanted, level)

    def _supplied(self, name: str, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType | None:
        """Return the module of a relative import inside a copy of a system's package, if the shim supplies it: the
        names of the shim, and missing ones from the copy's own file; ``None`` if it has none of them.
        """
        base = self._folder.path.joinpath(*str(scope.get("__package__") or "").split(".")[1:])
        for _ in range(level - 1):
            base = base.parent
        package = name_in_copy(base)
        full = f"{package}.{name}" if name else package
        if not package or not is_supplied(full, base):
            return None
        lacking = lacking_in_shim(full, wanted, base)
        held = [item for item in wanted if item not in lacking]
        shim, _ = shim_of([full], "", held) if held else (None, False)
        if shim is None or not lacking:
            return shim
        own = self._relative(name, lacking, level, scope)
        if not all(hasattr(own, item) for item in lacking):
            return shim  # so that Python names what cannot be imported
        return joined(full, [(own, lacking), (shim, held)])

    def _from_init(self, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType | None:
        """``from . import x``, where x is a name of the ``__init__.py`` of the folder (``from .. import x``: of one
        above it); ``None`` if no name is. In a checkout the names of the shim come first, as in ``_from_shim``.
        """
        inside = str(scope.get("__package__") or "").count(".")
        if level <= inside:
            return None  # a package that Python knows
        base = self._folder.path
        for _ in range(level - 1 - inside):
            base = base.parent
        near = names_beside(base, "", wanted)
        others = tuple(item for item in wanted if item not in near)
        if not others or not (base / "__init__.py").is_file():
            return None
        packages = parent_packages(self._folder.stands_for, level - 1 - inside)
        if packages and is_checkout(base):
            shim, has_all = shim_of(packages, "", others)
            others = () if has_all else tuple(item for item in others if not hasattr(shim, item))
        names = _names_of_init(base, packages, others) if others else {}
        if not names:
            return None
        rest = tuple(item for item in wanted if item not in names and item != "*")
        found = joined(package_of(base), [])
        vars(found).update(names, __all__=list(names))
        if rest:
            others_module = self("", scope, None, rest, level)
            vars(found).update({item: getattr(others_module, item) for item in rest})
        return found

    def _from_shim(self, name: str, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType | None:
        """Return the module of a relative import that the files beside it do not have, if the folder stands for a
        package of another system; ``None`` if they have it.
        """
        inside = str(scope.get("__package__") or "").split(".")[1:]
        base = self._folder.path.joinpath(*inside)
        for _ in range(level - 1):
            base = base.parent
        near = names_beside(base, name, wanted)
        is_near = len(near) == len(wanted) > 0
        if is_near and not is_checkout(base):
            return None
        packages = parent_packages((".".join([package, *inside]) for package in self._folder.stands_for), level - 1)
        module, has_all = shim_of(packages, name, wanted)
        if is_near and not has_all:
            return None
        if near and module is not None and not has_all:
            return joined(
                module.__name__,
                [
                    (self._from_parent(name, tuple(near), level, scope), near),
                    (module, [item for item in wanted if item not in near]),
                ],
            )
        if module is None:
            root = self._folder.stands_for[0].partition(".")[0]
            raise ModuleNotFoundError(
                f"{'.' * level}{name} is neither in {base} nor in Polymeter's stand-in for {root}",
                name=f"{root}.{name}",
            )
        return module

    def _private_name(self, name: str, importer: str = "") -> str | None:
        """The private name of a neighbour that an absolute import means; ``None`` if it means something else.

        Args:
            name: The name of the module.
            importer: The module that imports it.
        """
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top.startswith(GUEST_PREFIX):
            return None
        loaded = sys.modules.get(top)
        if loaded is not None and is_installed(loaded):
            return None
        self.note_added()
        for folder in self._folder.added:
            if has_module(folder, top):
                return f"{package_of(folder)}.{name}"
        if not has_module(self._folder.path, top):
            around = beside_checkout(top, self._folder.path)
            return None if around is None or is_findable(top) else f"{package_of(around)}.{name}"
        if is_findable(top):
            return None
        return None if self._means_another(name, importer) else f"{self._folder.package}.{name}"

    def _means_another(self, name: str, importer: str) -> bool:
        """Return whether a name means an installed package although a file of this folder is called so. A wrapper is
        often called like the package that it wraps: a file never imports itself, and it has no modules inside.
        """
        top, _, inside = name.partition(".")
        is_file = (self._folder.path / f"{top}.py").is_file() and not (self._folder.path / top).is_dir()
        return is_file and bool(inside or importer == f"{self._folder.package}.{top}")

    def _from_package(self, name: str, fromlist: tuple[str, ...]) -> ModuleType | None:
        """An absolute import from a system's package. ``from lmms_eval.tasks.x.y import z`` (or ``lmms_eval.models``):
        the files that came with this guest take precedence over everything else of that name. From a checkout come
        names that the shims do not have.
        """
        path = (
            tree_path(name, self._folder.path) if name.startswith(trees()) else checkout_path(name, self._folder.path)
        )
        if path is None:
            return self._from_package_init(name, fromlist)
        if self._folder.stands_for:
            folder_of(package_of(path.parent)).stands_for = (name.rpartition(".")[0],)
            if path.is_dir():
                folder_of(package_of(path)).stands_for = (name,)
        with GUEST_LOCK, kept_search_path():
            is_file = path.with_name(f"{path.name}.py").is_file()
            parts = [item for item in fromlist if not is_file and has_module(path, item)]
            if is_file or len(parts) < len(fromlist):
                if not is_file and not (path / "__init__.py").is_file():
                    return None
                module = _import_neighbour(f"{package_of(path.parent)}.{path.name}")
            else:
                module = importlib.import_module(package_of(path))
            for item in parts:
                setattr(module, item, _import_neighbour(f"{package_of(path)}.{item}"))
        return module if fromlist else _tree_of(name, module)

    def _from_package_init(self, name: str, fromlist: tuple[str, ...]) -> ModuleType | None:
        """``from tool.dataset import x`` (or ``*``) in a checkout, where the shim has no x but the checkout's own
        ``__init__.py``, or its file of that name, does; ``None`` if it does not.
        """
        root = package_root(self._folder.path)
        if root is None or not fromlist or root.name != name.partition(".")[0] or not is_checkout(self._folder.path):
            return None
        folder = root.joinpath(*name.split(".")[1:])
        shim = importlib.import_module(name) if is_shim(name) else None
        others = tuple(item for item in fromlist if item == "*" or not hasattr(shim, item))
        if shim is None or not others:
            return None
        if (folder / "__init__.py").is_file():
            names = _names_of_init(folder, (name,), others)
        elif folder.with_name(f"{folder.name}.py").is_file() and "*" not in others:
            names = _names_of_file(folder, (name.rpartition(".")[0],), others)
        else:
            return None
        if not names:
            return None
        wanted = getattr(shim, "__all__", ()) if "*" in others else (item for item in fromlist if item not in names)
        found = joined(name, [(shim, [item for item in wanted if hasattr(shim, item)])])
        vars(found).update({item: value for item, value in names.items() if not hasattr(found, item)})
        vars(found)["__all__"] = [item for item in vars(found) if not item.startswith("__")]
        return found

    def _from_parent(self, name: str, fromlist: Sequence[str], level: int, scope: Mapping[str, Any]) -> ModuleType:
        """``from ..other.module import x``: the parent folder is a private package too."""
        inside = str(scope.get("__package__") or "").count(".")
        if inside >= level - 1:
            return builtins.__import__(name, scope, None, fromlist, level)
        base = self._folder.path
        for _ in range(level - 1 - inside):
            base = base.parent
        *parents, last = name.split(".") if name else [""]
        folder = base.joinpath(*parents)
        if last and not has_module(folder, last):
            raise ModuleNotFoundError(f"No module named {name!r} in {base}", name=name)
        package = package_of(folder)
        folder_of(package).stands_for = parent_packages(self._folder.stands_for, level - 1 - inside, parents)
        private = f"{package}.{last}" if last else package
        return builtins.__import__(private, scope, None, fromlist or ("*",), 0)


def statements_of(folder: Folder) -> ImportStatements:
    """Return the object that runs the import statements of a folder's modules, made on first use."""
    found = folder.builtins["__import__"]
    if not isinstance(found, ImportStatements):
        found = folder.builtins["__import__"] = ImportStatements(folder)
    return found


def _import_neighbour(private: str) -> ModuleType:
    with importing(private):
        return importlib.import_module(private)


def _names_of_init(place: Path, stands_for: tuple[str, ...], wanted: Sequence[str]) -> dict[str, Any]:
    """Names of a folder's ``__init__.py``, which is run on first use, with their values: those of ``wanted`` that it
    has, or all that a star import binds.

    An ``__init__`` that imports the very file that asks for its names has those that it has defined by then, as in a
    real package. One that cannot be loaded for another reason has what it has defined, too, unless a name is missing.

    Raises:
        ImportError: if it cannot be loaded, and a requested name is missing from it.
    """
    package = package_of(place)
    folder = folder_of(package)
    folder.stands_for = folder.stands_for or stands_for
    name = f"{package}.__init__"
    failure: ImportError | None = None
    with GUEST_LOCK:
        module = sys.modules.get(name)
        if module is None:
            spec = importlib.util.find_spec(name)
            if spec is None or spec.loader is None:
                return {}
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except ImportError as error:
                sys.modules.pop(name, None)
                failure = error
            except BaseException:
                sys.modules.pop(name, None)
                raise
    if "*" in wanted:
        public = getattr(module, "__all__", None)
        wanted = [item for item in vars(module) if not item.startswith("_")] if public is None else list(public)
        return {item: getattr(module, item) for item in wanted if hasattr(module, item)}
    lacking = [item for item in wanted if not hasattr(module, item)]
    if failure is not None and lacking and not all(shim_of(stands_for, "", [item])[1] for item in lacking):
        raise failure
    return {item: getattr(module, item) for item in wanted if item not in lacking}


def _names_of_file(path: Path, stands_for: tuple[str, ...], wanted: Sequence[str]) -> dict[str, Any]:
    """Names of a module, given by its path without the suffix, with their values: those of ``wanted`` that it has."""
    package = package_of(path.parent)
    folder = folder_of(package)
    folder.stands_for = folder.stands_for or stands_for
    with GUEST_LOCK, kept_search_path():
        module = _import_neighbour(f"{package}.{path.name}")
    return {item: getattr(module, item) for item in wanted if hasattr(module, item)}


def _tree_of(name: str, module: ModuleType) -> ModuleType:
    """Return the module that ``import a.b.c`` binds: ``a``, which leads to the given module, and otherwise to the real
    ``a``.
    """
    top, *rest = name.split(".")
    root = shell = _Shell(top)
    for depth, part in enumerate(rest, 2):
        is_last = depth == len(rest) + 1
        inner = module if is_last else _Shell(".".join([top, *rest[: depth - 1]]))
        setattr(shell, part, inner)
        shell = inner  # type: ignore[assignment]
    return root


class _Shell(ModuleType):
    """A package that holds one of its parts itself and leaves the others to the import system."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)
