"""The index of the benchmarks of an installed package, cached whole: with what cannot be read, and for as long as no
file of the package changes.

A format's own cache looks at each benchmark and reads broken files again each time, as folders that somebody is working
on need it. A package has thousands of files and the same ones tomorrow: looking at their sizes and times is enough.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import polymeter
from polymeter.core.errors import Problem
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.names.installed import Package
from polymeter.core.names.parity import Parity
from polymeter.core.names.registries import FORMATS

_VERSION = 2
_LEFT_OUT = (".", "__pycache__")
_COMPILED = (".pyc", ".so")
_FIELDS = tuple(field.name for field in fields(Entry))


def read_package(package: Package, cache_dir: Path | None, parity: Parity) -> Catalog:
    """The benchmarks of an installed package. Executes and imports none of its code.

    Args:
        package: The package.
        cache_dir: Where the index is stored; ``None``: nowhere.
        parity: Whose reading of files is wanted where Polymeter differs from another system.
    """
    content = _content_of(package, cache_dir)
    catalog = Catalog(parity=parity, origin=package.qualifier, advice=_advice(package), state=content["state"])
    for row in content["entries"]:
        entry = _entry_of_row(row, package)
        catalog.entries[entry.name] = entry
    for name, files, later in content["clashes"]:
        catalog.clashes[name] = tuple(package.folder / file for file in files)
        catalog.later[name] = _entry_of_row(later, package)
    catalog.problems = [Problem(where, message, tuple(names)) for where, message, names in content["problems"]]
    if parity.on("later-file"):
        catalog.settle_clashes()
    return catalog


def state_of(package: Package) -> str:
    """Return a mark that changes with the files of the package's benchmarks, and with the code that reads them."""
    return digest(repr([_VERSION, polymeter.__version__, str(package), *_stamps(package)]).encode())


def _content_of(package: Package, cache_dir: Path | None) -> dict[str, Any]:
    """The index as plain data, from the cache if it is there and still right."""
    state = state_of(package)
    name = f"package_index-{package.qualifier}-{digest(str(package.folder).encode())[:12]}.json"
    file = None if cache_dir is None else cache_dir / name
    if file is not None and file.is_file():
        with suppress(OSError, json.JSONDecodeError, UnicodeDecodeError):
            cached = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(cached, dict) and cached.get("state") == state and cached.get("fields") == list(_FIELDS):
                return cached
    content = {"state": state, "fields": _FIELDS, **_indexed(package, cache_dir)}
    if file is not None:
        with suppress(OSError), replacing(file, is_synced=False) as opened:  # a cache that is lost costs time only
            json.dump(content, opened)
    return content


def _indexed(package: Package, cache_dir: Path | None) -> dict[str, Any]:
    """Return the entries that the package's formats find in its folder."""
    record = package.record
    root = Root(package.folder, is_user=False, dialect=record.dialect)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python about the texts of thousands of files that nobody has named yet
        found = Catalog()
        for name in record.formats:
            found.update(FORMATS.get(name).index([root], cache_dir))
    entries = [entry for entry in found if entry.file.is_relative_to(package.folder)]  # others are registered by code
    return {
        "entries": [_index_row(entry, package) for entry in entries],
        "clashes": [
            (name, [os.path.relpath(file, package.folder) for file in files], _index_row(found.later[name], package))
            for name, files in found.clashes.items()
        ],
        "problems": [(problem.where, problem.message, problem.names) for problem in found.problems],
    }


def _index_row(entry: Entry, package: Package) -> list[Any]:
    values = [getattr(entry, name) for name in _FIELDS]
    return [os.path.relpath(value, package.folder) if isinstance(value, Path) else value for value in values]


def _entry_of_row(row: Iterable[Any], package: Package) -> Entry:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in zip(_FIELDS, row, strict=True)
    }
    return Entry(**{**values, "file": package.folder / values["file"], "origin": package.qualifier})


def _home(name: str) -> Path:
    """The folder of a format's code: that of the module that holds it, since its functions may be shared by several."""
    registered, index = FORMATS.find(name).value, FORMATS.get(name).index
    module = registered.partition(":")[0] if isinstance(registered, str) else getattr(index, "func", index).__module__
    return Path(str(sys.modules[module].__file__)).parent


def _stamps(package: Package) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of modification of every file that the index rests on."""
    record = package.record
    formats = [name for name in (*record.formats, record.dialect) if name in FORMATS]
    for folder in (package.folder, *map(_home, formats)):
        waiting = [str(folder)]
        while waiting:
            try:
                with os.scandir(waiting.pop()) as listed:
                    items = sorted(listed, key=lambda item: item.name)
            except OSError:
                continue
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    if not item.name.startswith(_LEFT_OUT):
                        waiting.append(item.path)
                elif not item.name.endswith(_COMPILED):
                    with suppress(OSError):
                        found = item.stat()
                        yield item.path, found.st_size, found.st_mtime_ns


def _advice(package: Package) -> str:
    """Return the hint for a package whose benchmarks cannot be read."""
    record = package.record
    if not record.clone:
        return ""
    address, _, folder = record.clone.partition(" ")
    return (
        f"The package {package} may have been published without files that its benchmarks need; a clone has them: "
        f"git clone {address}, and --include-path {folder}."
    )
