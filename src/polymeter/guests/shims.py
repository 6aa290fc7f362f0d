"""Shims: importable names of other systems that lead to our objects, served from the first guest on.

A system's record names its import roots (``core.systems.ImportRoot``). Each has two tables, plain data, that are read
when the first name below the root is asked for. The table of *aliases* says what is importable::

    {
        "other.utils": "ours.helpers",  # a module of ours under a second name, the same object
        "other.models": {  # a module that is made of names:
            "Base": "ours.wrappers:Model",  #     an object
            "zoo": "ours.zoo",  #     a module
            "*": "ours.registry",  #     whatever else this module, or "module:object", has
        },
        "other.models.simple": {},  # a package without names of its own
    }

Names and modules that a root lacks are looked for below another one, if its record names that (``otherwise``).

A module with others below it is a package; those in between need no entry. The table of *refused names* says what to do
instead of using a class, or a function (with ``()``) that can be named and not used::

    {"other.server.Server": "Name the endpoint with --base-url.", "other.server.launch()": "Use 'polymeter run'."}

Nothing is installed under another project's name; one entry of ``sys.meta_path`` answers for it. What a task's own
collection brings (``lmms_eval.tasks.mmbench.en_utils``) never gets here: guests' imports look there first.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn, cast

from polymeter.core.errors import PlanError
from polymeter.core.records import dataclass
from polymeter.core.systems import ImportRoot, System, import_roots, load

_REST = "*"


def switch_on_shims() -> None:
    """Make the names of every system importable, for as long as the process lives. Calling it again changes nothing.

    Raises:
        PlanError: if a real package is loaded already, so that its code and ours would mix.
    """
    if any(isinstance(finder, _ShimFinder) for finder in sys.meta_path):
        return
    for root in import_roots():
        loaded = sys.modules.get(root)
        # A module of ours that is served under another name keeps its own.
        if loaded is not None and loaded.__name__ == root and not isinstance(loaded, ShimModule):
            raise PlanError(
                f"The package {root!r} is loaded already, so Polymeter cannot stand in for it.",
                where=str(getattr(loaded, "__file__", None) or root),
                hint=f"Evaluate in a process that does not import {root} first.",
            )
    sys.meta_path.insert(0, _ShimFinder())


def is_shim(name: str) -> bool:
    """Whether a dotted name is a module that a system serves. Imports nothing but its tables."""
    return _finder().serves(name)


@lru_cache(maxsize=1)
def _finder() -> _ShimFinder:
    return _ShimFinder()


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a module of a table holds: targets by name, refused names, the target of everything else, the full names of
    the modules below it, and the module of that name below another root, which has what this one lacks.
    """

    names: Mapping[str, str]
    refused: Mapping[str, Callable[[], object]]
    rest: str
    modules: frozenset[str]
    otherwise: str = ""

    def public_names(self) -> list[str]:
        """What a star import binds."""
        rest = load(self.rest) if self.rest else None
        others = getattr(rest, "__all__", None)
        if others is None:
            others = [name for name in dir(rest) if not name.startswith("_")] if self.rest else []
        return list(dict.fromkeys([*self.names, *self.refused, *others]))


class ShimModule(ModuleType):
    """A module whose names are looked up when they are first used.

    Args:
        name: Its dotted name.
        contents: What it holds.
    """

    def __init__(self, name: str, contents: _Contents) -> None:
        super().__init__(name, f"What Polymeter has of ``{name}``.")
        vars(self)["_contents"] = contents

    def __getattr__(self, name: str) -> Any:
        contents: _Contents = vars(self)["_contents"]
        if name == "__all__":
            return contents.public_names()
        if name in contents.names:
            value = load(contents.names[name])
        elif name in contents.refused:
            value = contents.refused[name]()
        elif f"{self.__name__}.{name}" in contents.modules:
            return importlib.import_module(f"{self.__name__}.{name}")
        elif (
            contents.rest
            and not name.startswith("__")
            and (not contents.otherwise or hasattr(load(contents.rest), name))
        ):
            # Not kept: such a module may answer anew each time, with what the user's files have defined by then.
            return getattr(load(contents.rest), name)
        elif contents.otherwise and not name.startswith("__"):
            return getattr(importlib.import_module(contents.otherwise), name)
        else:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        contents: _Contents = vars(self)["_contents"]
        return sorted({*vars(self), *contents.public_names()} - {"_contents"})


class _Tables:
    """The tables of one import root.

    Args:
        system: The system that the root belongs to.
        record: The root's record, which names the tables.
    """

    def __init__(self, system: System, record: ImportRoot) -> None:
        self.title = record.title or system.title
        self.file = _file_of(record.aliases)
        self._aliases = cast("Mapping[str, str | Mapping[str, str]]", load(record.aliases)) if record.aliases else {}
        refused = cast("Mapping[str, str]", load(record.refused)) if record.refused else {}
        self._refused: dict[str, dict[str, str]] = {}
        for dotted, instead in refused.items():
            module, _, name = dotted.rpartition(".")
            self._refused.setdefault(module, {})[name] = instead
        named = [*self._aliases, *self._refused]
        self.modules = frozenset([*named, *(package for name in named for package in _packages_around(name))])

    def target(self, name: str) -> str:
        """The module of ours that a module is; empty when it is made of names."""
        entry = self._aliases.get(name)
        return entry if isinstance(entry, str) else ""

    def contents(self, name: str, modules: frozenset[str]) -> _Contents:
        """The names of a module; ``modules`` are all modules of the import root."""
        entry = self._aliases.get(name, {})
        names = {} if isinstance(entry, str) else entry
        refused = {
            item.removesuffix("()"): self._refusal(name, item, instead)
            for item, instead in self._refused.get(name, {}).items()
        }
        return _Contents({key: names[key] for key in names if key != _REST}, refused, names.get(_REST, ""), modules)

    def is_package(self, name: str, modules: frozenset[str]) -> bool:
        """Whether modules may lie below a module that is made of names."""
        return self._aliases.get(name) == {} or any(other.startswith(f"{name}.") for other in modules)

    def _refusal(self, module: str, item: str, instead: str) -> Callable[[], object]:
        name = item.removesuffix("()")
        make = _refused_class if name == item else _refused_function
        return lambda: make(module, name, instead, self.title)


