"""Lazy registries: names of objects in other modules, which are not imported before they are used.

A built-in is a ``"module:attribute"`` string and is imported on first use. A user's definition wins over a built-in
one of the same name; two built-ins or two users' definitions of one name are an error that names both places.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from polymeter.core.errors import MissingPackageError, PlanError, Problem, boundary, did_you_mean
from polymeter.core.names.installing import pip_install

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_OURS = "polymeter"


@dataclass(frozen=True, slots=True)
class Target:
    """The place of a registered object: a lazy ``module:attribute``, or the object itself.

    Attributes:
        value: The string or the object.
        place: File or module, for messages.
        extra: The extra of Polymeter that brings the packages it needs.
        summary: One line for listings.
        takes: For listings: the modalities that a model accepts, or what follows the colon in a detector's name.
        gives: For listings: the kinds of request that a model answers.
        names: For a backend that names its models itself: ``() → {name: what runs it}``, for listings.
        usual: Patterns of names that people know its models by and often give without the backend: ``gpt-*``.
        read_args: For a backend with its own syntax of ``--model-args``: ``(text) → arguments``, which raises
            ValueError if the text does not follow it.
    """

    value: Any
    place: str
    extra: str = ""
    summary: str = ""
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    names: str = ""
    read_args: str = ""
    usual: tuple[str, ...] = ()


class Registry(Generic[T]):
    """Names of one kind of object.

    Args:
        kind: What it holds, for messages ("model").
        builtins: The built-in targets.
        group: Entry-point group through which installed packages add theirs; empty: none.
        more: Returns further built-in targets; called when a name is first looked up.
        problems: Returns what could not be read; shown if a name does not exist, because it may be the reason.
    """

    def __init__(
        self,
        kind: str,
        builtins: Mapping[str, Target],
        *,
        group: str = "",
        more: Callable[[], Mapping[str, Target]] | None = None,
        problems: Callable[[], Sequence[Problem]] = tuple,
    ) -> None:
        self.kind = kind
        self._own = dict(builtins)
        self._more = more
        self._problems = problems
        self._users: dict[str, Target] = {}
        self._group = group
        self._are_plugins_loaded = not group

    @property
    def _builtins(self) -> Mapping[str, Target]:
        if self._more is not None:
            more = self._more()
            for name in more.keys() & self._own.keys():
                where = f"{self._own[name].place} and {more[name].place}"
                raise PlanError(f"Two {self.kind}s are named {name!r}.", where=where, hint="Remove one of them.")
            self._own.update(more)
            self._more = None
        return self._own

    def register(self, name: str, value: T | str, *, place: str = "", extra: str = "", summary: str = "") -> None:
        """Add a user's definition.

        Args:
            name: Its name.
            value: The object, or ``"module:attribute"``.
            place: Where it is written, for messages.
            extra: The extra that brings its packages.
            summary: One line for listings.

        Raises:
            PlanError: if the user has already registered another object under the name. The same place may register
                again (a reloaded module).
        """
        target = Target(value, place or place_of(value), extra, summary)
        old = self._users.get(name)
        if old is not None and old.place != target.place:
            raise PlanError(
                f"Two {self.kind}s are named {name!r}.",
                where=f"{old.place} and {target.place}",
                hint="Rename one of them.",
            )
        self._users[name] = target

    def get(self, name: str) -> T:
        """The object of that name, imported if necessary.

        Raises:
            PlanError: if there is no such name, a package that it needs is missing, or the outside package that brings
                it cannot be imported.
        """
        target = self.find(name)
        if not isinstance(target.value, str):
            return target.value  # type: ignore[no-any-return]
        module, _, attribute = target.value.partition(":")
        is_ours = module.partition(".")[0] == _OURS
        hint = "" if is_ours else f"It comes from {target.place}; reinstall or remove that."
        with nullcontext() if is_ours else boundary(PlanError, f"Importing {self.kind} {name!r}", hint=hint):
            try:
                return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] == _OURS:
                    raise
                raise missing_package(error.name or "?", f"{self.kind} {name!r}", target.extra) from error

    def find(self, name: str) -> Target:
        """Return the place of the object of that name.

        Raises:
            PlanError: if there is no such name; the message gives the nearest ones.
        """
        self._load_plugins()
        target = self._users.get(name) or self._builtins.get(name)
        if target is None:
            names = list(self)
            hint = did_you_mean(name, names) or f"Known: {', '.join(sorted(names))}."
            hint = " ".join([hint, *(problem.message for problem in self._problems())])
            raise PlanError(f"There is no {self.kind} {name!r}.", hint=hint)
        return target

    def shadowed(self, name: str) -> Target | None:
        """The built-in that a user's definition of this name hides; ``None`` if it hides none."""
        return self._builtins.get(name) if name in self._users else None

    def is_builtin(self, name: str) -> bool:
        """Return whether there is a built-in of that name."""
        return name in self._builtins

    def __contains__(self, name: object) -> bool:
        self._load_plugins()
        return name in self._users or name in self._builtins

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        return iter({**self._builtins, **self._users})

    def _load_plugins(self) -> None:
        if self._are_plugins_loaded:
            return
        self._are_plugins_loaded = True
        for point in entry_points(group=self._group):
            self.register(
                point.name, point.value, place=f"entry point of {point.dist.name if point.dist else point.value}"
            )


