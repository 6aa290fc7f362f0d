"""A benchmark's code as a guest: its file is loaded, its adapter is made with this run's settings, its data is read,
and all its prompts are made.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.machine.opened_files import is_of_row
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import Parity
from polymeter.core.task import TaskSpec
from polymeter.data import mapped_anew
from polymeter.guests import contained, seeded
from polymeter.guests.held import file_of
from polymeter.guests.loading.load import authors_code
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.named_data import naming_its_place
from polymeter.guests.opened_sources import add_sources, loading_sources
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.tasks import constants
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.constants import DataCollection, HubType, OutputType
from polymeter.interop.evalscope.tasks.index import mirrors_of
from polymeter.interop.evalscope.tasks.prompts import Prompt, prompt_problem
from polymeter.interop.evalscope.tasks.reading import line_of_data
from polymeter.interop.evalscope.tasks.registration import (
    BENCHMARK_MAPPINGS,
    Benchmark,
    BenchmarkMeta,
    load_registered,
    no_subset,
    unknown_subsets,
)
from polymeter.interop.evalscope.tasks.scoring.filters import Filter
from polymeter.interop.evalscope.tasks.scoring.metrics import metric_registry
from polymeter.interop.evalscope.tasks.settings import AdapterRunOptions, Mode, choose_mode, work_dir


@dataclass(frozen=True, slots=True)
class PromptedRecord:
    """One record of a dataset with its prompt.

    Attributes:
        subset: Its subset.
        index: Its position within the subset.
        prompt: What ``gen_prompt`` gave.
        record: The record itself, the object that ``gen_prompt`` was given.
    """

    subset: str
    index: int
    prompt: Prompt
    record: Any


@dataclass(frozen=True, slots=True)
class OpenBenchmark:
    """A benchmark that is ready to be asked.

    Attributes:
        name: Its name.
        adapter: Its author's object.
        changes: This run's changes to the registration.
        mode: How it is asked.
        records: Its records with their prompts, subset after subset, limited.
        image_folder: The folder for images that its adapter needs as paths.
        meta: Its registration.
    """

    name: str
    adapter: DataAdapter
    changes: Mapping[str, Any]
    mode: Mode
    records: Sequence[PromptedRecord]
    image_folder: Path
    meta: BenchmarkMeta


def supplied_names() -> dict[str, Any]:
    """Names that a benchmark's file may use without importing them, because published listings do."""
    import typing

    from polymeter.interop.evalscope.tasks.scoring import metrics, parsers, report
    from polymeter.interop.evalscope.tasks.scoring.judging import LLMJudge

    names: dict[str, Any] = {
        "Benchmark": Benchmark,
        "BenchmarkMeta": BenchmarkMeta,
        "DataAdapter": DataAdapter,
        "Filter": Filter,
        "LLMJudge": LLMJudge,
        "Metric": metrics.Metric,
        "Report": report.Report,
        "ReportKey": report.ReportKey,
        "ResponseParser": parsers.ResponseParser,
        "exact_match": metrics.exact_match,
        "get_logger": get_logger,
        "logger": get_logger(),
        "mean": metrics.mean,
        "metric_registry": metric_registry,
        "weighted_mean": metrics.weighted_mean,
    }
    for name in ("AnswerKeys", "EvalType", "HubType", "JudgeStrategy", "OutputType", "DEFAULT_DATASET_CACHE_DIR"):
        names[name] = getattr(constants, name)
    for name in ("Any", "Callable", "Dict", "Iterable", "List", "Optional", "Sequence", "Set", "Tuple", "Union"):
        names[name] = getattr(typing, name)
    return names


def get_logger(*args: Any, **kwargs: Any) -> logging.Logger:
    """The logger of benchmarks' own code. Arguments (files, levels) are the run's business and are not used."""
    return logging.getLogger("polymeter.benchmarks")


