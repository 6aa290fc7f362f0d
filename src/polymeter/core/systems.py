"""Systems: other evaluation tools whose files, wrappers, imports and command lines Polymeter takes as they are.

Each is one ``System`` record of text in a package of its own: reading it imports nothing else of that package. Nothing
imports a system; what it offers is reached by name, so one that is not installed is simply not there.

An outside package adds one through the entry point group ``polymeter.interop``. One that cannot be read is a problem
that listings show, and stops nothing else.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from polymeter.core.catalog import Problem
from polymeter.core.errors import PlanError, PolymeterError, boundary
from polymeter.core.registry import Target

_BUILT_IN = "polymeter.interop"
_GROUP = "polymeter.interop"


@dataclass(frozen=True, slots=True)
class System:
    """What a system offers, as text: every value that names code is a lazy ``"module:attribute"``.

    Attributes:
        name: A Python identifier, unique among the systems.
        title: What people call it.
        summary: One line for listings.
        formats: Benchmark formats that it brings, by name.
        models: Backends that it brings, by name.
        import_roots: For each top-level package that its guests import, the packages of ours that answer for it; what
            the first one lacks is looked for in the next.
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
    import_roots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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


def systems() -> tuple[System, ...]:
    """Every system that can be read: those beside Polymeter's own code, then those of installed packages."""
    return _read()[0]


def broken_systems() -> tuple[Problem, ...]:
    """What is wrong with the systems of installed packages that cannot be read; each names its package."""
    return _read()[1]


def offered(kind: Callable[[System], Mapping[str, Target]]) -> dict[str, Target]:
    """What the systems bring of one kind, by name.

    Args:
        kind: Which kind: takes one field of a system.

    Raises:
        PlanError: if two systems bring one name.
    """
    targets: dict[str, Target] = {}
    owners: dict[str, str] = {}
    for system in systems():
        for name, target in kind(system).items():
            owner = owners.setdefault(name, system.name)
            if owner != system.name:
                raise PlanError(
                    f"Two systems bring {name!r}: {owner!r} and {system.name!r}.", hint="Remove one of them."
                )
            targets[name] = target
    return targets


def import_roots() -> dict[str, tuple[str, ...]]:
    """The packages of ours that answer for each foreign package."""
    return {root: homes for system in systems() for root, homes in system.import_roots.items()}


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
    """What a ``"module:attribute"`` leads to."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


@lru_cache(maxsize=1)
def _read() -> tuple[tuple[System, ...], tuple[Problem, ...]]:
    built_in = _built_in()
    items = list(_installed({system.name: "Polymeter" for system in built_in}))
    installed = [item for item in items if isinstance(item, System)]
    return (*built_in, *installed), tuple(item for item in items if isinstance(item, Problem))


def _built_in() -> list[System]:
    # Found by their folders and not through installation metadata: a checkout on PYTHONPATH has them too.
    spec = importlib.util.find_spec(_BUILT_IN)
    names = sorted(info.name for info in pkgutil.iter_modules(spec.submodule_search_locations if spec else []))
    return [importlib.import_module(f"{_BUILT_IN}.{name}").SYSTEM for name in names]


def _installed(taken: Mapping[str, str]) -> Iterator[System | Problem]:
    """The systems of installed packages; one whose name is taken, by the place that has it, is a problem."""
    names = dict(taken)
    for point in entry_points(group=_GROUP):
        package = point.dist.name if point.dist else point.value.partition(".")[0]
        try:
            system = _loaded(point, package)
        except PolymeterError as error:
            yield Problem(error.where or point.value, f"{error.what} {error.hint}")
            continue
        if system.name in names:
            both = f"{names[system.name]} and the package {package!r}"
            yield Problem(point.value, f"Two systems are named {system.name!r}: that of {both}. Remove one of them.")
            continue
        names[system.name] = f"the package {package!r}"
        yield system


def _loaded(point: EntryPoint, package: str) -> System:
    hint = "Reinstall or remove that package."
    # Whatever another package raises while it is imported must not end commands that need nothing of it.
    with boundary(PlanError, f"Reading the system {point.name!r} of the package {package!r}", hint=hint):
        system = point.load()
    if not isinstance(system, System):
        raise PlanError(f"The entry point {point.name!r} of the package {package!r} is not a System.", hint=hint)
    return system
