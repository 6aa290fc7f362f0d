"""Loading of files and functions that a benchmark or wrapper names. Failures become errors that state their place and
the fix.

A ``!function`` tag is a ``FunctionRef``: plain data, resolved only when a task runs. A file of an author's is loaded
while the shims are on and inside containment.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import GUEST_PREFIX, PlanError, PolymeterError, blame, boundary, did_you_mean
from polymeter.core.guest_context import guest_context
from polymeter.core.names.installing import pip_install, pip_name
from polymeter.core.names.registry import missing_package
from polymeter.core.names.systems import import_roots
from polymeter.guests.contain import contained
from polymeter.guests.loading.imports import guest_import_module, load_file
from polymeter.guests.loading.neighbours import tree_file, trees
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.shims.finder import switch_on_shims

_PYTHONS_OWN = sys.stdlib_module_names | {"__main__"}
_NAMELESS = "?"
"""Return the missing module of an error that an author raises himself, with a message and without a name."""


@contextmanager
def authors_code(error_type: type[PolymeterError], doing: str) -> Iterator[None]:
    """Call a benchmark's or wrapper's own code inside this, before any request is made.

    Args:
        error_type: The type that its failures become.
        doing: A description of the call, for messages.

    Raises:
        PlanError: if it needs a package that is not installed.
    """
    with boundary(error_type, doing, hint="Fix the code there."):
        try:
            yield
        except ModuleNotFoundError as error:
            missing = error.name or "?"
            if missing.partition(".")[0] in import_roots() or missing.startswith((".", GUEST_PREFIX)):
                raise
            plain = missing_package(missing, doing[0].lower() + doing[1:])
            raise PlanError(plain.what, where=blame(error), hint=plain.hint) from error
        except ImportError as error:
            what = f"{doing} raised {type(error).__name__}: {error}"
            raise error_type(what, where=blame(error), hint="Install or update the package that it names.") from error


def load_authors_file(
    file: Path, supplied: Callable[[], Mapping[str, Any]], stands_for: Sequence[str] = ()
) -> ModuleType:
    """The module of a benchmark's or wrapper's file, with the shims switched on.

    Args:
        file: The file.
        supplied: Gives the names that it may use without importing them; called once the shims are on.
        stands_for: Packages that the file was written to lie in; see ``load_file``.

    Raises:
        PlanError: if it fails to load, or needs a package that is not installed.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        names = supplied()
        with authors_code(PlanError, f"Loading {file.name}"):
            return load_file(file, names, stands_for)


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A ``!function module.attribute`` tag. Creating one, comparing and pickling it runs nothing; calling it loads the
    code.

    Attributes:
        module: Dotted module, as written.
        attribute: The name of the function in it.
        directory: Folder of the file that holds the tag: where the module is looked for first.
        file: The file that holds the tag.
        line: Its line there.
    """

    module: str
    attribute: str
    directory: Path
    file: Path
    line: int

    @property
    def name(self) -> str:
        """The tag as it is written."""
        return f"{self.module}.{self.attribute}"

    @property
    def where(self) -> str:
        """``file:line`` of the tag."""
        return f"{self.file}:{self.line}"

    def source_file(self) -> Path | None:
        """The file that defines it, if it lies below the folder of the tag."""
        for candidate in _candidates(self):
            if os.path.isfile(candidate):  # unlike Path.is_file, it says no to a name that is too long
                return candidate
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Load the code and call it."""
        return resolve(self)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"!function {self.name}"


def check_place(ref: FunctionRef) -> None:
    """Check that the code of a reference exists, without running any: in a Python file that the tag leads to, or in an
    installed package or another system's module that it names with dots. Python's own modules are neither, so that a
    task file with no Python beside it calls none.

    Raises:
        PlanError: if it is in none of these.
    """
    if ref.source_file() is not None:
        return
    top, dot, _ = ref.module.partition(".")
    if "/" not in ref.module and dot and top not in _PYTHONS_OWN:
        is_there = top in import_roots() or (ref.directory / top).is_dir()
        if is_there or (top.isidentifier() and importlib.util.find_spec(top) is not None):
            return
    near = did_you_mean(ref.module, [file.stem for file in ref.directory.glob("*.py")])
    raise PlanError(
        f"There is no {ref.module}.py for '!function {ref.name}'.",
        where=ref.where,
        hint=near or f"It is looked for in {ref.directory}; task files cannot call Python's own modules.",
    )


