"""The format of dataset classes: a Python class over a table, as ULMEvalKit and VLMEvalKit have them.

``reading`` and ``index`` know names without running code; ``loading`` runs a class's file; ``dataset`` reads what its
instance offers; ``compile`` makes a Task of it. What authors subclass is in ``tasks.table``, whose tables without a
class are served by the same bases.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.format import FileSource, Format, Loaded, OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec
from polymeter.tasks.table import PAGE_KEYS

__all__ = ["FORMAT"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All dataset classes under the roots, and the names of the tables that are theirs."""
    from polymeter.interop.ulmeval.tasks.index import index

    return index(roots, cache_dir)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry. Runs a file only if the user has named it and its names are computed."""
    from polymeter.interop.ulmeval.tasks.specs import load

    return load(entry, catalog)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the values that the class states: key, value as far as it is known without running it, and the file."""
    from polymeter.interop.ulmeval.tasks.specs import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """A dataset class is its files; there is no one text of it.

    Raises:
        PlanError: always; it names the files.
    """
    from polymeter.guests.reading.sources import no_yaml

    raise no_yaml(entry, f"Benchmark {entry.name!r} is a Python class")


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """Return the problems of a class, found without running its code."""
    from polymeter.interop.ulmeval.tasks.specs import check

    return list(check(entry))


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open."""
    from polymeter.interop.ulmeval.tasks.compile import compile_task

    return compile_task(spec, traits, context)


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[FileSource] | None:
    """Return the table of a class; ``None`` if only its code knows the place."""
    from polymeter.interop.ulmeval.tasks.specs import table_source

    return table_source(spec, context)


def _code(spec: TaskSpec) -> list[Path]:
    """The files of a benchmark that are loaded first: of a collection, those of its datasets' classes."""
    members = spec.config.get("members")
    return [spec.file] if members is None else list(dict.fromkeys(Path(member.file) for member in members.values()))


FORMAT = Format(
    "dataset_class",
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    endings=(".py",),
    stored_name="tsv",
    page_keys=PAGE_KEYS,
    sources=_sources,
    code=_code,
)
