"""Calling the code of benchmarks and wrappers before anything is asked: its failures become errors that say where they
came from and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, blame, boundary
from polymeter.core.registry import missing_package
from polymeter.core.systems import import_roots
from polymeter.guests.contain import contained
from polymeter.guests.imports import GUEST_LOCK, PREFIX, load_file
from polymeter.guests.shims import switch_on_shims


@contextmanager
def authors_code(error_type: type[PolymeterError], doing: str) -> Iterator[None]:
    """Call a benchmark's or wrapper's own code inside this, before anything is asked.

    Args:
        error_type: What its failures become.
        doing: What it is called for, for messages.

    Raises:
        PlanError: It needs a package that is not installed.
    """
    with boundary(error_type, doing, hint="Fix the code there."):
        try:
            yield
        except ModuleNotFoundError as error:
            missing = error.name or "?"
            if missing.partition(".")[0] in import_roots() or missing.startswith((".", PREFIX)):
                raise
            plain = missing_package(missing, doing[0].lower() + doing[1:])
            raise PlanError(plain.what, where=blame(error), hint=plain.hint) from error
        except ImportError as error:
            what = f"{doing} raised {type(error).__name__}: {error}"
            raise error_type(what, where=blame(error), hint="Install or update what it names.") from error


def load_authors_file(
    file: Path, supplied: Callable[[], Mapping[str, Any]], stands_for: Sequence[str] = ()
) -> ModuleType:
    """The module of a benchmark's or wrapper's file, with the stand-ins for foreign packages switched on.

    Args:
        file: The file.
        supplied: Gives the names that it may use without importing them; called once the stand-ins are there.
        stands_for: Packages that the file was written to lie in; see ``load_file``.

    Raises:
        PlanError: It fails to load, or needs a package that is not installed.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        names = supplied()
        with authors_code(PlanError, f"Loading {file.name}"):
            return load_file(file, names, stands_for)
