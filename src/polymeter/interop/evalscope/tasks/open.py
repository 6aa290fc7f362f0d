"""Opening a benchmark: its code is loaded, this run's settings are put into a copy of what it registers, its data is
read, and all its prompts are made.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.codec import jsonable
from polymeter.core.errors import DataError, PlanError, PolymeterError, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.identity import canonical, fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.parts import Modality
from polymeter.core.request import Loglikelihood, Origin, Parameters
from polymeter.core.task import Needs, Task, TaskSpec
from polymeter.guests import contained, seeded
from polymeter.guests.authors import authors_code
from polymeter.guests.imports import GUEST_LOCK
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.constants import HubType, OutputType
from polymeter.interop.evalscope.tasks.datasets import Shelf, fingerprint_of, loading_from
from polymeter.interop.evalscope.tasks.filters import Filter
from polymeter.interop.evalscope.tasks.generation import image_settings, text_settings
from polymeter.interop.evalscope.tasks.guest import load_meta
from polymeter.interop.evalscope.tasks.keeping import NoReduction, PredictionKeeper
from polymeter.interop.evalscope.tasks.modes import Mode, choose_mode
from polymeter.interop.evalscope.tasks.named_metrics import metric_registry
from polymeter.interop.evalscope.tasks.options import AdapterRunOptions, read_run_options
from polymeter.interop.evalscope.tasks.reduction import Reduction
from polymeter.interop.evalscope.tasks.registration import SETTABLE, BenchmarkMeta
from polymeter.interop.evalscope.tasks.requests import Asking, shape_problem
from polymeter.interop.evalscope.tasks.reviewing import Reviewer, needs_judge
from polymeter.interop.evalscope.tasks.task import AdapterTask, Identity, Prepared

_ANY_SUBSET = ["default"]
_LOOKED_AT = 16
_VERSION = 1


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark bound to a model. Runs its authors' code.

    Raises:
        PlanError: Its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: Its dataset is missing or empty.
    """
    told = read_run_options(context.options)
    meta = load_meta(spec)
    config = _config(meta, told, context)
    adapter, mode = _adapter(spec, meta, config, traits, told)
    prepared = _prepare(spec, meta, adapter, told, context)
    _check_prompts(spec, prepared, mode)
    asking = Asking(mode.output_type, *_ask(mode, context), context.system_prompt, _image_folder(context))
    has_judge = needs_judge(adapter, told.judge_strategy) and not told.predict_only
    is_analysed = told.analysis_report and not told.predict_only
    strategy = None if told.predict_only else told.judge_strategy
    settings = [_VERSION, strategy, told.judge_model_args if has_judge else None, mode.eval_type, mode.ask]
    identity = Identity(
        Needs(
            frozenset({mode.ask}),
            _modalities(asking, prepared),
            frozenset({"judge"}) if has_judge or is_analysed else frozenset(),
        ),
        fingerprint([fingerprint_of([item.record for item in prepared]), _digest_of_prompts(prepared)]),
        fingerprint([spec.source_hash, settings, _plain(adapter, config)]),
        int(adapter.few_shot_num or 0),
        tuple(_notes(spec, mode, told)),
    )
    reviewing, reducing = (PredictionKeeper, NoReduction) if told.predict_only else (Reviewer, Reduction)
    reviewer = reviewing(adapter, told.judge_strategy, mode.eval_type, _judge(told) if has_judge else None)
    reduction = reducing(spec.name, adapter, told.model_id, is_analysed=is_analysed)
    return AdapterTask(spec, identity, adapter, prepared, asking, reviewer, reduction, context.seed).as_task()


def _config(meta: BenchmarkMeta, told: AdapterRunOptions, context: OpenContext) -> dict[str, Any]:
    """What this run wants otherwise than the registration, the benchmark's own settings winning over general ones."""
    config: dict[str, Any] = {}
    if context.num_fewshot is not None:
        config["few_shot_num"] = context.num_fewshot
    if context.system_prompt:
        config["system_prompt"] = context.system_prompt
    config |= told.dataset_args.get(meta.name, {})
    place = context.data.get(str(config.get("dataset_id", meta.dataset_id)))
    if place is not None and not config.get("local_path"):
        if not Path(place).expanduser().exists():
            raise DataError(f"--data {meta.dataset_id}={place}: there is no such file or folder.")
        config["local_path"] = place
    return config


def _adapter(
    spec: TaskSpec, meta: BenchmarkMeta, config: Mapping[str, Any], traits: ModelTraits, told: AdapterRunOptions
) -> tuple[DataAdapter, Mode]:
    """The adapter, told how it is really asked."""
    doing = f"Making the adapter of benchmark {spec.name!r}"
    with GUEST_LOCK, contained(), authors_code(PlanError, doing):
        adapter = meta.get_data_adapter(config)
    wish = str(adapter.model_adapter or OutputType.GENERATION)
    is_told = "model_adapter" in config
    mode = choose_mode(spec.name, wish, adapter.output_types, traits, told.eval_type, is_told=is_told)
    adapter.model_adapter = mode.output_type
    Filter.check(list(adapter.config_kwargs.get("filters") or {}))
    if type(adapter).compute_metric is DataAdapter.compute_metric:
        for name in adapter.metric_list:
            metric_registry.get(name)
    return adapter, mode


