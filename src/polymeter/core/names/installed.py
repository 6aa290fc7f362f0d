"""Packages of other tools that are installed beside Polymeter and bring benchmarks: where they lie, found without
importing them.

Importing such a package would run its code, need all of its dependencies, and take the names that shims answer for. So
its folder is asked for from the finders of Python's import system, and its version from its metadata.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from polymeter.core.errors import outside_of_polymeter
from polymeter.core.names.installing import installed_version
from polymeter.core.names.systems import Installed, systems

SWITCH = "POLYMETER_INSTALLED_BENCHMARKS"
_OFF = ("0", "false", "no", "off")
_OURS = "polymeter."


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package with benchmarks.

    Attributes:
        qualifier: What the names of its benchmarks are qualified with (``lmms-eval``).
        record: What the tool's system says of it.
        version: Its version.
        folder: The folder of its benchmarks.
    """

    qualifier: str
    record: Installed
    version: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.record.package} {self.version}"


def installed_packages() -> tuple[Package, ...]:
    """The packages of all systems that are installed here and have a folder of benchmarks, in the order of the systems;
    none if ``POLYMETER_INSTALLED_BENCHMARKS`` is ``off``.
    """
    if os.environ.get(SWITCH, "").strip().lower() in _OFF:
        return ()
    return _packages_on(tuple(sys.path))


def is_benchmark_file(path: str) -> bool:
    """Return whether a file lies in the folder of benchmarks of an installed package: it is the code of guests,
    wherever packages lie.
    """
    return path.startswith(tuple(f"{package.folder}/" for package in installed_packages()))


def is_guests_place(place: str) -> bool:
    """Return whether a file, or a line of it (``FILE:LINE``), is a guest's: outside Polymeter, or among the benchmarks
    of an installed package.
    """
    return outside_of_polymeter(place) or is_benchmark_file(place)


# Kept for the life of the process, in which nobody installs benchmarks.
@lru_cache(maxsize=8)
def _packages_on(search_path: tuple[str, ...]) -> tuple[Package, ...]:
    packages = []
    for system in systems():
        record = system.installed
        if record is None:
            continue
        version = installed_version(record.package)
        folder = None if version is None else _folder_of(record.package)
        if version is not None and folder is not None and (folder / record.folder).is_dir():
            packages.append(Package(system.log_name, record, version, folder / record.folder))
    return tuple(packages)


def _folder_of(package: str) -> Path | None:
    """The folder of a package, as Python would find it if there were no shims."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is None or type(finder).__module__.startswith(_OURS):
            continue
        spec = find(package, None)
        if spec is not None:
            places = list(spec.submodule_search_locations or ())
            return Path(places[0]) if places else None
    return None
