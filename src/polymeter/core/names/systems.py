"""Systems: other evaluation tools whose files, wrappers, imports and command lines work in Polymeter unchanged.

Each is one ``System`` record of text in its own package; reading the record imports nothing else of that package.
Nothing imports a system: what it offers is reached by name, so a system that is not installed is simply absent.

An outside package adds one through the entry point group ``polymeter.interop``. One that cannot be read is shown as
a problem in listings and stops nothing else.

A system that is added changes no number of what was there: a file that could be its own or Polymeter's is Polymeter's
(``tasks.yaml.dialects``).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from polymeter.core.errors import PlanError, PolymeterError, Problem, boundary
from polymeter.core.names.registry import Target, entry_points
from polymeter.core.names.unsupported import OF_NO_SYSTEM, UnsupportedFile

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_BUILT_IN = "polymeter.interop"
_FAMILY = "_family"
"""The ending of folder names that are not a system but are shared by several."""
_GROUP = "polymeter.interop"


@dataclass(frozen=True, slots=True)
class ImportRoot:
    """The shim of a top-level package that a system's guests import; ``guests.shims.finder`` describes the tables.

    Attributes:
        aliases: The table of importable names, as ``"module:attribute"``.
        refused: The table of refused names, likewise; empty: nothing is refused.
        otherwise: Another import root, whose tables are used for names that these do not hold.
        title: The package's usual name; default: the system's title.
    """

    aliases: str = ""
    refused: str = ""
    otherwise: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A system's own command line, as ``polymeter NAME``.

    Attributes:
        name: Its name.
        help: One line for ``polymeter --help``.
        target: ``(state, words) → exit code``, called with the words after the name.
        modules: Modules that ``polymeter python -m`` runs as this command line, each with the words to put before the
            module's own.
        python_options: Options of ``polymeter python`` that this command line has itself, each with its spelling here.
        scripts: Names of scripts of the tool that take the same options, for a hint if such a script is missing.
    """

    name: str
    help: str
    target: str
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    python_options: Mapping[str, str] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scripts:
    """Settings of ``polymeter python`` for scripts that were written for a system.

    Attributes:
        names: ``() → mapping``: names that a script may use without importing them, if it mentions an import root of
            the system.
        context: ``() → context manager``: entered around every script.
        wrappers: ``(path) → anything``: loads model wrappers from what ``--model-path`` names, so that the names that
            they register are known.
        wrapper_signs: A file of wrappers that contains one of these texts is the system's. Empty: the system gets every
            ``--model-path`` that no other system recognises.
    """

    names: str = ""
    context: str = ""
    wrappers: str = ""
    wrapper_signs: tuple[str, ...] = ()

    def recognise(self, source: bytes) -> bool:
        """Return whether a file with this content holds wrappers of the system, by its signs."""
        return any(sign.encode() in source for sign in self.wrapper_signs)


@dataclass(frozen=True, slots=True)
class Installed:
    """The place of the benchmarks of an installed package of the tool; ``core.names.installed`` finds it.

    Attributes:
        package: The importable name of the package. It is looked up and never imported.
        folder: The folder of benchmarks inside it.
        format: The format that reads them.
        also: Further formats that do: those of other generations of the tool.
        dialect: Whose rules their files follow where that format has several; empty: its own.
        clone: Where a clone of the tool is had, and where benchmarks lie in it, for benchmarks that the package was
            published without.
    """

    package: str
    folder: str
    format: str
    dialect: str = ""
    clone: str = ""
    also: tuple[str, ...] = ()

    @property
    def formats(self) -> tuple[str, ...]:
        """All formats that read them."""
        return (self.format, *self.also)


