"""Systems: other evaluation tools whose files, wrappers, imports and command lines Polymeter takes as they are.

Each is one ``System`` record of text in a package of its own: reading it imports nothing else of that package. Nothing
imports a system; what it offers is reached by name, so one that is not installed is simply not there.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.registry import Target

_BUILT_IN = "polymeter.interop"
_GROUP = "polymeter.interop"


@dataclass(frozen=True, slots=True)
class ImportRoot:
    """What answers for a top-level package that a system's guests import; ``guests.shims`` says what the tables hold.

    Attributes:
        aliases: Where the table of importable names is, as ``"module:attribute"``.
        refused: Where the table of refused names is, likewise; without it nothing is refused.
        otherwise: Another import root, which answers for what the tables lack.
        title: What people call the package; default: the system's title.
    """

    aliases: str = ""
    refused: str = ""
    otherwise: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """What a system offers, as text: every value that names code is a lazy ``"module:attribute"``.

    Attributes:
        name: A Python identifier, unique among the systems.
        title: What people call it.
        summary: One line for listings.
        formats: Benchmark formats that it brings, by name.
        models: Backends that it brings, by name.
        import_roots: For each top-level package that its guests import, what answers for it.
        trees: Dotted packages below whose names guests find their neighbours (``lmms_eval.tasks``), each with the
            modules of that package that are the system's own and no neighbour's.
        kits: Of the import roots those whose authors put dataset classes and wrappers straight into its folders, each
            with these folders.
        absent: For a dotted prefix below the import roots, a sentence about modules that are not there.
        command: Its command line; called with the words behind ``polymeter <command_name>``.
        command_name: How the command is called.
        command_help: One line for ``polymeter --help``.
        modules: For each module that ``polymeter python -m`` runs as a command line, what runs it.
        supplied: Names that a script which mentions this system may use without importing them.
        extensions: Code for the extension points of formats that this system does not own, by their name.
        library: The package whose folder holds benchmarks that come with it.
    """

    name: str
    title: str
    summary: str
    formats: Mapping[str, Target] = field(default_factory=dict)
    models: Mapping[str, Target] = field(default_factory=dict)
    import_roots: Mapping[str, ImportRoot] = field(default_factory=dict)
    trees: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    command_name: str = ""
    command_help: str = ""
    modules: Mapping[str, str] = field(default_factory=dict)
    supplied: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)
    library: str = ""


@lru_cache(maxsize=1)
def systems() -> tuple[System, ...]:
    """Every system there is: those beside Polymeter's own code, then those of installed packages, each by name.

    Raises:
        PlanError: Two systems have one name, or an entry point leads to something else.
    """
    found: dict[str, tuple[System, str]] = {}
    for system, place in [*_built_in(), *_installed()]:
        other = found.setdefault(system.name, (system, place))
        if other[1] != place:
            raise PlanError(f"Two systems are named {system.name!r}.", where=f"{other[1]} and {place}")
    return tuple(system for system, _ in found.values())


def import_roots() -> dict[str, tuple[System, ImportRoot]]:
    """For each foreign package the system that it belongs to, and what answers for it."""
    return {root: (system, record) for system in systems() for root, record in system.import_roots.items()}


def same_names(module: str, names: str) -> dict[str, str]:
    """Rows of a table of aliases: names, separated by spaces, that stand for objects of the same names in a module."""
    return {name: f"{module}:{name}" for name in names.split()}


def libraries() -> list[str]:
    """The packages that hold benchmarks of systems."""
    return [system.library for system in systems() if system.library]


def package_folder(name: str) -> Path:
    """The folder of a package, which is not imported.

    Raises:
        PlanError: There is no such package.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PlanError(f"There is no package {name!r}.")
    return Path(next(iter(spec.submodule_search_locations)))


def extension(name: str) -> object | None:
    """The code that some system attaches to an extension point; ``None`` where no system does."""
    target = next((system.extensions[name] for system in systems() if name in system.extensions), None)
    return None if target is None else load(target)


def load(target: str) -> object:
    """What a ``"module:attribute"`` leads to, or a ``"module"``."""
    name, _, attribute = target.partition(":")
    module = importlib.import_module(name)
    return getattr(module, attribute) if attribute else module


def _built_in() -> list[tuple[System, str]]:
    # Found by their folders and not through installation metadata: a checkout on PYTHONPATH has them too.
    spec = importlib.util.find_spec(_BUILT_IN)
    names = sorted(info.name for info in pkgutil.iter_modules(spec.submodule_search_locations if spec else []))
    return [(importlib.import_module(f"{_BUILT_IN}.{name}").SYSTEM, f"{_BUILT_IN}.{name}") for name in names]


def _installed() -> list[tuple[System, str]]:
    found = []
    for point in entry_points(group=_GROUP):
        system = point.load()
        if not isinstance(system, System):
            raise PlanError(f"The entry point {point.name!r} of {_GROUP} leads to no System.", where=point.value)
        found.append((system, point.value))
    return found