def entry_points(*, group: str) -> Sequence[EntryPoint]:
    """The entry points of a group that installed packages declare."""
    # Asking importlib.metadata takes a tenth of the time of `polymeter --help`, and usually no package has any.
    if not any(_may_declare(folder, f"[{group}]".encode()) for folder in sys.path):
        return ()
    from importlib.metadata import entry_points as installed

    return tuple(installed(group=group))


def _may_declare(folder: str, section: bytes) -> bool:
    """Return whether a package in a folder of ``sys.path`` has such a section in its metadata; archives may."""
    try:
        state = os.stat(folder or os.curdir)
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode):
        return stat.S_ISREG(state.st_mode)
    declared = _declared(os.path.abspath(folder), state.st_mtime_ns)
    return declared is None or section in declared


# Kept for the life of the process: a changed folder is read again.
@lru_cache(maxsize=64)
def _declared(folder: str, _changed_ns: int) -> bytes | None:
    """Return the declarations of the packages in a folder, as text that is read once for all groups; ``None``: only
    importlib.metadata knows them. Installing a package changes the time of its folder.
    """
    names = [name for name in os.listdir(folder) if name.endswith(("-info", ".egg"))]
    if any(name.endswith(".egg") for name in names):
        return None
    texts = []
    for name in names:
        with suppress(FileNotFoundError, NotADirectoryError), open(f"{folder}/{name}/entry_points.txt", "rb") as file:
            texts.append(file.read())
    return b"\n".join(texts)


def missing_package(package: str, wanted_by: str, extra: str = "") -> MissingPackageError:
    """The error for a package that is not installed; it names the extra that installs it."""
    install = pip_install(extra=extra) if extra else pip_install(package)
    return MissingPackageError(
        f"The package {package!r}, needed by {wanted_by}, is not installed.", hint=f"Install it with: {install}"
    )


@contextmanager
def processor_of(wanted_by: str) -> Iterator[None]:
    """Read a processor of Transformers inside the block. Many need torchvision (those with a part for videos, even for
    images alone, and the fast ones); if it is missing, the error names the extra that brings it.

    Args:
        wanted_by: What the processor belongs to.

    Raises:
        PlanError: if the processor cannot be read without torchvision.
    """
    try:
        yield
    except Exception as error:  # Transformers raises errors of several types for it; all others pass unchanged
        text = str(error).lower()
        if importlib.util.find_spec("torchvision") is None and (
            "torchvision" in text or "unrecognized video processor" in text
        ):
            raise missing_package("torchvision", f"the processor of {wanted_by}", "vision") from error
        raise


def place_of(value: Any) -> str:
    """Return the place where an object is defined: file and line of a function, file and name of a class, module of
    anything else.
    """
    if isinstance(value, str):
        return value
    code = getattr(value, "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    if isinstance(value, type):
        file = getattr(sys.modules.get(value.__module__), "__file__", None) or value.__module__
        return f"{file} ({value.__qualname__})"
    return getattr(value, "__module__", type(value).__module__) or "?"