@dataclass(frozen=True, slots=True)
class Starter:
    """A small benchmark or model that ``polymeter init`` writes, to be changed into one's own.

    Attributes:
        summary: One line for listings.
        files: The folder with its files, as ``"package:folder"``. Each has the name of the file to be written and the
            ending ``.txt``; in names and texts ``@NAME@`` stands for the name that the user gave, ``@CLASS@`` for the
            same as the name of a class.
        commands: What runs it, without the word ``polymeter``; ``{folder}`` and ``{name}`` are filled in.
        draw: ``(folder) → None``, as ``"module:function"``: makes its images. Empty: it has none.
        images: The files that ``draw`` makes.
    """

    summary: str
    files: str
    commands: tuple[str, ...]
    draw: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """The record of a system, as text: every value that names code is a lazy ``"module:attribute"``.

    Attributes:
        name: A Python identifier, unique among the systems.
        title: Its usual name.
        summary: One line for listings.
        formats: Its benchmark formats, by name.
        models: Its model backends, by name.
        import_roots: For each top-level package that its guests import, the shim of that package. A root belongs to
            one system, because a process has one package of a name: a later version of the same tool is served by the
            same system.
        trees: Prefixes of dotted names below which guests import their neighbours (``lmms_eval.tasks.``), each with
            the modules there that belong to the tool and not to a neighbour.
        checkouts: For import roots whose authors put their files into the tool's own folders: a subfolder that
            distinguishes a copy of the tool from any other folder of that name.
        absent: For a dotted prefix below the import roots, a sentence about modules that do not exist there.
        command: Its command line, if it has one.
        more_commands: Command lines of other tools that the system runs as well.
        scripts: How scripts written for it are run.
        dialects: Its dialects of task YAML, each as ``"module:attribute"`` (``tasks.yaml.files.dialects``).
        extensions: Code for extension points of formats that this system does not own, by the name of the point.
        library: The package whose folder holds the system's benchmarks.
        installed: The tool's own package, whose benchmarks are found where it is installed; ``None``: they are not.
        version: The version whose behaviour is matched; empty: it has no versions.
        starters: What ``polymeter init`` can write, by kind.
        exports: Its files, as ``polymeter export --to NAME`` writes them, by name: functions as in
            ``core.records.exporting``.
        differences: Where its table of differences is (``core.names.parity``), as ``"module:attribute"``. Empty: none
            is declared, and no run can be at parity with it.
        unsupported: Files of its tool that are recognised and not run, such as those of another generation.
        logs: What reads logs of its tool (``core.logs.LogReader``), as ``"module:attribute"``. Empty: nothing does.
    """

    name: str
    title: str
    summary: str
    formats: Mapping[str, Target] = field(default_factory=dict)
    models: Mapping[str, Target] = field(default_factory=dict)
    import_roots: Mapping[str, ImportRoot] = field(default_factory=dict)
    trees: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    checkouts: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    command: Command | None = None
    more_commands: tuple[Command, ...] = ()
    scripts: Scripts = field(default_factory=Scripts)
    dialects: tuple[str, ...] = ()
    extensions: Mapping[str, str] = field(default_factory=dict)
    library: str = ""
    installed: Installed | None = None
    version: str = ""
    differences: str = ""
    starters: Mapping[str, Starter] = field(default_factory=dict)
    unsupported: tuple[UnsupportedFile, ...] = ()
    logs: str = ""

    @property
    def commands(self) -> tuple[Command, ...]:
        """All its command lines."""
        return (*(() if self.command is None else (self.command,)), *self.more_commands)

    @property
    def names(self) -> frozenset[str]:
        """Every name by which users call it, that of each command line included."""
        return frozenset({self.name, self.parity_name, self.log_name, *(command.name for command in self.commands)})

    @property
    def log_name(self) -> str:
        """The name by which users say whose log they import."""
        return self.parity_name.replace("_", "-")

    exports: Mapping[str, Target] = field(default_factory=dict)

    @property
    def parity_name(self) -> str:
        """The name by which users ask for its values: that of its command line, if it has one."""
        return self.name if self.command is None else self.command.name


def systems() -> tuple[System, ...]:
    """Every system that can be read: first the built-in ones, then those of installed packages."""
    return _found_systems()[0]


def broken_systems() -> tuple[Problem, ...]:
    """The systems of installed packages that cannot be read, and why; each problem names its package."""
    return _found_systems()[1]


def unsupported_files() -> tuple[UnsupportedFile, ...]:
    """The files of other tools that are recognised and not run: those of the systems first."""
    return (*(kind for system in systems() for kind in system.unsupported), *OF_NO_SYSTEM)


def offered(kind: Callable[[System], Mapping[str, Target]]) -> dict[str, Target]:
    """Return the entries of all systems of one kind, by name.

    Args:
        kind: Returns the field of a system that holds this kind.
    """
    return {name: target for system in systems() for name, target in kind(system).items()}


def shared_claim(system: System, other: System) -> str:
    """Return the names that two systems both claim although only one can have them, for messages; empty if there are
    none.

    An import root is an example: a process has one package of a name.
    """
    for kind, claims in _CLAIMS.items():
        for claim in claims(system):
            if claim in claims(other):
                return f"the {kind} {claim!r}"
    return ""


