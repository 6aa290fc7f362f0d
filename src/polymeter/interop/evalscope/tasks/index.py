"""The benchmarks, and the content of their registrations: ``*_adapter.py`` files below the roots, read without running
them, and registrations of the user's own code.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem
from polymeter.core.format import HubSource, Loaded, OpenContext
from polymeter.core.identity import source_hash
from polymeter.core.machine.folders import files_below
from polymeter.core.media.sources import digest
from polymeter.core.names.catalog import Catalog, Entry, Root, is_default, named_with_protocol, protocol_name
from polymeter.core.names.installed import is_benchmark_file
from polymeter.core.records.protocol import BenchmarkProtocol, read_protocol
from polymeter.core.task import TaskSpec
from polymeter.core.text.codec import jsonable
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.tasks.constants import DataCollection, HubType
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, BenchmarkFile, Registration, read_file, stated_protocol
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, Named, source_text
from polymeter.interop.evalscope.tasks.settings import read_run_options, work_dir

NAME = "adapter"
NAME_1X = "adapter_1x"
_ENDING = "_adapter.py"
_LOADERS = frozenset({"load", "load_from_hub"})
"""Methods that, if an author writes them, may read other data than the registration names."""

# The order in which people read a registration.
_KEY_ORDER = (
    "name",
    "pretty_name",
    "tags",
    "description",
    "dataset_id",
    "model_adapter",
    "output_types",
    "subset_list",
    "metric_list",
    "few_shot_num",
    "few_shot_random",
    "train_split",
    "eval_split",
    "prompt_template",
    "system_prompt",
    "query_template",
    "filters",
    "extra_params",
)


def index(roots: Sequence[Root]) -> Catalog:
    """All benchmarks under the roots. A root is a folder, or a single Python file of any name.

    What cannot be read becomes a ``Problem``.
    """
    catalog = Catalog()
    for root in roots:
        for path in files_below(root.path, _ENDING):
            try:
                file = read_file(path)
            except PlanError as error:
                catalog.problems.append(Problem(error.where or str(path), error.what))
                continue
            _add(catalog, file, root)
    for name, path in BENCHMARK_MAPPINGS.by_users().items():
        meta = BENCHMARK_MAPPINGS.in_file(name, path)
        if meta is not None:
            catalog.add(registered_entry(meta, path, NAME))
    return catalog


def load(entry: Entry, catalog: Catalog) -> Loaded:
    """Return the spec behind an entry. That of a collection has the places of all benchmarks, since only its file names
    the ones that it needs.

    Raises:
        PlanError: if the file is broken, or does not register the name any more.
    """
    config = dict(_values_of(entry))
    if entry.name == DataCollection.NAME:
        config["benchmarks"] = _files_of(catalog, NAME, entry)
        newer = _files_of(catalog, NAME_1X, entry)
        config |= {"benchmarks_1x": newer} if newer else {}
    sources, hashed = sources_of(entry)
    spec = TaskSpec(
        name=entry.name,
        format=NAME,
        file=entry.file,
        config=config,
        source_hash=hashed,
        sources=sources,
        alias=entry.alias,
        protocol=protocol_of(entry),
    )
    return Loaded((spec,))


def sources_of(entry: Entry) -> tuple[tuple[Path, ...], str]:
    """Return the files behind an entry, and their hash."""
    sources = files_behind([entry.file]) if entry.file.is_file() else ()
    # A notebook's cell is not a file; its text is still available.
    return sources, source_hash(sources) if sources else digest(source_text(entry.file).encode())


def _files_of(catalog: Catalog, task_format: str, collection: Entry) -> dict[str, str]:
    """The files of all benchmarks in a format, by name."""
    return {
        name: str(one.file)
        for one in reversed([*catalog.everything()])  # of one name, that of the user, then ours, then a package's
        if one.format == task_format and one.name != collection.name
        for name in (one.name, one.benchmark)
    }


def protocol_of(entry: Entry) -> BenchmarkProtocol | None:
    """Return the protocol that a registration states, as far as it is known without running the file.

    Raises:
        PlanError: if it has an unknown key, or a value of the wrong type.
    """
    meta = BENCHMARK_MAPPINGS.in_file(entry.name, entry.file) if _is_registered(entry) else None
    if meta is not None:
        return meta_protocol(meta, str(entry.file))
    found = registration_of(entry)
    return read_protocol(found.protocol, f"{entry.file}:{found.protocol_line}")


def meta_protocol(meta: Named, where: str) -> BenchmarkProtocol | None:
    """Return the protocol of a registration that has been made.

    Args:
        meta: The registration.
        where: Its place, for messages.

    Raises:
        PlanError: if it has an unknown key, or a value of the wrong type.
    """
    return read_protocol(stated_protocol(meta.extra_params), where)


def with_protocol(spec: TaskSpec, meta: Named) -> TaskSpec:
    """Return the spec with all that a registration states of its protocol, values that its file computes included.

    Raises:
        PlanError: if it has an unknown key or a value of the wrong type, or a name that its file does not say.
    """
    protocol = meta_protocol(meta, str(spec.file))
    name, listed = ("" if one is None else one.name for one in (protocol, spec.protocol))
    if name != listed:
        raise PlanError(
            f"Benchmark {spec.name!r} states the protocol {name!r} once it is loaded, and its file {listed!r}.",
            where=str(spec.file),
            hint="Write extra_params={'protocol': {'name': '…'}} where it is registered: its name becomes part of the "
            "task's.",
        )
    return replace(spec, protocol=protocol)


def mirrors_of(meta: Named) -> tuple[str, ...]:
    """Return the further ids of a benchmark's dataset."""
    protocol = meta_protocol(meta, f"extra_params of {meta.name!r}")
    return () if protocol is None else protocol.mirrors


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Return the values of a registration: key, value (its source text where only running it would give one), and the
    file.
    """
    written = {} if _is_registered(entry) else registration_of(entry).written
    return described(entry, written, _values_of(entry))


def described(
    entry: Entry, written: Mapping[str, Any], values: Iterable[tuple[str, Any]]
) -> list[tuple[str, Any, Path]]:
    """Return the values of a registration with its file, and source texts in place of unknown ones."""
    return [(key, written.get(key, value) if value == UNKNOWN else value, entry.file) for key, value in values]


def hub_sources(spec: TaskSpec, context: OpenContext) -> tuple[HubSource, ...] | None:
    """Return the dataset that a registration names, for each of its subsets; ``None`` if only the adapter's code knows
    it. An adapter that loads by itself most likely chooses among the files of that dataset.

    Raises:
        PlanError: if the run's options for adapters cannot be.
    """
    options = read_run_options(context.options)
    values = {**spec.config, **options.dataset_args.get(spec.benchmark, {})}
    dataset, subsets = values.get("dataset_id"), values.get("subset_list", ["default"])
    if spec.name == DataCollection.NAME or not isinstance(dataset, str) or not isinstance(subsets, (list, tuple)):
        return None
    if values.get("local_path") or dataset in context.data or is_local(dataset, spec.file.parent):
        return ()
    if "/" not in dataset:
        return None
    hub = (options.dataset_hub or HubType.MODELSCOPE).lower()
    mirrors = () if spec.protocol is None else spec.protocol.mirrors
    if any(mirror in context.data for mirror in mirrors):
        return ()
    found = read_file(spec.file).named(spec.benchmark, "" if spec.protocol is None else spec.protocol.name)
    adapter = found[0].adapter if found else None
    is_exact = adapter is not None and not _loads_by_itself(adapter)
    if hub == HubType.HUGGINGFACE:
        return tuple(HubSource(dataset, str(subset), mirrors=mirrors) for subset in subsets) if is_exact else None
    folder = Path(work_dir(options, context))
    return tuple(
        HubSource(dataset, str(subset), hub=hub, cache_dir=folder, is_exact=is_exact, mirrors=mirrors)
        for subset in subsets
    )


def is_local(dataset: str, folder: Path) -> bool:
    """Return whether a dataset is a place on this machine, perhaps beside the adapter's file."""
    return dataset.startswith(("/", "./", "../", "~")) or Path(dataset).exists() or (folder / dataset).exists()


