"""What benchmarks there are: ``*_adapter.py`` files below the roots, read without running them, and what the user's own
code has registered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from polymeter.core.catalog import Catalog, Entry, Problem, Root
from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, BenchmarkFile, Registration, read_file
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, BenchmarkMeta

NAME = "adapter"
_ENDING = "_adapter.py"


def index(roots: Sequence[Root]) -> Catalog:
    """All benchmarks under the roots. A root is a folder, or a single Python file of any name.

    What cannot be read becomes a ``Problem``.
    """
    catalog = Catalog()
    for root in roots:
        for path in _files(root.path):
            try:
                found = read_file(path)
            except PlanError as error:
                catalog.problems.append(Problem(error.where or str(path), error.what))
                continue
            _add(catalog, found, root)
    for name, path in BENCHMARK_MAPPINGS.by_users().items():
        meta = BENCHMARK_MAPPINGS.in_file(name, path)
        if meta is not None:
            catalog.add(_registered_entry(meta, path))
    return catalog


def _add(catalog: Catalog, found: BenchmarkFile, root: Root) -> None:
    for registration in found.registrations:
        if registration.name == UNKNOWN:
            catalog.problems.append(
                Problem(
                    f"{found.path}:{registration.line}",
                    "The name of this benchmark is not written as a text, so it cannot be listed.",
                )
            )
        else:
            catalog.add(_entry(registration, found, root))


def _entry(registration: Registration, found: BenchmarkFile, root: Root) -> Entry:
    alias = registration.value("pretty_name")
    return Entry(
        registration.name,
        "task",
        NAME,
        found.path,
        root.is_user,
        alias if isinstance(alias, str) and alias != UNKNOWN else "",
        _tags(registration.value("tags")),
        packages=tuple(sorted(found.packages)),
    )


def _registered_entry(meta: BenchmarkMeta, path: Path) -> Entry:
    return Entry(meta.name, "task", NAME, path, True, meta.pretty_name or "", _tags(meta.tags))


def _tags(value: object) -> tuple[str, ...]:
    """Labels, as far as they are known; an adapter's file may give a single one as a text."""
    if isinstance(value, str):
        return () if value == UNKNOWN else (value,)
    return tuple(str(tag) for tag in value) if isinstance(value, (list, tuple)) else ()


def _files(root: Path) -> Iterator[Path]:
    root = Path(os.path.abspath(root))
    if root.is_file():
        if root.suffix == ".py":
            yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(_ENDING))
