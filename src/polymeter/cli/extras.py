"""The packages of Polymeter's extras, and which of them are not installed. Imports none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polymeter.core.names.installing import extra_packages, installed_version

_EVERYTHING = "all"


def missing_packages(extra: str) -> list[str]:
    """The packages of an extra that are not installed; also empty if Polymeter itself is not installed."""
    return [name for name in extra_packages(extra) if installed_version(name) is None]


def missing_modules(names: Iterable[str]) -> frozenset[str]:
    """The names of modules that are not installed; ``azure.identity`` is one where there is no ``azure`` either."""
    from polymeter.guests.reading.needed_packages import is_installed

    return frozenset(name for name in set(names) if not is_installed(name))


def extras_with(modules: Iterable[str], by_extra: Mapping[str, Iterable[str]]) -> list[str]:
    """The extras that bring packages with these modules, as far as package and module have the same name.

    Args:
        modules: The names of modules.
        by_extra: The packages of each extra.
    """
    wanted = {name.lower() for name in modules}
    return [
        extra
        for extra, packages in sorted(by_extra.items())
        if extra != _EVERYTHING and wanted & {name.lower().replace("-", "_") for name in packages}
    ]