def _loads_by_itself(adapter: ast.ClassDef) -> bool:
    bases = [base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in adapter.bases]
    own = {node.name for node in adapter.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return bases != ["DataAdapter"] or bool(own & _LOADERS)


def registration_of(entry: Entry) -> Registration:
    """The registration of an entry, as it is written.

    Raises:
        PlanError: if the file is broken, does not register the name any more, or registers it twice.
    """
    found = read_file(entry.file).named(entry.benchmark, entry.protocol)
    check_once(entry, [registration.line for registration in found])
    return found[0]


def check_once(entry: Entry, lines: Sequence[int]) -> None:
    """Check that a file registers an entry's name once.

    Args:
        entry: The entry.
        lines: The lines at which it does.

    Raises:
        PlanError: if it does not register it any more, or several times.
    """
    if not lines:
        raise PlanError(f"{entry.file.name} does not register {entry.name!r} any more.", where=str(entry.file))
    if len(lines) > 1:
        told = " and ".join(map(str, lines))
        raise PlanError(
            f"{entry.file.name} registers {entry.name!r} {len(lines)} times: lines {told}.",
            where=f"{entry.file}:{lines[-1]}",
            hint="Give each benchmark a name of its own.",
        )


def _add(catalog: Catalog, file: BenchmarkFile, root: Root) -> None:
    for registration in file.registrations:
        if registration.name == UNKNOWN:
            catalog.problems.append(unnamed(file.path, registration))
        elif registration.name != DataCollection.NAME or not is_benchmark_file(str(file.path)):
            # Polymeter's own takes the place of a package's, whose catalog has none of the user's benchmarks.
            catalog.add(entry_of(registration, file.path, file.packages, root, NAME))


def unnamed(file: Path, registration: Registration) -> Problem:
    """Return the problem of a registration whose name only running its file would tell."""
    return Problem(
        f"{file}:{registration.line}", "The name of this benchmark is not written as a text, so it cannot be listed."
    )


def entry_of(registration: Registration, file: Path, packages: Collection[str], root: Root, task_format: str) -> Entry:
    """Return the entry of a registration, as far as it is known without running its file.

    Args:
        registration: The registration.
        file: Its file.
        packages: Third-party packages that the file imports.
        root: The root below which the file lies.
        task_format: The format.
    """
    alias = registration.value("pretty_name")
    stated = registration.protocol
    return Entry(
        named_with_protocol(registration.name, stated),
        "task",
        task_format,
        file,
        root.is_user,
        alias if isinstance(alias, str) and alias != UNKNOWN else "",
        _tags(registration.value("tags")),
        packages=tuple(sorted(packages)),
        about=" ".join(
            value for key in ("description", "dataset_id") if isinstance(value := registration.value(key), str)
        ),
        protocol=protocol_name(stated),
        is_default=is_default(stated),
    )


def registered_entry(meta: Named, path: Path, task_format: str) -> Entry:
    """Return the entry of a registration of the user's own code, which has run."""
    stated = stated_protocol(meta.extra_params)
    return Entry(
        meta.task_name,
        "task",
        task_format,
        path,
        True,
        meta.pretty_name or "",
        _tags(meta.tags),
        protocol=protocol_name(stated),
        is_default=is_default(stated),
    )


def _tags(value: object) -> tuple[str, ...]:
    """Labels, as far as they are known; an adapter's file may give a single one as a text."""
    if isinstance(value, str):
        return () if value == UNKNOWN else (value,)
    return tuple(str(tag) for tag in value) if isinstance(value, Iterable) else ()


def _values_of(entry: Entry) -> Iterator[tuple[str, Any]]:
    """Yield the values of a registration, in the order in which people read it."""
    values: Mapping[str, Any]
    if _is_registered(entry):
        meta = BENCHMARK_MAPPINGS.in_file(entry.name, entry.file)
        assert meta is not None
        values = {key: jsonable(value) for key, value in meta.to_dict().items() if key != "data_adapter"}
    else:
        values = registration_of(entry).values
    yield from ordered(values, _KEY_ORDER, _KEY_ORDER)


def ordered(values: Mapping[str, Any], order: Iterable[str], known: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield values that are not empty in the order in which people read them, and then those that nobody knows."""
    yield from ((key, values[key]) for key in order if values.get(key) not in (None, [], {}))
    yield from ((key, value) for key, value in values.items() if key not in known)


def _is_registered(entry: Entry) -> bool:
    return BENCHMARK_MAPPINGS.by_users().get(entry.name) == entry.file