_CLAIMS: Mapping[str, Callable[[System], Collection[str]]] = {
    "name": lambda system: (system.name,),
    "format": lambda system: system.formats,
    "model": lambda system: system.models,
    "import root": lambda system: system.import_roots,
    "tree of neighbours": lambda system: system.trees,
    "command": lambda system: [command.name for command in system.commands],
    "module": lambda system: [module for command in system.commands for module in command.modules],
    "extension point": lambda system: system.extensions,
    "kind of starter": lambda system: system.starters,
    "export": lambda system: system.exports,
}


def import_roots() -> dict[str, tuple[System, ImportRoot]]:
    """For each importable package of a system: the system, and the shim of the package."""
    return {root: (system, record) for system in systems() for root, record in system.import_roots.items()}


def told_system(path: Path) -> tuple[str, Path]:
    """The system whose files an include path holds, where its user says so (``lm-eval:FOLDER``), and the place; an
    empty name and the whole path where not, or where there is a file of the whole name.
    """
    head, colon, place = str(path).partition(":")
    if not colon or not place or "/" in head or os.path.exists(path):
        return "", path
    named = (system for system in systems() if head in system.names)
    system = next(named, None)
    return ("", path) if system is None else (system.name, Path(place))


def same_names(module: str, names: str) -> dict[str, str]:
    """Rows of a table of aliases: names, separated by spaces, that stand for objects of the same names in a module."""
    return {name: f"{module}:{name}" for name in names.split()}


def libraries() -> list[str]:
    """The packages that hold benchmarks of systems."""
    return [system.library for system in systems() if system.library]


def package_folder(name: str) -> Path:
    """The folder of a package, without importing it.

    Raises:
        PlanError: if there is no such package.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PlanError(f"There is no package {name!r}.")
    return Path(next(iter(spec.submodule_search_locations)))


def extension(name: str) -> object | None:
    """The code that a system attaches to an extension point; ``None`` if no system does."""
    target = next((system.extensions[name] for system in systems() if name in system.extensions), None)
    return None if target is None else load(target)


def load(target: str) -> object:
    """The object that ``"module:attribute"`` names, or the module that ``"module"`` names."""
    name, _, attribute = target.partition(":")
    module = importlib.import_module(name)
    return getattr(module, attribute) if attribute else module


# Kept for the life of the process, in which nobody installs systems; their tables are built on these records.
@lru_cache(maxsize=1)
def _found_systems() -> tuple[tuple[System, ...], tuple[Problem, ...]]:
    accepted = {f"Polymeter's {system.name!r}": system for system in _built_in()}
    problems: list[Problem] = []
    for point in entry_points(group=_GROUP):
        package = point.dist.name if point.dist else point.value.partition(".")[0]
        try:
            system = _loaded(point, package)
            _refuse_claims(system, point, accepted, package)
        except PolymeterError as error:
            problems.append(Problem(error.where or point.value, f"{error.what} {error.hint}"))
        else:
            accepted[f"the package {package!r}"] = system
    return tuple(accepted.values()), tuple(problems)


def _refuse_claims(system: System, point: EntryPoint, accepted: Mapping[str, System], package: str) -> None:
    """Refuse a system that claims what an earlier one has."""
    for owner, other in accepted.items():
        claim = shared_claim(system, other)
        if claim:
            raise PlanError(
                f"Two systems claim {claim}: {owner} and the package {package!r}.",
                where=point.value,
                hint="Remove one of them.",
            )


def _built_in() -> list[System]:
    # Found by their folders and not through installation metadata, which a checkout on PYTHONPATH does not have.
    spec = importlib.util.find_spec(_BUILT_IN)
    names = sorted(info.name for info in pkgutil.iter_modules(spec.submodule_search_locations if spec else []))
    return [importlib.import_module(f"{_BUILT_IN}.{name}").SYSTEM for name in names if not name.endswith(_FAMILY)]


def _loaded(point: EntryPoint, package: str) -> System:
    hint = "Reinstall or remove that package."
    # An exception from importing another package must not end commands that do not need it.
    with boundary(PlanError, f"Reading the system {point.name!r} of the package {package!r}", hint=hint):
        system = point.load()
    if not isinstance(system, System):
        raise PlanError(f"The entry point {point.name!r} of the package {package!r} is not a System.", hint=hint)
    return system