def resolve(ref: FunctionRef | Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a reference names; a function is returned unchanged. Runs the top level of its module,
    once per file and run.

    Raises:
        PlanError: if the module is missing, is one of Python's own or fails to load, needs a package that is not
            installed, or has no such attribute.
    """
    if not isinstance(ref, FunctionRef):
        return ref
    check_place(ref)
    file = ref.source_file()
    with GUEST_LOCK, contained():
        switch_on_shims()
        try:
            if file is not None:
                with boundary(
                    PlanError, f"Loading {file.name} for '!function {ref.name}'", hint="Fix the task's code."
                ):
                    module: Any = _load(file, ref)
            else:
                with boundary(PlanError, f"Loading '!function {ref.name}'"):
                    module = _import(ref)
        except _MissingModuleError as missing:
            raise missing.as_plan_error(ref) from missing
    function = getattr(module, ref.attribute, None)
    if function is None:
        defined = [name for name, value in vars(module).items() if callable(value) and not name.startswith("__")]
        raise PlanError(
            f"{file or ref.module} defines no {ref.attribute!r}.",
            where=ref.where,
            hint=did_you_mean(ref.attribute, defined),
        )
    return function  # type: ignore[no-any-return]


def name_of(code: FunctionRef | Callable[..., Any]) -> str:
    """Return the name of a function or of a reference to one, for messages and as the name of a metric."""
    return code.name if isinstance(code, FunctionRef) else getattr(code, "__name__", type(code).__name__)


class _MissingModuleError(PlanError):
    """A module that task code imports is missing; an error of its own because the remedy is to install something."""

    def __init__(self, error: ModuleNotFoundError) -> None:
        super().__init__(str(error), where=blame(error))
        self.module = error.name or _NAMELESS

    def as_plan_error(self, ref: FunctionRef) -> PlanError:
        package = self.module.partition(".")[0]
        if package in import_roots() or self.module == _NAMELESS:
            return PlanError(self.what, where=f"{ref.where}; imported at {self.where}")
        return PlanError(
            f"'!function {ref.name}' needs the package {self.module!r}, which is not installed.",
            where=f"{ref.where}; imported at {self.where}",
            hint=f"Install it with: {pip_install(pip_name(self.module))}",
        )


def _load(file: Path, ref: FunctionRef) -> Any:
    is_dotted = "." in ref.module and "/" not in ref.module and file.stem != ref.module
    is_below = is_dotted and not ref.module.startswith(trees())
    copy = ref.where if guest_context().parity.on("module-per-function") else ""
    try:
        return guest_import_module(ref.module, ref.directory) if is_below else load_file(file, copy=copy)
    except ModuleNotFoundError as error:
        raise _MissingModuleError(error) from error


def _import(ref: FunctionRef) -> Any:
    try:
        local = guest_import_module(ref.module, ref.directory)
        return local if local is not None else importlib.import_module(ref.module)
    except ModuleNotFoundError as error:
        if error.name and ref.module.partition(".")[0] == error.name:
            raise PlanError(
                f"There is no {ref.module}.py for '!function {ref.name}'.",
                where=ref.where,
                hint=did_you_mean(ref.module, [file.stem for file in ref.directory.glob("*.py")])
                or f"It is looked for in {ref.directory}.",
            ) from error
        raise _MissingModuleError(error) from error


def _candidates(ref: FunctionRef) -> list[Path]:
    base = ref.directory / ref.module
    literal = base.with_name(f"{base.name}.py")
    if "/" in ref.module:
        return [literal]
    in_a_tree = tree_file(ref.module, ref.directory)
    if in_a_tree is not None:
        return [literal, in_a_tree]
    nested = ref.directory.joinpath(*ref.module.split("."))
    return [literal, nested.with_name(f"{nested.name}.py"), nested / "__init__.py"]
