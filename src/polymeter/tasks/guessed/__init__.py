"""The format of tables without a task file: CSV, TSV, Excel, JSON and Parquet files and folders of media whose columns
have usual names.

``columns`` knows the names, ``guess`` and ``folders`` make the fields of a task YAML of them, ``index`` finds the files
that are tasks, and ``written`` writes the YAML. The engine of task YAML does everything else (``reader``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polymeter.core.format import Format, Loaded
from polymeter.core.names.catalog import Catalog, Claims, Entry, Root
from polymeter.data.opening.first_rows import SUFFIXES
from polymeter.tasks.guessed.reader import DIALECT, guess_of
from polymeter.tasks.yaml.files.dialects import NAME as TASK_YAML
from polymeter.tasks.yaml.own import dialect_format

__all__ = ["FORMAT"]


def _index_data(roots: Sequence[Root], claims: Claims) -> Catalog:
    from polymeter.tasks.guessed.index import index_data

    return index_data(roots, claims)


_AS_YAML = dialect_format(DIALECT, {"en": "table", "zh": "表格"})


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry, and what was guessed."""
    return replace(_AS_YAML.load(entry, catalog), guesses=(guess_of(entry.file).summary,))


FORMAT: Format = replace(
    _AS_YAML,
    load=_load,
    index_data=_index_data,
    endings=SUFFIXES,
    stored_name=TASK_YAML,
)
"""Its settings and what run folders hold are those of task YAML, because its tasks are."""
