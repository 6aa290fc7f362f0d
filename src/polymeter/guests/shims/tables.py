"""The importable names of other systems, as tables. ``finder`` serves them.

A system's record names its import roots (``core.names.systems.ImportRoot``). Each has two tables, plain data, that are
read when the first name below the root is asked for. The table of *aliases* lists importable names::

    {
        "other.utils": "ours.helpers",  # a module of ours under a second name, the same object
        "other.models": {  # a module that is made of names:
            "Base": "ours.wrappers:Model",  #     an object
            "zoo": "ours.zoo",  #     a module
            "*": "ours.registry",  #     whatever else this module, or "module:object", has
        },
        "other.models.simple": {},  # a package without names of its own
    }

Names and modules that a root does not have are looked for below another one, if its record names that (``otherwise``).

A module with others below it is a package; those in between need no entry. The table of *refused names* has advice for
classes, and functions (with ``()``), that can be named and not used::

    {"other.server.Server": "Name the endpoint with --base-url.", "other.server.launch()": "Use 'polymeter run'."}
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, NoReturn, cast

from polymeter.core.errors import PlanError
from polymeter.core.names.systems import ImportRoot, System, import_roots, load

_REST = "*"


def is_shim(name: str) -> bool:
    """Return whether a dotted name is a module that a system serves. Imports nothing but its tables."""
    return _shim_names().serves(name)


def is_only_refused(name: str) -> bool:
    """Return whether a module that a system serves has nothing but names that cannot be used."""
    return _shim_names().only_refuses(name)


def holds(module: str, name: str) -> bool:
    """Return whether a module that a system serves has a name, or a module of that name below it. Imports what the
    module leads to, which is Polymeter's own, and never the package that it stands for: the shims need not be on.
    """
    return _shim_names().holds(module, name)


# Kept for the life of the process: it holds the tables of the installed systems.
@lru_cache(maxsize=1)
def _shim_names() -> ShimNames:
    return ShimNames()


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a module of a table: targets by name, refused names, the target of everything else, the full
    names of the modules below it, and the module of that name below another root, which has names that this one does
    not have.
    """

    names: Mapping[str, str]
    refused: Mapping[str, Callable[[], object]]
    rest: str
    modules: frozenset[str]
    otherwise: str = ""

    def public_names(self) -> list[str]:
        """The names that a star import binds."""
        rest = load(self.rest) if self.rest else None
        others = getattr(rest, "__all__", None)
        if others is None:
            others = [name for name in dir(rest) if not name.startswith("_")] if self.rest else []
        return list(dict.fromkeys([*self.names, *self.refused, *others]))


class ShimModule(ModuleType):
    """A module whose names are looked up when they are first used.

    Args:
        name: Its dotted name.
        contents: Its contents.
    """

    def __init__(self, name: str, contents: Contents) -> None:
        super().__init__(name, f"Polymeter's part of ``{name}``.")
        vars(self)["_contents"] = contents

    def __getattr__(self, name: str) -> Any:
        contents: Contents = vars(self)["_contents"]
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
            # Not kept: such a module may return another object each time, from the user's files so far.
            return getattr(load(contents.rest), name)
        elif contents.otherwise and not name.startswith("__"):
            return getattr(importlib.import_module(contents.otherwise), name)
        else:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        contents: Contents = vars(self)["_contents"]
        return sorted({*vars(self), *contents.public_names()} - {"_contents"})


class Tables:
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

    def contents(self, name: str, modules: frozenset[str]) -> Contents:
        """The names of a module; ``modules`` are all modules of the import root."""
        entry = self._aliases.get(name, {})
        names = {} if isinstance(entry, str) else entry
        refused = {
            item.removesuffix("()"): self._refusal(name, item, instead)
            for item, instead in self._refused.get(name, {}).items()
        }
        return Contents({key: names[key] for key in names if key != _REST}, refused, names.get(_REST, ""), modules)

    def is_package(self, name: str, modules: frozenset[str]) -> bool:
        """Return whether modules may lie below a module that is made of names."""
        return self._aliases.get(name) == {} or any(other.startswith(f"{name}.") for other in modules)

    def _refusal(self, module: str, item: str, instead: str) -> Callable[[], object]:
        name = item.removesuffix("()")
        make = _refused_class if name == item else _refused_function
        return lambda: make(module, name, instead, self.title)


class ShimNames:
    """The names of all import roots.

    Attributes:
        roots: For each import root, its system and its record.
    """

    def __init__(self) -> None:
        self.roots = import_roots()
        self._tables: dict[str, Tables] = {}
        self._names: dict[str, frozenset[str]] = {}

    def serves(self, name: str) -> bool:
        """Return whether there is a module of that name."""
        root = name.partition(".")[0]
        return root in self.roots and name in self.modules(root)

    def only_refuses(self, name: str) -> bool:
        """Return whether a module has nothing but refused names."""
        found = [] if not self.serves(name) else list(self._contents_of(name))
        return bool(found) and not any(target or held.names or held.rest for target, held in found)

    def holds(self, module: str, name: str) -> bool:
        """Return whether a module has a name."""
        if not self.serves(module):
            return False
        if f"{module}.{name}" in self.modules(module.partition(".")[0]):
            return True
        for target, held in self._contents_of(module):
            if name in held.names or name in held.refused:
                return True
            others = target or held.rest
            # An object that is looked up anew each time may have any name by then.
            if others and not name.startswith("__") and (":" in others or hasattr(load(others), name)):
                return True
        return False

    def _contents_of(self, name: str) -> Iterator[tuple[str, Contents]]:
        """Return, for each root that has a module, our module for it, or its table of names."""
        root, _, below = name.partition(".")
        for answering in self.answering(root):
            full = f"{answering}.{below}" if below else answering
            tables = self.tables_of(answering)
            if full in tables.modules:
                yield tables.target(full), tables.contents(full, frozenset())

    def answering(self, root: str) -> Iterator[str]:
        """Return an import root and those that replace its missing names, if they exist."""
        while root in self.roots:
            yield root
            root = self.roots[root][1].otherwise

    def tables_of(self, root: str) -> Tables:
        """The tables of an import root, which are read when they are first asked for."""
        if root not in self._tables:
            self._tables[root] = Tables(*self.roots[root])
        return self._tables[root]

    def modules(self, root: str) -> frozenset[str]:
        """The full names of all modules of an import root."""
        if root not in self._names:
            answering = [(other, self.tables_of(other).modules) for other in self.answering(root)]
            self._names[root] = frozenset(root + name[len(other) :] for other, names in answering for name in names)
        return self._names[root]


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
