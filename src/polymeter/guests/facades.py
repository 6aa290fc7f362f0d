"""Facades: importable stand-ins for packages that guests were written for, switched on before the first guest loads."""

from __future__ import annotations

from functools import lru_cache

from polymeter.core.registries import FACADES


@lru_cache(maxsize=1)
def switch_on_facades() -> None:
    """Call every facade's installer, once in the life of the process. One whose package is left out is passed over.

    Raises:
        PlanError: A facade cannot stand in, because the real package was imported before.
    """
    for name in FACADES:
        try:
            install = FACADES.get(name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("polymeter."):
                raise
        else:
            install()
