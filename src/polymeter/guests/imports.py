"""Importing guests: a private package for each folder, and an ``import`` that finds what its author meant.

Task code is written to lie in a folder and to import its neighbours: by ``from .helper import x``, by ``import
helper`` after putting its folder on ``sys.path``, or by just naming them. Modules of a folder are loaded under a
private package, so relative imports work as they are. For absolute ones each guest module gets its own ``__import__``,
which looks for a neighbour when Python would not find the name elsewhere (or when the code has put that folder on
``sys.path``). Nothing is ever registered under a bare name, so folders cannot see each other's ``utils``; it holds for
imports that run late, inside functions, as well.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.opened_files import not_noting
from polymeter.core.sources import digest
from polymeter.guests.door import in_mode
from polymeter.guests.neighbours import (
    is_checkout,
    joined,
    names_beside,
    parent_packages,
    shim_of,
    tree_path,
    trees,
)
from polymeter.guests.opened_sources import importing, loading_sources
from polymeter.guests.shims import ShimModule

GUEST_LOCK = threading.RLock()
PREFIX = "_polymeter_guest_"

_folders: dict[str, _Folder] = {}
_packages: dict[Path, tuple[object, str]] = {}
_loading: list[frozenset[str]] = []  # what sys.path held before each load that is under way, outermost first


class _OurEntry(str):
    """An entry of ``sys.path`` that we put there, so as not to take it for the guest's."""

    __slots__ = ()