def _prepare(
    spec: TaskSpec, meta: BenchmarkMeta, adapter: DataAdapter, told: AdapterRunOptions, context: OpenContext
) -> list[Prepared]:
    """All records with their prompts, subset after subset, as many of each as the limit leaves."""
    shelf = Shelf(context.data, context.cache_dir, told.dataset_hub)
    asked_for = told.dataset_args.get(spec.name, {}).get("subset_list")
    unknown = _unknown_subsets(meta, asked_for)
    work_dir, hub = _work_dir(told, context), told.dataset_hub or HubType.MODELSCOPE
    with GUEST_LOCK, contained(), seeded(context.seed), loading_from(shelf):
        try:
            with authors_code(DataError, f"Loading the data of benchmark {spec.name!r}"):
                data = adapter.load(work_dir=work_dir, datasets_hub=hub)
        except PolymeterError as error:
            if unknown:
                raise _no_subset(spec, meta, unknown) from error
            raise
        with authors_code(PlanError, f"Making the prompts of benchmark {spec.name!r}"):
            prompts = adapter.gen_prompts(data_dict=data)
    missing = [name for name in unknown if not prompts.get(name)]
    if missing:
        raise _no_subset(spec, meta, missing, [name for name, found in prompts.items() if found])
    return list(_limited(prompts, context.limit))


def _limited(prompts: Mapping[str, list[Any]], limit: float | None) -> Iterator[Prepared]:
    """The first records of each subset: a count, or below 1 a share that is rounded down."""
    for subset, found in prompts.items():
        n = len(found) if limit is None else int(limit) if limit >= 1 else int(len(found) * limit)
        for index, prompt in enumerate(found[:n]):
            record = prompt.get("raw_input") if isinstance(prompt, dict) else None
            if isinstance(prompt, dict):
                prompt["index"] = index
            yield Prepared(str(subset), index, prompt, record)


def _unknown_subsets(meta: BenchmarkMeta, asked_for: Any) -> list[str]:
    if not isinstance(asked_for, (list, tuple)) or meta.subset_list == _ANY_SUBSET:
        return []
    return [str(name) for name in asked_for if name not in meta.subset_list]


def _no_subset(spec: TaskSpec, meta: BenchmarkMeta, names: list[str], there: list[str] | None = None) -> PlanError:
    known = list(dict.fromkeys([*meta.subset_list, *(there or [])]))
    hint = did_you_mean(names[0], known) or f"It has: {', '.join(map(str, known[:20]))}."
    return PlanError(f"Benchmark {spec.name!r} has no subset {names[0]!r}.", where="subset_list", hint=hint)


def _check_prompts(spec: TaskSpec, prepared: list[Prepared], mode: Mode) -> None:
    if not prepared:
        raise DataError(
            f"Benchmark {spec.name!r} has no records in its subsets.",
            where=str(spec.file),
            hint="Check subset_list, eval_split and the limit.",
        )
    problem = shape_problem(prepared[0].prompt, mode.output_type)
    if problem:
        raise PlanError(problem, where=f"{spec.name} {prepared[0].subset}/0")


def _digest_of_prompts(prepared: list[Prepared]) -> str:
    """What is asked, since prompts may be made of files that lie beside the code."""
    state = hashlib.blake2b(digest_size=16)
    for item in prepared:
        prompt = {key: jsonable(value) for key, value in item.prompt.items() if key != "raw_input"}
        state.update(json.dumps([item.subset, prompt], sort_keys=True).encode())
    return state.hexdigest()


def _ask(mode: Mode, context: OpenContext) -> tuple[Parameters, int]:
    if mode.ask == "loglikelihood":
        return Loglikelihood(()), 1
    if mode.ask == "generate_image":
        return image_settings(context.generation)
    return text_settings(context.generation, mode.eval_type)


def _modalities(asking: Asking, prepared: list[Prepared]) -> frozenset[Modality]:
    """What the first prompts show to the model."""
    found: set[Modality] = {"text"}
    for item in prepared[:_LOOKED_AT]:
        if item.prompt.get("messages"):
            for request in asking.requests(item.prompt, Origin("", "")):
                found.update(part.modality for message in request.messages for part in message.parts)
    return frozenset(found)


def _notes(spec: TaskSpec, mode: Mode, told: AdapterRunOptions) -> Iterator[str]:
    if mode.note:
        yield mode.note
    for key in told.dataset_args.get(spec.name, {}):
        near = did_you_mean(key, SETTABLE) if key not in (*SETTABLE, "dataset_id", "local_path") else ""
        if near:
            yield f"dataset_args of {spec.name!r}: {key!r} reaches the adapter as it is. {near}"


def _plain(adapter: DataAdapter, config: Mapping[str, Any]) -> dict[str, Any]:
    """What of an adapter's settings can change a score, as plain data."""
    told = {**config, "filters": adapter.config_kwargs.get("filters"), "metric_list": adapter.metric_list}
    told.pop("local_path", None)
    return {key: _canonical(value) for key, value in told.items()}


def _canonical(value: Any) -> Any:
    try:
        return canonical(value)
    except TypeError:
        return type(value).__qualname__


def _judge(told: AdapterRunOptions) -> Any:
    from polymeter.judge import LLMJudge

    return LLMJudge(**told.judge_model_args)


def _work_dir(told: AdapterRunOptions, context: OpenContext) -> str:
    if told.dataset_dir:
        return str(Path(told.dataset_dir).expanduser())
    from polymeter.interop.evalscope.tasks import constants

    return str(context.cache_dir / "modelscope") if context.cache_dir else constants.DEFAULT_DATASET_CACHE_DIR


def _image_folder(context: OpenContext) -> Path:
    return (context.cache_dir or Path(tempfile.gettempdir()) / "polymeter") / "generated_images"