def open_benchmark(
    spec: TaskSpec, traits: ModelTraits, options: AdapterRunOptions, context: OpenContext
) -> OpenBenchmark:
    """Run a benchmark's code up to the point where its prompts can be asked.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its dataset is missing or empty.
    """
    meta = load_meta(spec)
    changes = _changed_meta(meta, options, context)
    adapter, mode = _make_adapter(meta, changes, traits, options, context.parity)
    protocol = "" if spec.protocol is None else spec.protocol.name
    place = partial(line_of_data, spec.file, spec.benchmark, protocol)
    with naming_its_place(spec.file, place), mapped_anew(spec.sources):
        records = list(_limited(_make_prompts(meta, adapter, options, context), context.limit))
    if not records:
        raise DataError(
            f"Benchmark {spec.name!r} has no records in its subsets.",
            where=str(spec.file),
            hint="Check subset_list, eval_split and the limit.",
        )
    problem = prompt_problem(records[0].prompt, mode.output_type, mode.eval_type)
    if problem:
        raise PlanError(problem, where=f"{spec.name} {records[0].subset}/0")
    return OpenBenchmark(spec.name, adapter, changes, mode, records, _image_folder(context), meta)


def open_member(
    spec: TaskSpec,
    changes: Mapping[str, Any],
    records: Sequence[PromptedRecord],
    traits: ModelTraits,
    options: AdapterRunOptions,
    context: OpenContext,
) -> OpenBenchmark:
    """Open a benchmark of a collection with prompts that were made before: only its code is loaded, and no data.

    Args:
        spec: Its own spec.
        changes: The run's changes to the registration.
        records: The records of the whole collection.
        traits: The model's.
        options: The run's options for adapters.
        context: The run's settings.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
    """
    meta = load_meta(spec)
    adapter, mode = _make_adapter(meta, changes, traits, options, context.parity)
    return OpenBenchmark(DataCollection.NAME, adapter, changes, mode, records, _image_folder(context), meta)


def make_all_prompts(
    spec: TaskSpec, changes: Mapping[str, Any], context: OpenContext
) -> dict[str, list[dict[str, Any]]]:
    """The prompts of all records of a benchmark by subset, outside of any run.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its data is missing.
    """
    meta = load_meta(spec)
    options = AdapterRunOptions(dataset_args={meta.name: dict(changes)})
    with GUEST_LOCK, contained(), authors_code(PlanError, f"Making the adapter of benchmark {meta.name!r}"):
        adapter = meta.get_data_adapter(_changed_meta(meta, options, context))
    return {name: list(prompts) for name, prompts in _make_prompts(meta, adapter, options, context).items()}


def load_lines(spec: TaskSpec, options: AdapterRunOptions, context: OpenContext) -> tuple[Any, str]:
    """Return the content that the adapter of a collection loads, and the file or dataset that it comes from.

    Raises:
        PlanError: if its code cannot be loaded.
        DataError: if its file is missing or broken.
    """
    meta = load_meta(spec)
    changes = _changed_meta(meta, options, context)
    with GUEST_LOCK, contained(), authors_code(PlanError, f"Making the adapter of benchmark {meta.name!r}"):
        adapter = meta.get_data_adapter(changes)
    adapter.run_dataset_hub = options.dataset_hub
    hub = options.dataset_hub or HubType.MODELSCOPE
    with (
        GUEST_LOCK,
        contained(),
        guest_context_with(data=context.data, cache_dir=context.cache_dir),
        authors_code(DataError, f"Loading the data of benchmark {meta.name!r}"),
    ):
        lines = adapter.load(work_dir=work_dir(options, context), datasets_hub=hub)
    return lines, str(adapter.dataset_id)


def _image_folder(context: OpenContext) -> Path:
    return (context.cache_dir or Path(tempfile.gettempdir()) / "polymeter") / "generated_images"


def load_meta(spec: TaskSpec) -> BenchmarkMeta:
    """Return the registration of a benchmark. Runs the file, unless the user has run it himself.

    Raises:
        PlanError: if the file fails to load, needs a package that is not installed, or registers no such name.
    """
    return load_registered(BENCHMARK_MAPPINGS, spec, supplied_names, "Benchmark.register")


