"""From an entry of the index to a spec, and what is known of a class and wrong with it, without running its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem, did_you_mean
from polymeter.core.format import FileSource, Loaded, OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.identity import source_hash
from polymeter.core.names.catalog import Catalog, Entry, named_with_protocol
from polymeter.core.records.protocol import BenchmarkProtocol, read_protocol
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.ulmeval.tasks.index import NAME
from polymeter.interop.ulmeval.tasks.listing.members import Members, members_of
from polymeter.interop.ulmeval.tasks.listing.presets import ARGUMENTS, PRESETS, classes_near, read_presets
from polymeter.interop.ulmeval.tasks.literals import NOT_KNOWN
from polymeter.interop.ulmeval.tasks.reading import PLAIN_BASES, SETS, URLS, DatasetClass, line_of_protocol, read_file
from polymeter.tasks.table.files.finding import table_here
from polymeter.tasks.table.instances import dataset_named

UNKNOWN = "?"
DATASET, MEMBERS = "dataset", "members"
"""Keys of a spec: the name that the class knows, and the datasets of a collection."""
_ORDER = ("class", DATASET, ARGUMENTS, MEMBERS, "TYPE", "MODALITY", "url", "md5", "NUM_GENERATIONS", "METRICS", "SHOWN")
_SCORES = ("evaluate", "evaluate_sample")


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry as its authors wrote it.

    Attributes:
        file: The file of the class.
        item: The class.
        dataset: The name that the class knows.
        arguments: Arguments that a preset gives to the constructor.
        is_preset: Whether it is one.
    """

    file: Path
    item: DatasetClass
    dataset: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_preset: bool = False


def load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry.

    A class that computes its names has to be run to list them. Its entry is only there when the user has named its very
    file; its datasets become a group of the class's name.

    Raises:
        PlanError: if the file is broken, or does not name the dataset any more.
    """
    if entry.kind == "group":
        return _computed(entry)
    written = _written(entry)
    members = members_of(written.file, written.item, written.dataset, catalog)
    return Loaded((_spec(written, entry.name if written.is_preset else "", entry.alias, members),))


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Return the known values of an entry: key, value, and the file. ``?`` stands for a value that only running the
    file would give.
    """
    written = _written(entry)
    values = dict(_values(written))
    sets = written.item.values.get(SETS)
    if isinstance(sets, Mapping) and written.dataset in sets:
        values[MEMBERS] = sets[written.dataset]
    return [(key, values[key], entry.file) for key in _ORDER if key in values]


def check(entry: Entry) -> Iterator[Problem]:
    """Check a class: missing scoring, URLs that nothing verifies, and packages that are not installed.

    Raises:
        PlanError: if the file is broken beyond reading, or the protocol that it states.
    """
    written = _written(entry)
    file, item = written.file, written.item
    if entry.kind == "task":
        _protocol_of(file, written.dataset, item)
    for message in (*_scoring_problems(item), *_url_problems(item)):
        yield Problem(f"{file}:{item.line}", message)
    for package, line in read_file(file, is_named=True).packages.items():
        if find_spec(package) is None:
            yield Problem(f"{file}:{line}", f"Its code needs the package {package!r}, which is not installed.")


def table_source(spec: TaskSpec, context: OpenContext) -> tuple[FileSource, ...] | None:
    """Return the URL of the table of a class, if it is published; ``None`` if only its code knows.

    Raises:
        DataError: if the run names a table that does not exist.
    """
    url, md5 = str(spec.config.get("url") or ""), spec.config.get("md5")
    if UNKNOWN in (url, md5):
        return None
    dataset = dataset_named(spec)
    with guest_context_with(data=context.data, folder=spec.file.parent):
        here = table_here(dataset, url, md5)
    if here is None and "://" not in url:
        return None  # its code finds it, or fails
    mirrors = () if spec.protocol is None else spec.protocol.mirrors
    return (FileSource(dataset, url, here, mirrors),) if "://" in url else ()


