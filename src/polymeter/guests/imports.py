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
from collections import Counter
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
    beside_checkout,
    checkout_path,
    has_shim,
    is_checkout,
    joined,
    names_beside,
    package_names,
    package_root,
    parent_packages,
    shim_of,
    tree_path,
    trees,
)
from polymeter.guests.opened_sources import importing, loading_sources
from polymeter.guests.served_datasets import serve_datasets
from polymeter.guests.shims import ShimModule

GUEST_LOCK = threading.RLock()
PREFIX = "_polymeter_guest_"

_folders: dict[str, _Folder] = {}
_packages: dict[Path, tuple[object, str]] = {}
_loading: list[frozenset[str]] = []  # what sys.path held before each load that is under way, outermost first
_settled: list[str] = []  # what sys.path holds of which no function of a guest's has just put anything there


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
            if level:
                return self._relative(name, tuple(fromlist or ()), level, globals or {})
            if name.startswith(trees()) or name.partition(".")[0] in package_names():
                module = self._from_package(name, tuple(fromlist or ()))
                if module is not None:
                    return module
            importer = str((globals or {}).get("__name__", ""))
            private = self.private_name(name, importer)
            with importing(private or name, tuple(fromlist or ())):
                if private is None and self.means_another(name, importer):
                    with _without_our_entries():
                        return real(name, globals, locals, fromlist or (), 0)
                if private is None:
                    found = real(name, globals, locals, fromlist or (), 0)
                    serve_datasets(name.partition(".")[0])
                    return found
                if fromlist:
                    return real(private, globals, locals, fromlist, 0)
                importlib.import_module(private)
                depth = private.count(".") - name.count(".")
                return sys.modules[".".join(private.split(".")[: depth + 1])]

        scope["__import__"] = guest_import
        self.builtins = scope

    def _relative(self, name: str, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType:
        """What a relative import means: names of an ``__init__.py``, then of the shim, then modules of the folders."""
        module = self._from_init(wanted, level, scope) if wanted and not name else None
        if module is None and self.stands_for:
            module = self._from_shim(name, wanted, level, scope)
        if module is not None:
            return module
        if level > 1:
            return self._from_parent(name, wanted, level, scope)
        return builtins.__import__(name, scope, None, wanted, level)

    def _from_init(self, wanted: tuple[str, ...], level: int, scope: Mapping[str, Any]) -> ModuleType | None:
        """``from . import x``, where x is a name of the ``__init__.py`` of the folder (``from .. import x``: of one
        above it); ``None`` if no name is. In a checkout the names of the shim come first, as in ``_from_shim``.
        """
        inside = str(scope.get("__package__") or "").count(".")
        if level <= inside:
            return None  # a package that Python knows
        base = self.path
        for _ in range(level - 1 - inside):
            base = base.parent
        near = names_beside(base, "", wanted)
        others = tuple(item for item in wanted if item not in near)
        if not others or not (base / "__init__.py").is_file():
            return None
        packages = parent_packages(self.stands_for, level - 1 - inside)
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
            importer = self.builtins["__import__"]
            others_module = importer("", scope, None, rest, level)
            vars(found).update({item: getattr(others_module, item) for item in rest})
        return found

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
        if not _has_module(self.path, top):
            around = beside_checkout(top, self.path)
            return None if around is None or _is_findable(top) else f"{package_of(around)}.{name}"
        if _is_findable(top):
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
        """Remember what this folder's code has put on ``sys.path``: while it loads, which is taken off again later, or
        in a function, just before the import that needs it.
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
            is_new = bool(entry) and not isinstance(entry, _OurEntry) and folder not in self.added
            if is_new and folder.is_dir() and not _is_site(str(folder)):
                self.added.append(folder)

    def _from_package(self, name: str, fromlist: tuple[str, ...]) -> ModuleType | None:
        """An absolute import from a system's package. ``from lmms_eval.tasks.x.y import z`` (or ``lmms_eval.models``):
        the files that came with this guest win over everything else of that name. Of a checkout, what the shims lack.
        """
        path = tree_path(name, self.path) if name.startswith(trees()) else checkout_path(name, self.path)
        if path is None:
            return self._from_package_init(name, fromlist)
        if self.stands_for:
            _folders[package_of(path.parent)].stands_for = (name.rpartition(".")[0],)
            if path.is_dir():
                _folders[package_of(path)].stands_for = (name,)
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

    def _from_package_init(self, name: str, fromlist: tuple[str, ...]) -> ModuleType | None:
        """``from tool.dataset import x`` (or ``*``) in a checkout, where the shim has no x but the checkout's own
        ``__init__.py`` does; ``None`` if it does not.
        """
        root = package_root(self.path)
        if root is None or not fromlist or root.name != name.partition(".")[0] or not is_checkout(self.path):
            return None
        folder = root.joinpath(*name.split(".")[1:])
        shim = importlib.import_module(name) if has_shim(name) else None
        others = tuple(item for item in fromlist if item == "*" or not hasattr(shim, item))
        if shim is None or not others or not (folder / "__init__.py").is_file():
            return None
        names = _names_of_init(folder, (name,), others)
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
        folder._note_added()  # for imports inside its functions, which run when the search path is as before


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


def load_file(
    file: Path, supplied: Mapping[str, Any] | None = None, stands_for: Sequence[str] = (), copy: str = ""
) -> ModuleType:
    """The module of a source file; executed on first use, the same instance until ``forget_modules``. Call it inside
    ``contained``.

    Args:
        file: The file.
        supplied: Names that code of its folder may use without importing them; what it defines itself wins.
        stands_for: Packages that the code was written to lie in, the likeliest first: what its relative imports name
            and its neighbours do not have is taken from their shims.
        copy: Names an instance of the module of its own, with its own globals; empty: the one that all share.
    """
    file = file.resolve()
    package = package_of(file.parent)
    folder = _folders[package]
    folder.builtins.update(supplied or {})
    folder.stands_for = folder.stands_for or tuple(stands_for)
    stem = file.stem
    with GUEST_LOCK:
        name = f"{package}.{stem}"
        if "." not in stem and not copy:
            with _importable(file.parent):
                return importlib.import_module(name)
        # A file literally named "utils.sub.py" cannot be found by a dotted name, nor can a copy.
        name = f"{package}.{stem.replace('.', '_dot_')}{f'_{digest(copy.encode())[:16]}' if copy else ''}"
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


def load_from_tree(name: str) -> str | None:
    """The private name under which the module of a dotted name of one of the trees has been loaded, from the folders of
    benchmarks that the user has named; ``None`` if there is none there.
    """
    path = tree_path(name, None)
    if path is None:
        return None
    is_module = path.with_name(f"{path.name}.py").is_file() or (path / "__init__.py").is_file()
    private = f"{package_of(path.parent)}.{path.name}" if is_module else package_of(path)
    with GUEST_LOCK, _kept_search_path():
        importlib.import_module(private)
    return private


def forget_modules() -> None:
    """Let the next use of a guest module execute it anew.

    Code that counts in its globals must not go on from an earlier run of this process. Functions that are held already
    keep the module that they came from. A module that is still loading stays: what it imports may look through the
    catalog, which forgets the modules of the run before.
    """
    with GUEST_LOCK:
        for name in [name for name in sys.modules if name.startswith(PREFIX) and "." in name]:
            if getattr(sys.modules[name].__spec__, "_initializing", False):
                continue
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


def _names_of_init(folder: Path, stands_for: tuple[str, ...], wanted: Sequence[str]) -> dict[str, Any]:
    """Names of a folder's ``__init__.py``, which is run on first use, with their values: those of ``wanted`` that it
    has, or all that a star import binds.

    An ``__init__`` that imports the very file that asks for its names has those that it has defined by then, as in a
    real package. One that cannot be loaded for another reason has what it has defined, too, unless a name is missing.

    Raises:
        ImportError: if it cannot be loaded, and lacks a name that is asked for.
    """
    package = package_of(folder)
    _folders[package].stands_for = _folders[package].stands_for or stands_for
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
