"""From an entry of the index to a spec, and what is known of a class and wrong with it, without running its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem, did_you_mean
from polymeter.core.format import FileSource, Loaded, OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.identity import source_hash
from polymeter.core.names.catalog import Entry
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.ulmeval.tasks.index import NAME
from polymeter.interop.ulmeval.tasks.literals import NOT_KNOWN
from polymeter.interop.ulmeval.tasks.reading import PLAIN_BASES, URLS, DatasetClass, read_file
from polymeter.tasks.table.files.finding import table_here

UNKNOWN = "?"
_ORDER = ("class", "dataset", "TYPE", "MODALITY", "url", "md5", "NUM_GENERATIONS", "METRICS")
_SCORES = ("evaluate", "evaluate_sample")


def load(entry: Entry) -> Loaded:
    """The spec behind an entry.

    A class that computes its names has to be run to list them. Its entry is only there when the user has named its very
    file; its datasets become a group of the class's name.

    Raises:
        PlanError: if the file is broken, or does not name the dataset any more.
    """
    if entry.kind == "group":
        return _computed(entry)
    values = dict(_values(entry.name, _class_of(entry)))
    return Loaded((_spec(entry.file, entry.name, values, entry.alias),))


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Return the known values of an entry: key, value, and the file. ``?`` stands for a value that only running the
    file would give.
    """
    values = dict(_values(UNKNOWN if entry.kind == "group" else entry.name, _class_of(entry)))
    return [(key, values[key], entry.file) for key in _ORDER if key in values]


def check(entry: Entry) -> Iterator[Problem]:
    """Check a class: missing scoring, URLs that nothing verifies, and packages that are not installed.

    Raises:
        PlanError: if the file is broken beyond reading.
    """
    item = _class_of(entry)
    for message in (*_scoring_problems(item), *_url_problems(item)):
        yield Problem(f"{entry.file}:{item.line}", message)
    for package, line in read_file(entry.file, is_named=True).packages.items():
        if find_spec(package) is None:
            yield Problem(f"{entry.file}:{line}", f"Its code needs the package {package!r}, which is not installed.")


def table_source(spec: TaskSpec, context: OpenContext) -> tuple[FileSource, ...] | None:
    """Return the URL of the table of a class, if it is published; ``None`` if only its code knows.

    Raises:
        DataError: if the run names a table that does not exist.
    """
    url, md5 = str(spec.config.get("url") or ""), spec.config.get("md5")
    if UNKNOWN in (url, md5):
        return None
    with guest_context_with(data=context.data, folder=spec.file.parent):
        here = table_here(spec.name, url, md5)
    if here is None and "://" not in url:
        return None  # its code finds it, or fails
    return (FileSource(spec.name, url, here),) if "://" in url else ()


def _class_of(entry: Entry) -> DatasetClass:
    """The class of an entry, as it is written.

    Raises:
        PlanError: if the file is broken, or does not name the dataset any more.
    """
    file = read_file(entry.file, is_named=True)
    if entry.kind == "group":
        item = next((item for item in file.classes if item.name == entry.name), None)
    else:
        item = file.owner_of(entry.name)
    if item is None:
        names = [name for name, _ in file.named()]
        raise PlanError(
            f"{entry.file.name} does not name the dataset {entry.name!r} any more.",
            where=str(entry.file),
            hint=did_you_mean(entry.name, names),
        )
    return item


def _values(dataset: str, item: DatasetClass) -> Iterator[tuple[str, Any]]:
    """Yield the values that a class states for one of its datasets."""
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


def _spec(file: Path, name: str, values: Mapping[str, Any], alias: str = "") -> TaskSpec:
    sources = files_behind([file])
    return TaskSpec(name, NAME, file, values, source_hash(sources), sources, alias)


def _computed(entry: Entry) -> Loaded:
    from polymeter.interop.ulmeval.tasks.loading import dataset_names

    item = _class_of(entry)
    names = dataset_names(entry.file, item.name)
    if not names:
        raise PlanError(f"{item.name} names no dataset.", where=f"{entry.file}:{item.line}")
    specs = tuple(_spec(entry.file, name, dict(_values(name, item))) for name in names)
    group = GroupSpec(entry.name, "", tuple(names), file=entry.file)
    return Loaded(specs, () if entry.name in names else (group,))


def _scoring_problems(item: DatasetClass) -> Iterator[str]:
    """Yield the missing methods of a class that derives only from the plain bases."""
    if set(item.bases) <= {*PLAIN_BASES, "object"} and not set(_SCORES) & item.methods:
        yield f"{item.name} defines neither evaluate nor evaluate_sample, so nothing is scored."
    if not item.bases and "build_prompt" not in item.methods:
        yield f"{item.name} defines no build_prompt."


def _url_problems(item: DatasetClass) -> Iterator[str]:
    sums = item.values.get("DATASET_MD5")
    known = sums if isinstance(sums, Mapping) else {}
    for name, url in (item.datasets or {}).items():
        if url and url.startswith("http://") and not known.get(name):
            yield f"The data of {name!r} is fetched over plain http, and DATASET_MD5 has no sum to verify it by."