class _ShimFinder(MetaPathFinder):
    """Finds modules of the other systems' import roots and nothing else."""

    def __init__(self) -> None:
        self._roots = import_roots()
        self._tables: dict[str, _Tables] = {}
        self._names: dict[str, frozenset[str]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, below = fullname.partition(".")
        if root not in self._roots:
            return None
        names = [f"{answering}.{below}" if below else answering for answering in self._answering(root)]
        found = [name for name in names if name in self._tables_of(name.partition(".")[0]).modules]
        if found:
            return self._spec(fullname, found[0], found[1] if len(found) > 1 else "")
        private = self._in_a_tree(fullname)
        if private is not None:
            return private
        if _is_import():
            raise ModuleNotFoundError(self._what_is_missing(fullname), name=fullname)
        return None

    def _spec(self, fullname: str, name: str, otherwise: str) -> ModuleSpec:
        tables = self._tables_of(name.partition(".")[0])
        target = tables.target(name) or (name if name != fullname else "")
        if target:
            real = importlib.util.find_spec(target)
            is_package = real is not None and real.submodule_search_locations is not None
            origin = real.origin if real is not None else None
            return ModuleSpec(fullname, _Alias(target), origin=origin, is_package=is_package)
        modules = self._modules(fullname.partition(".")[0])
        loader = _Made(replace(tables.contents(name, modules), otherwise=otherwise), tables.file)
        return ModuleSpec(fullname, loader, origin=tables.file, is_package=tables.is_package(name, modules))

    def serves(self, name: str) -> bool:
        """Whether it finds a module of that name."""
        root = name.partition(".")[0]
        return root in self._roots and name in self._modules(root)

    def _in_a_tree(self, fullname: str) -> ModuleSpec | None:
        """A module from the user's own folders, for a script: guests' imports look there themselves."""
        from polymeter.guests.imports import load_from_tree  # imports this module

        private = load_from_tree(fullname)
        if private is None:
            return None
        module = sys.modules[private]
        origin = getattr(module, "__file__", None)
        return ModuleSpec(fullname, _Alias(private), origin=origin, is_package=hasattr(module, "__path__"))

    def _answering(self, root: str) -> Iterator[str]:
        """An import root and those that answer for what it lacks, as far as they are there."""
        while root in self._roots:
            yield root
            root = self._roots[root][1].otherwise

    def _tables_of(self, root: str) -> _Tables:
        if root not in self._tables:
            self._tables[root] = _Tables(*self._roots[root])
        return self._tables[root]

    def _modules(self, root: str) -> frozenset[str]:
        """The full names of all modules of an import root."""
        if root not in self._names:
            answering = [(other, self._tables_of(other).modules) for other in self._answering(root)]
            self._names[root] = frozenset(root + name[len(other) :] for other, names in answering for name in names)
        return self._names[root]

    def _what_is_missing(self, fullname: str) -> str:
        """A message for a name that does not exist, with similar ones."""
        root, _, below = fullname.partition(".")
        near = get_close_matches(fullname, sorted(self._modules(root) - {root}), n=3, cutoff=0.6)
        hints = [f"Near: {', '.join(near)}."] if near else []
        system = self._roots[root][0]
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

    def __init__(self, contents: _Contents, file: str) -> None:
        self._contents = contents
        self._file = file

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ShimModule(spec.name, self._contents)

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._file


def _is_import() -> bool:
    """Whether the import system asks a finder for an ``import`` statement, which fails where there is no module and
    should say why. Code that asks whether there is one (``importlib.util.find_spec``) is answered with ``None``.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_name == "_find_spec" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name == "_find_and_load_unlocked"


def _packages_around(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:depth]) for depth in range(1, len(parts)))


def _file_of(target: str) -> str:
    """The file of the module that a ``"module:attribute"`` is in."""
    spec = importlib.util.find_spec(target.partition(":")[0]) if target else None
    return (spec.origin if spec else None) or ""


def _refused_class(module: str, name: str, instead: str, title: str) -> type:
    """A class that can be named and subclassed; making an instance is refused."""

    def refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(name, instead, title)

    return type(name, (), {"__init__": refuse, "__doc__": f"Not provided. {instead}", "__module__": module})


def _refused_function(module: str, name: str, instead: str, title: str) -> Callable[..., Any]:
    """A function that refuses to be called."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise _refusal(name, instead, title)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    refuse.__doc__ = f"Not provided. {instead}"
    return refuse


def _refusal(name: str, instead: str, title: str) -> PlanError:
    return PlanError(f"{name} of {title} is not provided.", where=f"{title.lower()} {name}", hint=instead)
