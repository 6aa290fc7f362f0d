"""Calling the code of benchmarks and wrappers before anything is asked: its failures become errors that say where they
came from and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polymeter.core.errors import PlanError, PolymeterError, blame, boundary
from polymeter.core.registry import missing_package
from polymeter.guests.imports import PREFIX

_FOREIGN = ("evalscope", "lmms_eval", "lm_eval", "ulmeval", "vlmeval")


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
            if missing.partition(".")[0] in _FOREIGN or missing.startswith((".", PREFIX)):
                raise
            plain = missing_package(missing, doing[0].lower() + doing[1:])
            raise PlanError(plain.what, where=blame(error), hint=plain.hint) from error
        except ImportError as error:
            what = f"{doing} raised {type(error).__name__}: {error}"
            raise error_type(what, where=blame(error), hint="Install or update what it names.") from error