class _Folder:
    """The folder behind a private package, and the further folders that its code has put on ``sys.path``."""

    def __init__(self, path: Path, package: str) -> None:
        self.path = path
        self.package = package
        self.added: list[Path] = []
        self.stands_for: tuple[str, ...] = ()
        scope = {**vars(builtins)}
        real = builtins.__import__

        def guest_import(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> ModuleType:
            if level and self.stands_for:
                module = self._from_shim(name, tuple(fromlist or ()), level, globals or {})
                if module is not None:
                    return module
            if level > 1:
                return self._from_parent(name, fromlist or (), level, globals or {})
            if level:
                return real(name, globals, locals, fromlist or (), level)
            if name.startswith(trees()):
                module = self._from_tree(name, tuple(fromlist or ()))
                if module is not None:
                    return module
            importer = str((globals or {}).get("__name__", ""))
            private = self.private_name(name, importer)
            with importing(private or name, tuple(fromlist or ())):
                if private is None and self.means_another(name, importer):
                    with _without_our_entries():
                        return real(name, globals, locals, fromlist or (), 0)
                if private is None:
                    return real(name, globals, locals, fromlist or (), 0)
                if fromlist:
                    return real(private, globals, locals, fromlist, 0)
                importlib.import_module(private)
                depth = private.count(".") - name.count(".")
                return sys.modules[".".join(private.split(".")[: depth + 1])]

        scope["__import__"] = guest_import
        self.builtins = scope

    def _from_shim(self, name: str, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType | None:
        """What a relative import means that the files beside it do not have, where the folder stands for a package of
        another system; ``None`` if they have it.
        """
        inside = str(scope.get("__package__") or "").split(".")[1:]
        base = self.path.joinpath(*inside)
        for _ in range(level - 1):
            base = base.parent
        near = names_beside(base, name, wanted)
        is_near = len(near) == len(wanted) > 0
        if is_near and not is_checkout(base):
            return None
        packages = parent_packages((".".join([package, *inside]) for package in self.stands_for), level - 1)
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
            root = self.stands_for[0].partition(".")[0]
            raise ModuleNotFoundError(
                f"{'.' * level}{name} is neither in {base} nor in Polymeter's stand-in for {root}",
                name=f"{root}.{name}",
            )
        return module

    def private_name(self, name: str, importer: str = "") -> str | None:
        """The private name of a neighbour that an absolute import means; ``None`` if it means something else.

        Args:
            name: What is imported.
            importer: The module that imports it.
        """
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top.startswith(PREFIX):
            return None
        loaded = sys.modules.get(top)
        if loaded is not None and _is_installed(loaded):
            return None
        self._note_added()
        for folder in self.added:
            if _has_module(folder, top):
                return f"{package_of(folder)}.{name}"
        if not _has_module(self.path, top) or _is_findable(top):
            return None
        return None if self.means_another(name, importer) else f"{self.package}.{name}"

    def means_another(self, name: str, importer: str) -> bool:
        """Whether a name means an installed package although a file of this folder is called so. A wrapper is often
        called like the package that it wraps: a file never imports itself, and it has no modules inside.
        """
        top, _, inside = name.partition(".")
        is_file = (self.path / f"{top}.py").is_file() and not (self.path / top).is_dir()
        return is_file and bool(inside or importer == f"{self.package}.{top}")

    def _note_added(self) -> None:
        """Remember what the code that is loading now has put on ``sys.path``; it is taken off again after loading."""
        if not _loading:
            return
        for entry in sys.path:
            if entry and entry not in _loading[0] and not isinstance(entry, _OurEntry):
                folder = Path(entry).resolve()
                if folder not in self.added and folder.is_dir() and not _is_site(str(folder)):
                    self.added.append(folder)

    def _from_tree(self, name: str, fromlist: tuple[str, ...]) -> ModuleType | None:
        """``from lmms_eval.tasks.x.y import z`` (or ``lmms_eval.models``): the files that came with this guest win over
        everything else of that name.
        """
        path = tree_path(name, self.path)
        if path is None:
            return None
        if self.stands_for:
            _folders[package_of(path.parent)].stands_for = (name.rpartition(".")[0],)
        with GUEST_LOCK, _kept_search_path():
            is_file = path.with_name(f"{path.name}.py").is_file()
            parts = [item for item in fromlist if not is_file and _has_module(path, item)]
            if is_file or len(parts) < len(fromlist):
                if not is_file and not (path / "__init__.py").is_file():
                    return None
                module = _import_neighbour(f"{package_of(path.parent)}.{path.name}")
            else:
                module = importlib.import_module(package_of(path))
            for item in parts:
                setattr(module, item, _import_neighbour(f"{package_of(path)}.{item}"))
        return module if fromlist else _tree_of(name, module)

    def _from_parent(self, name: str, fromlist: Sequence[str], level: int, scope: Mapping[str, Any]) -> ModuleType:
        """``from ..other.module import x``: the parent folder is a private package too."""
        inside = str(scope.get("__package__") or "").count(".")
        if inside >= level - 1:
            return builtins.__import__(name, scope, None, fromlist, level)
        base = self.path
        for _ in range(level - 1 - inside):
            base = base.parent
        *parents, last = name.split(".") if name else [""]
        folder = base.joinpath(*parents)
        if last and not _has_module(folder, last):
            raise ModuleNotFoundError(f"No module named {name!r} in {base}", name=name)
        package = package_of(folder)
        _folders[package].stands_for = parent_packages(self.stands_for, level - 1 - inside, parents)
        private = f"{package}.{last}" if last else package
        return builtins.__import__(private, scope, None, fromlist or ("*",), 0)


class _GuestLoader(SourceFileLoader):
    """Loads a file with its folder's builtins in place."""

    def exec_module(self, module: ModuleType) -> None:
        folder = _folders[module.__name__.partition(".")[0]]
        module.__dict__["__builtins__"] = folder.builtins
        with in_mode("load"), loading_sources(Path(self.path)):
            super().exec_module(module)


class _GuestFinder(MetaPathFinder):
    """Finds private packages and what is in them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIX) or path is None:
            return None
        spec = PathFinder.find_spec(fullname, list(path))
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin:
            spec.loader = _GuestLoader(fullname, spec.origin)
        return spec


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
        if not any(isinstance(finder, _GuestFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _GuestFinder())
        with not_noting():  # what a guest does not import is no source of it
            code = digest(b"".join(file.read_bytes() for file in files))
        name = PREFIX + digest(f"{folder}:{code}".encode())[:16]
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [str(folder)]
            package.__package__ = name
            _folders[name] = _Folder(folder, name)
            sys.modules[name] = package
        _packages[folder] = (state, name)
        return name


def load_file(file: Path, supplied: Mapping[str, Any] | None = None, stands_for: Sequence[str] = ()) -> ModuleType:
    """The module of a source file; executed on first use, the same instance until ``forget_modules``. Call it inside
    ``contained``.

    Args:
        file: The file.
        supplied: Names that code of its folder may use without importing them; what it defines itself wins.
        stands_for: Packages that the code was written to lie in, the likeliest first: what its relative imports name
            and its neighbours do not have is taken from their shims.
    """
    file = file.resolve()
    package = package_of(file.parent)
    folder = _folders[package]
    folder.builtins.update(supplied or {})
    folder.stands_for = folder.stands_for or tuple(stands_for)
    stem = file.stem
    with GUEST_LOCK:
        name = f"{package}.{stem}"
        if "." not in stem:
            with _importable(file.parent):
                return importlib.import_module(name)
        # A file literally named "utils.sub.py" cannot be found by a dotted name.
        name = f"{package}.{stem.replace('.', '_dot_')}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, file, loader=_GuestLoader(name, str(file)))
            if spec is None or spec.loader is None:
                raise ModuleNotFoundError(f"Cannot load {file}", name=stem)
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            try:
                with _importable(file.parent):
                    spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return sys.modules[name]


def forget_modules() -> None:
    """Let the next use of a guest module execute it anew.

    Code that counts in its globals must not go on from an earlier run of this process. Functions that are held already
    keep the module that they came from.
    """
    with GUEST_LOCK:
        for name in [name for name in sys.modules if name.startswith(PREFIX) and "." in name]:
            module = sys.modules.pop(name)
            parent, _, child = name.rpartition(".")
            package = sys.modules.get(parent)
            if getattr(package, child, None) is module:
                delattr(package, child)


def guest_import_module(name: str, folder: Path, supplied: Mapping[str, Any] | None = None) -> ModuleType | None:
    """The module of a dotted name below a folder; ``None`` if there is none. ``supplied`` as for ``load_file``."""
    if not _has_module(folder, name.partition(".")[0]):
        return None
    _folders[package_of(folder)].builtins.update(supplied or {})
    with GUEST_LOCK, _importable(folder):
        return importlib.import_module(f"{package_of(folder)}.{name}")


def _import_neighbour(private: str) -> ModuleType:
    with importing(private):
        return importlib.import_module(private)


@contextmanager
def _kept_search_path() -> Iterator[None]:
    """Leave ``sys.path`` as it is found."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


def _tree_of(name: str, module: ModuleType) -> ModuleType:
    """What ``import a.b.c`` binds: a module ``a`` that leads to the given one, and otherwise to the real ``a``."""
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


@contextmanager
def _without_our_entries() -> Iterator[None]:
    """Leave out of ``sys.path`` the folders whose code is loading."""
    ours = [entry for entry in sys.path if isinstance(entry, _OurEntry)]
    sys.path[:] = [entry for entry in sys.path if not isinstance(entry, _OurEntry)]
    try:
        yield
    finally:
        sys.path.extend(ours)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """The folder is on ``sys.path`` while its code loads, for code that imports by other means than ``import``."""
    before = set(sys.modules)
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
    """Take out of ``sys.modules`` what guest code has imported under a bare name by other ways than ``import``."""
    root = str(folder)
    for name in set(sys.modules) - before:
        if not name.startswith(PREFIX) and str(getattr(sys.modules[name], "__file__", None) or "").startswith(root):
            del sys.modules[name]


def _has_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _is_installed(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    is_ours = isinstance(module, ShimModule) or module.__name__.partition(".")[0] == "polymeter"
    return file is None or _is_site(file) or is_ours


def _is_site(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path or path.startswith((sys.base_prefix + "/lib", _STDLIB))


def _is_findable(name: str) -> bool:
    """Whether an installed package has that name. Only real installations count, not the working directory."""
    installations = [entry for entry in sys.path if entry and _is_site(entry)]
    return PathFinder.find_spec(name, installations) is not None


_STDLIB = str(Path(importlib.__file__ or "").resolve().parents[1])
