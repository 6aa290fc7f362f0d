"""The dialect of dataset classes: a class over one TSV file, or a TSV file that needs no code.

``reading`` and ``index`` know names without running code; ``guest`` loads a class; ``open`` makes its instance and
binds it to a model. What authors subclass is in ``base``; what serves a TSV without code is in ``native``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.core.catalog import Catalog, Entry, Problem, Root
from polymeter.core.dialect import Loaded, OpenContext
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.task import Task, TaskSpec

__all__ = ["TsvDialect", "dialect"]


class TsvDialect:
    """See ``polymeter.core.dialect.Dialect``. What a listing does not need is imported when it is needed."""

    name = "tsv"

    def index(self, roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
        """All dataset classes and TSV files under the roots, and the TSV files in the folder of data files."""
        from polymeter.dialects.tsv.index import index

        return index(roots)

    def load(self, entry: Entry, catalog: Catalog) -> Loaded:
        """The spec behind an entry. Runs a file only if the user has named it and its names are computed."""
        from polymeter.dialects.tsv.load import load

        return load(entry)

    def describe(self, entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
        """What the class or the header says: key, value as far as it is known without running it, and the file."""
        from polymeter.dialects.tsv.load import describe

        return describe(entry)

    def flatten(self, entry: Entry, catalog: Catalog) -> str:
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

    def check(self, entry: Entry, catalog: Catalog) -> list[Problem]:
        """What is wrong with an entry, found without running its code."""
        from polymeter.dialects.tsv.checks import check

        return check(entry)

    def open_task(self, spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
        """The benchmark bound to a model, with its data open."""
        from polymeter.dialects.tsv.open import open_task

        return open_task(spec, traits, context)


dialect = TsvDialect()
