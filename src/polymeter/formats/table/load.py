"""From an entry of the index to a spec, without running any of the benchmark's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.catalog import Entry
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.data.tables import columns_of
from polymeter.formats.table.index import NAME, type_of_table
from polymeter.guests.sources import files_behind
from polymeter.interop.ulmeval.tasks.literals import NOT_KNOWN
from polymeter.interop.ulmeval.tasks.reading import URLS, DatasetClass, read_file

UNKNOWN = "?"
_TABLE_VERSION = 1
_ORDER = ("class", "dataset", "TYPE", "MODALITY", "url", "md5", "NUM_GENERATIONS", "METRICS", "columns")


def load(entry: Entry) -> Loaded:
    """The spec behind an entry.

    A class whose names are computed has to be run to tell them. Its entry is only there when the user has named its
    very file; its datasets become a group of the class's name.

    Raises:
        PlanError: The file is broken, or does not name the dataset any more.
    """
    if entry.file.suffix == ".tsv":
        return Loaded((_table_spec(entry),))
    if entry.kind == "group":
        return _computed(entry)
    config = dict(_class_values(entry.name, class_of(entry)))
    return Loaded((_class_spec(entry.file, entry.name, config, entry.alias),))


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """What is known of an entry: key, value, and the file. ``?`` stands for what only running the file would tell."""
    if entry.file.suffix == ".tsv":
        values = _table_values(entry)
    else:
        item = class_of(entry)
        values = dict(_class_values(UNKNOWN if entry.kind == "group" else entry.name, item))
    return [(key, values[key], entry.file) for key in _ORDER if key in values]


def class_of(entry: Entry) -> DatasetClass:
    """The class of an entry, as it is written.

    Raises:
        PlanError: The file is broken, or does not name the dataset any more.
    """
    file = read_file(entry.file, is_named=True)
    if entry.kind == "group":
        found = next((item for item in file.classes if item.name == entry.name), None)
    else:
        found = file.owner_of(entry.name)
    if found is None:
        names = [name for name, _ in file.named()]
        raise PlanError(
            f"{entry.file.name} does not name the dataset {entry.name!r} any more.",
            where=str(entry.file),
            hint=did_you_mean(entry.name, names),
        )
    return found


def _class_values(dataset: str, item: DatasetClass) -> Iterator[tuple[str, Any]]:
    """What a class says of one of its datasets."""
    yield "class", item.name
    yield "dataset", dataset
    for name in ("TYPE", "MODALITY", "NUM_GENERATIONS", "METRICS"):
        if name in item.values:
            value = item.values[name]
            yield name, UNKNOWN if value is NOT_KNOWN else value
    if item.datasets is None:
        return
    if URLS in item.values and dataset in item.datasets:
        yield "url", item.datasets[dataset] or UNKNOWN
    sums = item.values.get("DATASET_MD5")
    if isinstance(sums, Mapping) and sums.get(dataset):
        yield "md5", UNKNOWN if sums[dataset] is NOT_KNOWN else sums[dataset]


def _class_spec(file: Path, name: str, config: Mapping[str, Any], alias: str = "") -> TaskSpec:
    sources = files_behind([file])
    return TaskSpec(name, NAME, file, config, source_hash(sources), sources, alias)


def _computed(entry: Entry) -> Loaded:
    from polymeter.interop.ulmeval.tasks.guest import dataset_names

    item = class_of(entry)
    names = dataset_names(entry.file, item.name)
    if not names:
        raise PlanError(f"{item.name} names no dataset.", where=f"{entry.file}:{item.line}")
    specs = tuple(_class_spec(entry.file, name, dict(_class_values(name, item))) for name in names)
    group = GroupSpec(entry.name, "", tuple(names), file=entry.file)
    return Loaded(specs, () if entry.name in names else (group,))


def _table_values(entry: Entry) -> dict[str, Any]:
    columns = columns_of(entry.file)
    return {"dataset": entry.name, "TYPE": type_of_table(columns), "columns": list(columns)}


def _table_spec(entry: Entry) -> TaskSpec:
    values = _table_values(entry)
    if not values["TYPE"]:
        raise PlanError(f"{entry.file.name} has no columns that make a benchmark any more.", where=f"{entry.file}:1")
    return TaskSpec(
        entry.name, NAME, entry.file, values, source_hash((), [_TABLE_VERSION, values]), (entry.file,), entry.alias
    )