def _changed_meta(meta: BenchmarkMeta, options: AdapterRunOptions, context: OpenContext) -> dict[str, Any]:
    """Return this run's changes to the registration; settings for this benchmark win over general ones."""
    changes: dict[str, Any] = {}
    if context.num_fewshot is not None:
        changes["few_shot_num"] = context.num_fewshot
    if context.system_prompt:
        changes["system_prompt"] = context.system_prompt
    changes |= options.dataset_args.get(meta.name, {})
    ids = (str(changes.get("dataset_id", meta.dataset_id)), *mirrors_of(meta))
    local_files = next((context.data[one] for one in ids if one in context.data), None)
    if local_files is not None and not changes.get("local_path"):
        if not Path(local_files).expanduser().exists():
            raise DataError(f"--data {meta.dataset_id}={local_files}: there is no such file or folder.")
        changes["local_path"] = local_files
    return changes


def _make_adapter(
    meta: BenchmarkMeta, changes: Mapping[str, Any], traits: ModelTraits, options: AdapterRunOptions, parity: Parity
) -> tuple[DataAdapter, Mode]:
    """Make the adapter, and choose its mode. The adapter receives the mode that is in use (with parity, the one it asks
    for).
    """
    with (
        GUEST_LOCK,
        contained(),
        loading_sources(),
        authors_code(PlanError, f"Making the adapter of benchmark {meta.name!r}"),
    ):
        adapter = meta.get_data_adapter(changes)
    home = file_of(type(adapter))
    if home and not type(adapter).__module__.startswith("polymeter."):
        add_sources(files_behind([Path(home)]))  # a script may have put its own class into a registration
    mode = choose_mode(
        meta.name,
        str(adapter.model_adapter or OutputType.GENERATION),
        adapter.output_types,
        traits,
        options.eval_type,
        is_wanted_by_run="model_adapter" in changes,
        parity=parity,
    )
    adapter.model_adapter = mode.told
    adapter.run_dataset_hub = options.dataset_hub
    adapter.run_mirrors = mirrors_of(meta) if "dataset_id" not in changes else ()
    Filter.check(list(adapter.config_kwargs.get("filters") or {}))
    if type(adapter).compute_metric is DataAdapter.compute_metric:
        for name in adapter.metric_list:
            metric_registry.get(name)
    return adapter, mode


def _make_prompts(
    meta: BenchmarkMeta, adapter: DataAdapter, options: AdapterRunOptions, context: OpenContext
) -> Mapping[str, list[Any]]:
    """The prompts of all records by subset. Every record is prompted before a limit takes the first ones, so that what
    an author draws at random does not depend on the limit.
    """
    unknown = unknown_subsets(meta, options.dataset_args.get(meta.name, {}).get("subset_list"))
    hub = options.dataset_hub or HubType.MODELSCOPE
    with (
        GUEST_LOCK,
        contained(),
        seeded(context.seed),
        guest_context_with(data=context.data, cache_dir=context.cache_dir),
    ):
        try:
            with authors_code(DataError, f"Loading the data of benchmark {meta.name!r}"):
                data = adapter.load(work_dir=work_dir(options, context), datasets_hub=hub)
        except PolymeterError as error:
            if unknown:
                raise no_subset(meta, unknown) from error
            raise
        with (
            loading_sources(is_data=lambda path: is_of_row(path, "")),
            authors_code(PlanError, f"Making the prompts of benchmark {meta.name!r}"),
        ):
            prompts: Mapping[str, list[Any]] = adapter.gen_prompts(data_dict=data)
    missing = [name for name in unknown if not prompts.get(name)]
    if missing:
        raise no_subset(meta, missing, [name for name, of_subset in prompts.items() if of_subset])
    return prompts


def _limited(prompts: Mapping[str, list[Any]], limit: float | None) -> Iterator[PromptedRecord]:
    """The first records of each subset: a count, or below 1 a share that is rounded down."""
    for subset, of_subset in prompts.items():
        n = len(of_subset) if limit is None else int(limit) if limit >= 1 else int(len(of_subset) * limit)
        for index, prompt in enumerate(of_subset[:n]):
            record = prompt.get("raw_input") if isinstance(prompt, dict) else None
            if isinstance(prompt, dict):
                prompt["index"] = index
            yield PromptedRecord(str(subset), index, prompt, record)