def _written(entry: Entry) -> _Written:
    """The class of an entry, as it is written.

    Raises:
        PlanError: if a file is broken, or does not name the dataset any more.
    """
    if entry.file.name == PRESETS and entry.kind == "task":
        near = classes_near(entry.file)
        presets = read_presets(entry.file, {name: item for name, (_, item) in near.items()})
        preset = presets.get(entry.name)
        if preset is None or preset.of not in near:
            raise _not_there(entry, presets)
        file, item = near[preset.of]
        return _Written(file.path, item, preset.dataset, preset.arguments, is_preset=True)
    file = read_file(entry.file, is_named=True)
    if entry.kind == "group":
        owner = next((item for item in file.classes if item.name == entry.name), None)
    else:
        owner = file.owner_of(entry.benchmark, entry.protocol)
    if owner is None:
        raise _not_there(entry, [name for name, _ in file.named()])
    return _Written(entry.file, owner, UNKNOWN if entry.kind == "group" else entry.benchmark)


def _not_there(entry: Entry, names: Iterable[str]) -> PlanError:
    return PlanError(
        f"{entry.file.name} does not name the dataset {entry.name!r} any more.",
        where=str(entry.file),
        hint=did_you_mean(entry.name, [*names]),
    )


def _values(written: _Written) -> Iterator[tuple[str, Any]]:
    """Yield the values that a class states for one of its datasets."""
    dataset, item = written.dataset, written.item
    yield "class", item.name
    yield DATASET, dataset
    if written.is_preset:
        yield ARGUMENTS, {name: UNKNOWN if value is NOT_KNOWN else value for name, value in written.arguments.items()}
    for name in ("TYPE", "MODALITY", "NUM_GENERATIONS", "METRICS", "SHOWN"):
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


def _spec(written: _Written, preset: str = "", alias: str = "", members: Members | None = None) -> TaskSpec:
    """The spec of a dataset, or of a preset by its name.

    Raises:
        PlanError: if a preset has an argument that only running its file would give.
    """
    dataset, item = written.dataset, written.item
    for name, value in written.arguments.items():
        if value is NOT_KNOWN:
            said = f"The argument {name!r} of the preset {preset!r} is computed, so it is not known."
            hint = f"Run the dataset {dataset!r} and give its arguments with --dialect-option or --data-config."
            raise PlanError(said, where=str(written.file), hint=hint)
    protocol = None if preset else _protocol_of(written.file, dataset, item)
    sources = files_behind([written.file] if members is None else [Path(member.file) for member in members.values()])
    values = dict(_values(written))
    stated = {key: values[key] for key in (ARGUMENTS,) if key in values}
    if members is not None:
        values[MEMBERS] = members
        stated[MEMBERS] = [*members]
    return TaskSpec(
        preset or named_with_protocol(dataset, item.stated_protocol(dataset)),
        NAME,
        written.file,
        values,
        source_hash(sources, [stated]) if stated else source_hash(sources),
        sources,
        alias,
        protocol=protocol,
    )


def _protocol_of(file: Path, dataset: str, item: DatasetClass) -> BenchmarkProtocol | None:
    """Return the protocol of a dataset, as far as it is known without running the file.

    Raises:
        PlanError: if it has an unknown key, or a value of the wrong type.
    """
    stated = item.stated_protocol(dataset)
    return None if stated is None else read_protocol(stated, f"{file}:{line_of_protocol(file, item)}")


def _computed(entry: Entry) -> Loaded:
    from polymeter.interop.ulmeval.tasks.loading import dataset_names

    item = _written(entry).item
    names = dataset_names(entry.file, item.name)
    if not names:
        raise PlanError(f"{item.name} names no dataset.", where=f"{entry.file}:{item.line}")
    specs = tuple(_spec(_Written(entry.file, item, name)) for name in names)
    members = tuple(spec.name for spec in specs)
    group = GroupSpec(entry.name, "", members, file=entry.file)
    return Loaded(specs, () if entry.name in members else (group,))


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
