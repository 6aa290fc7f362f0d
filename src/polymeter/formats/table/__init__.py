"""The dialect of dataset classes: a class over one TSV file, or a TSV file that needs no code.

``reading`` and ``index`` know names without running code; ``guest`` loads a class; ``open`` makes its instance and
binds it to a model. What authors subclass is in ``base``; what serves a TSV without code is in ``native``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.core.catalog import Catalog, Entry, Problem, Root
from polymeter.core.errors import PlanError
from polymeter.core.format import Format, Loaded, OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.task import Task, TaskSpec

__all__ = ["FORMAT"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All dataset classes and TSV files under the roots, and the TSV files in the folder of data files."""
    from polymeter.formats.table.index import index

    return index(roots)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry. Runs a file only if the user has named it and its names are computed."""
    from polymeter.formats.table.load import load

    return load(entry)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """What the class or the header says: key, value as far as it is known without running it, and the file."""
    from polymeter.formats.table.load import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """A benchmark of this dialect is its files; there is no one text of it.

    Raises:
        PlanError: Always; it names the files.
    """
    from polymeter.guests.sources import files_behind

    is_class = entry.file.suffix == ".py" and entry.file.is_file()
    files = ", ".join(file.name for file in files_behind([entry.file])) if is_class else entry.file.name
    raise PlanError(
        f"Benchmark {entry.name!r} is {'a Python class' if is_class else 'a table'} and has no form as YAML.",
        where=str(entry.file),
        hint=f"Share its files: {files}.",
    )


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """What is wrong with an entry, found without running its code."""
    from polymeter.formats.table.checks import check

    return check(entry)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open."""
    from polymeter.formats.table.open import compile_task

    return compile_task(spec, traits, context)


FORMAT = Format("tsv", _index, _load, _describe, _flatten, _check, _compile)
