"""Shims: importable names of other systems, switched on before the first guest loads."""

from __future__ import annotations

from functools import lru_cache

from polymeter.guests import finder


@lru_cache(maxsize=1)
def switch_on_shims() -> None:
    """Make the names of every system importable, once in the life of the process.

    Raises:
        PlanError: One of them is loaded already, as the real package.
    """
    finder.install()
