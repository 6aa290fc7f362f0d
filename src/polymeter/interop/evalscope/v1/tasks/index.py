"""The benchmarks of EvalScope 1.x, and the content of their registrations: Python files below the roots, read without
running them, and registrations of the user's own code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem
from polymeter.core.format import HubSource, Loaded, OpenContext
from polymeter.core.machine.folders import files_below
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.records.protocol import BenchmarkProtocol, read_protocol
from polymeter.core.task import TaskSpec
from polymeter.core.text.codec import jsonable
from polymeter.interop.evalscope.tasks.constants import HubType
from polymeter.interop.evalscope.tasks.index import (
    check_once,
    described,
    entry_of,
    is_local,
    meta_protocol,
    ordered,
    registered_entry,
    sources_of,
    unnamed,
)
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, Registration
from polymeter.interop.evalscope.v1.registration import BENCHMARK_REGISTRY, FIELDS, BenchmarkMeta
from polymeter.interop.evalscope.v1.tasks.reading import SANDBOX, AdapterFile, read_file
from polymeter.interop.evalscope.v1.tasks.settings import NAME, data_folder, read_run_options

_ENDING = "_adapter.py"
_LOADERS = frozenset({"load", "load_from_disk", "load_from_remote", "load_subset", "load_subsets", "load_dataset"})
"""Methods that, if an author writes them, may read other data than the registration names."""
_FIRST = ("name", "pretty_name", "tags", "description", "paper_url", "dataset_id", "hf_dataset_id", "subset_list")
# The order in which people read a registration.
_KEY_ORDER = (*_FIRST, *(name for name in FIELDS if name not in (*_FIRST, "data_adapter")))


def index(roots: Sequence[Root]) -> Catalog:
    """All benchmarks under the roots. A root is a folder, or a single Python file; in folders of the user's, files may
    have any name.

    What cannot be read, and what Polymeter cannot run, becomes a ``Problem``.
    """
    catalog = Catalog()
    for root in roots:
        for path in files_below(root.path, ".py" if root.is_user else _ENDING):
            try:
                file = read_file(path)
            except PlanError as error:
                if path.name.endswith(_ENDING) or root.path == path:
                    catalog.problems.append(Problem(error.where or str(path), error.what))
                continue
            _add(catalog, file, root)
    for name, path in BENCHMARK_REGISTRY.by_users().items():
        meta = BENCHMARK_REGISTRY.in_file(name, path)
        if meta is not None:
            catalog.add(registered_entry(meta, path, NAME))
    return catalog


def load(entry: Entry, catalog: Catalog) -> Loaded:
    """Return the spec behind an entry.

    Raises:
        PlanError: if the file is broken, does not register the name any more, or cannot be run.
    """
    is_file = entry.file.is_file()
    file = read_file(entry.file) if is_file else AdapterFile(entry.file)
    if not is_registered(entry):
        registration, why = registration_of(entry)
        if why:
            raise PlanError(why, where=f"{entry.file}:{registration.line}")
    sources, hashed = sources_of(entry)
    spec = TaskSpec(
        name=entry.name,
        format=NAME,
        file=entry.file,
        config=dict(_values_of(entry)),
        source_hash=hashed,
        sources=sources,
        alias=entry.alias,
        version=str(dict(_values_of(entry)).get("evaluation_version") or ""),
        runs_generated_code=file.runs_code_of(entry.benchmark) or _mixes_in_sandbox(entry),
        protocol=protocol_of(entry),
    )
    return Loaded((spec,))


def protocol_of(entry: Entry) -> BenchmarkProtocol | None:
    """Return the protocol that a registration states, as far as it is known without running the file.

    Raises:
        PlanError: if it has an unknown key, or a value of the wrong type.
    """
    meta = BENCHMARK_REGISTRY.in_file(entry.name, entry.file) if is_registered(entry) else None
    if meta is not None:
        return meta_protocol(meta, str(entry.file))
    found, _ = registration_of(entry)
    return read_protocol(found.protocol, f"{entry.file}:{found.protocol_line}")


def _mixes_in_sandbox(entry: Entry) -> bool:
    """Return whether a benchmark of the user's own code, which has run, runs code that the model writes."""
    meta = BENCHMARK_REGISTRY.in_file(entry.name, entry.file) if is_registered(entry) else None
    return meta is not None and any(base.__name__ == SANDBOX for base in meta.data_adapter.__mro__)


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Return the values of a registration: key, value (its source text where only running it would give one), and the
    file.
    """
    written = {} if is_registered(entry) else registration_of(entry)[0].written
    return described(entry, written, _values_of(entry))


def hub_sources(spec: TaskSpec, context: OpenContext) -> tuple[HubSource, ...] | None:
    """Return the dataset that a registration names, for each of its subsets; ``None`` if only the adapter's code knows
    it.

    Raises:
        PlanError: if the run's options for adapters cannot be.
    """
    options = read_run_options(context.options)
    values = {**spec.config, **options.dataset_args.get(spec.benchmark, {})}
    hub = (options.dataset_hub or HubType.MODELSCOPE).lower()
    dataset = values.get("dataset_id")
    if hub == HubType.HUGGINGFACE and isinstance(values.get("hf_dataset_id"), str):
        dataset = values["hf_dataset_id"]
    subsets = values.get("subset_list", ["default"])
    if not isinstance(dataset, str) or not isinstance(subsets, (list, tuple)):
        return None
    if values.get("local_path") or dataset in context.data or is_local(dataset, spec.file.parent):
        return ()
    if "/" not in dataset:
        return None
    protocol = "" if spec.protocol is None else spec.protocol.name
    found = [one for one in read_file(spec.file).registrations if one.is_named(spec.benchmark, protocol)]
    adapter = found[0].adapter if found else None
    mirrors = () if spec.protocol is None else spec.protocol.mirrors
    if any(mirror in context.data for mirror in mirrors):
        return ()
    is_exact = adapter is not None and not _loads_by_itself(adapter)
    if hub == HubType.HUGGINGFACE:
        return tuple(HubSource(dataset, _config(subset), mirrors=mirrors) for subset in subsets) if is_exact else None
    folder = Path(data_folder(options, context))
    return tuple(
        HubSource(dataset, _config(subset), hub=hub, cache_dir=folder, is_exact=is_exact, mirrors=mirrors)
        for subset in subsets
    )


def _config(subset: Any) -> str | None:
    return None if subset == "default" else str(subset)


def _loads_by_itself(adapter: ast.ClassDef) -> bool:
    """Return whether an adapter has a way of loading of its own, or sorts rows or splits into subsets."""
    own = {node.name for node in adapter.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    texts = {node.attr for node in ast.walk(adapter) if isinstance(node, ast.Attribute)}
    return bool(own & _LOADERS) or bool(texts & {"reformat_subset", "split_as_subset"})


def registration_of(entry: Entry) -> tuple[Registration, str]:
    """The registration of an entry, as it is written, and why it cannot be run; empty if it can.

    Raises:
        PlanError: if the file is broken, does not register the name any more, or registers it twice.
    """
    found = [pair for pair in read_file(entry.file).pairs() if pair[0].is_named(entry.benchmark, entry.protocol)]
    check_once(entry, [registration.line for registration, _ in found])
    return found[0]


def _add(catalog: Catalog, file: AdapterFile, root: Root) -> None:
    refused: dict[str, list[Registration]] = {}
    for registration, why in file.pairs():
        if why:
            refused.setdefault(why, []).append(registration)
        elif registration.name == UNKNOWN:
            catalog.problems.append(unnamed(file.path, registration))
        else:
            catalog.add(entry_of(registration, file.path, file.packages, root, NAME))
    for why, registrations in refused.items():
        names = tuple(registration.name for registration in registrations)
        catalog.problems.append(Problem(f"{file.path}:{registrations[0].line}", why, names))


def _values_of(entry: Entry) -> Iterator[tuple[str, Any]]:
    """Yield the values of a registration, in the order in which people read it."""
    values: Mapping[str, Any]
    if is_registered(entry):
        meta: BenchmarkMeta | None = BENCHMARK_REGISTRY.in_file(entry.name, entry.file)
        assert meta is not None
        values = {key: jsonable(value) for key, value in meta.to_dict().items() if key != "data_adapter"}
        values = {**values, "evaluation_version": meta.evaluation_version}
    else:
        values = registration_of(entry)[0].values
    yield from ordered(values, _KEY_ORDER, FIELDS)


def is_registered(entry: Entry) -> bool:
    """Return whether an entry is a registration of the user's own code, which has run."""
    return BENCHMARK_REGISTRY.by_users().get(entry.name) == entry.file
