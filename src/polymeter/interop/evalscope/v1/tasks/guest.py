"""An adapter's code as a guest: its file is loaded, the adapter is made with this run's settings, its data is read, and
all its prompts are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import guest_context, guest_context_with
from polymeter.core.machine.opened_files import is_of_row
from polymeter.core.model import ModelTraits
from polymeter.core.request import RequestKind
from polymeter.core.task import TaskSpec
from polymeter.data import mapped_anew
from polymeter.data.opening.mirrors import first_that_opens
from polymeter.guests import contained, seeded
from polymeter.guests.held import file_of
from polymeter.guests.loading.load import authors_code
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.named_data import naming_its_place
from polymeter.guests.opened_sources import add_sources, loading_sources
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.tasks.datasets import is_absent
from polymeter.interop.evalscope.tasks.index import mirrors_of
from polymeter.interop.evalscope.tasks.reading import Registration, line_in
from polymeter.interop.evalscope.tasks.registration import (
    latest_class,
    load_registered,
    no_subset,
    unknown_subsets,
)
from polymeter.interop.evalscope.v1.registration import (
    BENCHMARK_REGISTRY,
    FIELDS,
    BenchmarkMeta,
    make_adapter,
)
from polymeter.interop.evalscope.v1.tasks.changes import checked_changes
from polymeter.interop.evalscope.v1.tasks.hooks import check_metrics
from polymeter.interop.evalscope.v1.tasks.reading import read_file
from polymeter.interop.evalscope.v1.tasks.settings import Adapter1xOptions, RunSettings, run_settings
from polymeter.interop.evalscope.v1.types.samples import Sample


@dataclass(frozen=True, slots=True)
class OpenAdapter:
    """A benchmark that is ready to be asked.

    Attributes:
        name: Its name.
        meta: Its registration, as its author wrote it.
        adapter: Its author's object, which holds the changed registration.
        changes: This run's changes to the registration.
        settings: The settings that the adapter reads.
        kind: What the model is asked for.
        subsets: The subset of each sample.
        samples: All samples, subset after subset, limited.
    """

    name: str
    meta: BenchmarkMeta
    adapter: Any
    changes: Mapping[str, Any]
    settings: RunSettings
    kind: RequestKind
    subsets: Sequence[str]
    samples: Sequence[Sample]


def open_adapter(spec: TaskSpec, traits: ModelTraits, options: Adapter1xOptions, context: OpenContext) -> OpenAdapter:
    """Run an adapter's code up to the point where its prompts can be asked.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its dataset is missing or empty.
    """
    made = make_open(spec, traits, options, context)
    with naming_its_place(spec.file, partial(_line_of_data, spec)), mapped_anew(spec.sources):
        loaded = _load(made.meta, made.adapter, options, context)
    pairs = [(subset, sample) for subset, dataset in loaded.items() for sample in dataset]
    if not pairs:
        raise DataError(
            f"Benchmark {spec.name!r} has no samples in its subsets.",
            where=str(spec.file),
            hint="Check subset_list, eval_split, sample_filter and the limit.",
        )
    return replace(made, subsets=[subset for subset, _ in pairs], samples=[sample for _, sample in pairs])


def make_all_samples(spec: TaskSpec, changes: Mapping[str, Any], context: OpenContext) -> dict[str, list[Sample]]:
    """The samples of a benchmark with their prompts, by subset, outside of any run.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its data is missing.
    """
    options = Adapter1xOptions(dataset_args={spec.benchmark: dict(changes)})
    opened = open_adapter(spec, ModelTraits(family="none"), options, context)
    found: dict[str, list[Sample]] = {}
    for subset, sample in zip(opened.subsets, opened.samples, strict=True):
        found.setdefault(subset, []).append(sample)
    return found


def make_open(spec: TaskSpec, traits: ModelTraits, options: Adapter1xOptions, context: OpenContext) -> OpenAdapter:
    """Make an adapter with a run's settings, and read no data.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
    """
    meta = load_meta(spec)
    changes = changed_meta(meta, spec, options, context)
    kind: RequestKind = getattr(latest_class(meta.data_adapter), "request_kind", "generate")
    settings = run_settings(spec.benchmark, options, traits, context, kind=kind)
    what = f"Making the adapter of benchmark {meta.name!r}"
    with GUEST_LOCK, contained(), loading_sources(), authors_code(PlanError, what):
        adapter = make_adapter(meta, settings, changes)
        adapter.validate_judge_strategy()
    if not context.is_begun:
        check_metrics(adapter)
    home = file_of(type(adapter))
    if home and not type(adapter).__module__.startswith("polymeter."):
        add_sources(files_behind([Path(home)]))  # a script may have put its own class into a registration
    return OpenAdapter(spec.name, meta, adapter, changes, settings, kind, (), ())


def load_meta(spec: TaskSpec) -> BenchmarkMeta:
    """Return the registration of a benchmark. Runs the file, unless the user has run it himself.

    Raises:
        PlanError: if the file fails to load, needs a package that is not installed, or registers no such name.
    """
    return load_registered(BENCHMARK_REGISTRY, spec, dict, "register_benchmark")


def changed_meta(
    meta: BenchmarkMeta, spec: TaskSpec, options: Adapter1xOptions, context: OpenContext
) -> dict[str, Any]:
    """Return this run's changes to the registration; settings for this benchmark win over general ones.

    Raises:
        PlanError: if one names no field, or one that a run cannot change.
        DataError: if local data is named that does not exist.
    """
    changes: dict[str, Any] = {}
    if context.num_fewshot is not None:
        changes["few_shot_num"] = context.num_fewshot
    if context.system_prompt:
        changes["system_prompt"] = context.system_prompt
    named = options.dataset_args.get(meta.name, {})
    changes |= checked_changes(meta, named, drops_unknown=context.parity.on("unknown-dataset-args"))
    if changes.get("local_path"):
        return changes
    ids = [changes.get("dataset_id", meta.dataset_id), meta.hf_dataset_id, *mirrors_of(meta)]
    place = next((context.data[one] for one in ids if one in context.data), None)
    if place is not None:
        if not Path(place).expanduser().exists():
            raise DataError(f"--data {ids[0]}={place}: there is no such file or folder.")
        changes["local_path"] = str(Path(place).expanduser())
    elif not Path(str(ids[0])).exists() and (beside := spec.file.parent / str(ids[0])).exists():
        changes["local_path"] = str(beside)
    return changes


def _load(meta: BenchmarkMeta, adapter: Any, options: Adapter1xOptions, context: OpenContext) -> dict[str, Any]:
    """The samples of each subset that has any, with their prompts."""
    unknown = unknown_subsets(meta, options.dataset_args.get(meta.name, {}).get("subset_list"))
    with (
        GUEST_LOCK,
        contained(),
        seeded(context.seed),
        guest_context_with(
            data=context.data,
            cache_dir=context.cache_dir,
            parity=context.parity,
            revisions=context.revisions.get(meta.name, {}),
        ),
        loading_sources(is_data=lambda path: is_of_row(path, "")),
    ):
        try:
            with authors_code(DataError, f"Loading the data of benchmark {meta.name!r}"):
                loaded = _load_from_any(meta, adapter)
        except PolymeterError as error:
            if unknown:
                raise no_subset(meta, unknown) from error
            raise
    if not hasattr(loaded, "items"):
        raise PlanError(
            f"load_dataset of benchmark {meta.name!r} gave a {type(loaded).__name__}.",
            hint="It must return a DatasetDict: samples by subset.",
        )
    by_subset = {str(subset): list(dataset) for subset, dataset in loaded.items()}
    missing = [name for name in unknown if not by_subset.get(name)]
    if missing:
        raise no_subset(meta, missing, [name for name, samples in by_subset.items() if samples])
    return {subset: samples for subset, samples in by_subset.items() if samples}


def _load_from_any(meta: BenchmarkMeta, adapter: Any) -> Any:
    """The rows that the adapter loads from its dataset, or from the first of its mirrors that exists."""
    own = adapter.benchmark_meta
    named = own.dataset_id, own.hf_dataset_id

    def load(one: str) -> Any:
        own.dataset_id, own.hf_dataset_id = named if one == named[0] else (one, one)
        return adapter.load_dataset()

    mirrors = mirrors_of(meta) if named == (meta.dataset_id, meta.hf_dataset_id) else ()
    return first_that_opens((named[0], *mirrors), load, pinned=guest_context().revisions, is_absent=is_absent)


def _line_of_data(spec: TaskSpec, error: DataError) -> int:
    protocol = "" if spec.protocol is None else spec.protocol.name
    found: Registration | None = next(
        (item for item in read_file(spec.file).registrations if item.is_named(spec.benchmark, protocol)), None
    )
    return 1 if found is None else line_in(found, error)


def settable(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that have an effect on scores, wherever data lies."""
    return {key: value for key, value in changes.items() if key in FIELDS}
