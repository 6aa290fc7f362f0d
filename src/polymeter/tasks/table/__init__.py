"""The format of tables: a TSV file without any code, whose columns say what it measures.

``index`` recognises tables by their headers; ``compile`` makes Tasks of them, with the help of ``rows``, ``prompts``,
``scoring`` and ``predictions``. ``base`` has the base classes that read tables, ``classes`` the built-in dataset
classes, ``files`` finds tables and their images; dataset classes of other systems derive from both and become Tasks in
the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem
from polymeter.core.format import Format, Loaded, OpenContext, Outline, PageKeys
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Claims, Entry, Root
from polymeter.core.task import Task, TaskSpec

__all__ = ["FORMAT", "PAGE_KEYS"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """Nothing yet: which tables are benchmarks depends on which of them others claim as their data."""
    return Catalog()


def _index_data(roots: Sequence[Root], claims: Claims) -> Catalog:
    """All tables under the roots and in the folder of tables that no other benchmark claims."""
    from polymeter.tasks.table.index import index_data

    return index_data(roots, claims)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry."""
    from polymeter.tasks.table.index import load

    return load(entry)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the contents of the header: key, value, and the file."""
    from polymeter.tasks.table.index import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """Refuse: a table cannot be written as one YAML text.

    Raises:
        PlanError: always; the message names the file.
    """
    raise PlanError(
        f"Benchmark {entry.name!r} is a table and has no form as YAML.",
        where=str(entry.file),
        hint=f"Share its files: {entry.file.name}.",
    )


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """Return the problems of a table's rows."""
    from polymeter.tasks.table.index import check

    return list(check(entry))


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The table for a model, with its rows read."""
    from polymeter.tasks.table.compile import compile_task

    return compile_task(spec, traits, context)


def _outline(spec: TaskSpec) -> Outline:
    """The number of rows of a table, and what its columns show."""
    from polymeter.data.opening.counting import count_rows
    from polymeter.data.tables.tsv import IMAGE_COLUMNS

    has_images = not set(IMAGE_COLUMNS).isdisjoint(spec.config["columns"])
    return Outline(count_rows(spec.file), ("text", "image") if has_images else ("text",))


PAGE_KEYS = PageKeys(
    dataset="url",
    outputs=("TYPE",),
    settings=("MODALITY", "NUM_GENERATIONS", "METRICS", "md5", "columns"),
    prompts=(),
    kinds={
        "T2I": "generate_image",
        "IT2I": "generate_image",
        "MCQ": "generate",
        "VQA": "generate",
        "Y/N": "generate",
    },
)
"""The places where pages find the facts of tables, and of dataset classes that read them."""
FORMAT = Format(
    "table",
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    _index_data,
    endings=(".tsv",),
    stored_name="tsv",
    page_keys=PAGE_KEYS,
    outline=_outline,
)
