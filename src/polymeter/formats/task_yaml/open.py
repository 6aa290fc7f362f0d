"""Opening a task: its code is loaded, its parts are put together and bound to the model, and a first row is tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.parts import Modality, Text
from polymeter.core.request import Message, RequestKind
from polymeter.core.task import Needs, Sample, Task, TaskSpec
from polymeter.formats.task_yaml import blocks, forms, pictures
from polymeter.formats.task_yaml.config import TaskConfig
from polymeter.formats.task_yaml.drawing import DrawingTask
from polymeter.formats.task_yaml.fewshot import fewshot_prefix
from polymeter.formats.task_yaml.filters import readings
from polymeter.formats.task_yaml.generation import plan_generation, plan_images
from polymeter.formats.task_yaml.index import function_refs
from polymeter.formats.task_yaml.load import config_of, provenance
from polymeter.formats.task_yaml.metrics import shadowed_names
from polymeter.formats.task_yaml.parts import Parts, count_fewshot, yaml_parts
from polymeter.formats.task_yaml.prompt import Prompt, full_row
from polymeter.formats.task_yaml.reasoning import make_stripper, parse_tags
from polymeter.formats.task_yaml.registration import code_files
from polymeter.formats.task_yaml.rounds import AgenticTask, MultiRoundTask
from polymeter.formats.task_yaml.run_options import configured, keep_answers, read_run_options, traits_for
from polymeter.formats.task_yaml.samples import RowSamples
from polymeter.formats.task_yaml.scoring import Scorer, default_scorer
from polymeter.formats.task_yaml.task import ChoiceTask, GenerationTask, Identity, OwnChoiceTask, YamlTask
from polymeter.formats.task_yaml.visual_cot import VisualCotTask, can_draw
from polymeter.formats.task_yaml.visuals import column_visuals
from polymeter.guests import contained, load_file, resolve
from polymeter.guests.shims import switch_on_shims
from polymeter.interop.lmms_eval.tasks.class_parts import class_parts
from polymeter.interop.lmms_eval.tasks.instances import InstanceTask

METRICS_FILE = "metrics.py"
_LIKELIHOODS = ("multiple_choice", "loglikelihood")
_REGISTERS = re.compile(r"^\s*@(?:\w+\.)*register_(?:metric|aggregation|filter)\b", re.MULTILINE)
_PROBES = 3


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The task for a model with these traits. Runs its authors' code.

    Raises:
        PlanError: Its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: Its dataset is missing, empty, or lacks a column.
    """
    told = read_run_options(context.options)
    config, traits = configured(config_of(spec), told), traits_for(traits, told)
    where = _Where(spec)
    _refuse_unknown(config, where)
    _refuse_images(config, context, where)
    is_guest = _load_guests(spec)
    key = context.prompt_key or traits.family
    parts = (class_parts if config.class_ is not None else yaml_parts)(spec, config, context, key, where)
    _refuse_images(parts.config, context, where)
    kind = _kind(parts)
    prompt = _prompt(parts, traits, context, spec.source_hash)
    samples = RowSamples(spec.name, parts.data.rows, parts.config.cluster_key)
    with contained():
        modalities = _probe(samples, prompt, parts)
    identity = Identity(
        needs=Needs(_asks(parts, traits), modalities, are_prompts_unknown=traits.has_own_prompts),
        is_guest=is_guest,
        is_thread_safe=parts.config.metadata.get("thread_safe") is True,
        fingerprint=f"{parts.data.rows.fingerprint}:{parts.config.eval_split}",
        score_digest=_score_digest(spec, parts),
        num_fewshot=int(parts.config.metadata.get("num_fewshot", parts.n_fewshot)),
        notes=(*shadowed_names(parts.config, code_files(spec)), *pictures.notes(parts.config.task, parts.metrics)),
    )
    made = kind, (spec, parts.config, identity, samples, prompt, parts.metrics, parts.target, context.seed)
    if parts.config.output_type == pictures.IMAGES:
        return _drawing_task(parts, made[1], context, key, where).as_task()
    scorer = keep_answers if told.predict_only else parts.scorer
    if parts.config.output_type in _LIKELIHOODS and parts.construct is None:
        return _choice_task(parts, made[1], scorer).as_task()
    return _generation_task(parts, made, scorer, traits, context, key, where).as_task()


def _choice_task(parts: Parts, made: tuple[Any, ...], scorer: Scorer | None) -> YamlTask:
    kind = ChoiceTask if scorer is None else OwnChoiceTask
    task = kind(*made)
    task.bind(parts.text, parts.choices if parts.config.output_type == "multiple_choice" else None)
    return task.bind_scorer(scorer) if isinstance(task, OwnChoiceTask) and scorer is not None else task


def _drawing_task(
    parts: Parts, made: tuple[Any, ...], context: OpenContext, key: str, where: Callable[[str], str]
) -> YamlTask:
    config = parts.config
    block = blocks.generation_kwargs(config.model_specific_generation_kwargs, key)
    plan = plan_images(config.generation_kwargs, block, context.generation, where("generation_kwargs"))
    return DrawingTask(*made).bind(plan, parts.scorer)


def _generation_task(
    parts: Parts,
    made: tuple[type[GenerationTask], tuple[Any, ...]],
    scorer: Scorer | None,
    traits: ModelTraits,
    context: OpenContext,
    key: str,
    where: Callable[[str], str],
) -> YamlTask:
    config = parts.config
    generation = plan_generation(
        config.generation_kwargs,
        blocks.generation_kwargs(config.model_specific_generation_kwargs, key),
        context.generation,
        is_completion=traits.is_completion,
        where=where("generation_kwargs"),
    )
    strip = make_stripper(parse_tags(config.reasoning_tags, where("reasoning_tags")))
    steps = readings(
        config.filter_list,
        task=config.task,
        where=where("filter_list"),
        strips_thinking=config.auto_strip_thinking,
        sources=code_files(made[1][0]),
    )
    task = made[0](*made[1])
    task.bind(
        generation,
        steps,
        strip if isinstance(task, MultiRoundTask) else lambda value: _bare(strip(value)),
        scorer or default_scorer(parts.metrics, parts.target, parts.choices),
        has_own_scorer=scorer is not None,
    )
    if isinstance(task, MultiRoundTask):
        return task.bind_rounds(parts.rounds, is_driven_by_model=traits.drives_rounds)
    if isinstance(task, AgenticTask):
        return task.bind_steps(parts.rounds)
    if isinstance(task, VisualCotTask):
        return task.bind_stages(traits)
    if isinstance(task, InstanceTask):
        assert parts.construct is not None
        return task.bind_construct(parts.construct, context.generation, is_completion=traits.is_completion)
    return task


def _kind(parts: Parts) -> type[GenerationTask]:
    if parts.construct is not None:
        return InstanceTask
    kinds: dict[str, type[GenerationTask]] = {
        "generate_until_multi_round": MultiRoundTask,
        "generate_until_agentic": AgenticTask,
        "generate_visual_cot": VisualCotTask,
    }
    kind = kinds.get(parts.config.output_type, GenerationTask)
    has_rounds = parts.rounds.text is not None or (kind is MultiRoundTask and parts.rounds.messages is not None)
    if kind in (MultiRoundTask, AgenticTask) and not has_rounds:
        raise PlanError(
            f"Task {parts.config.task!r} is {parts.config.output_type}, but its doc_to_text takes no rounds.",
            where=parts.binding.where("doc_to_text"),
            hint="Give it the parameters previous_output, round_idx and previous_round_info.",
        )
    return kind


def _asks(parts: Parts, traits: ModelTraits) -> frozenset[RequestKind]:
    kind = parts.config.output_type
    if kind == "generate_visual_cot" and can_draw(traits):
        return frozenset({"generate", "generate_image"})
    if kind == pictures.IMAGES:
        return frozenset({"generate_image"})
    return frozenset({"loglikelihood"}) if kind in _LIKELIHOODS else frozenset({"generate"})


class _Where:
    """``file:line`` of a field, looked up only when a message needs it."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec
        self._known: dict[str, str] | None = None

    def __call__(self, key: str) -> str:
        if self._known is None:
            self._known = provenance(self._spec) if self._spec.file.is_file() else {}
        return self._known.get(key, str(self._spec.file))


def _load_guests(spec: TaskSpec) -> bool:
    """Load the task's modules, for what they register as well; whether there are any."""
    switch_on_shims()
    refs = list(function_refs(dict(spec.config)))
    for ref in refs:
        resolve(ref)
    beside = spec.file.parent / METRICS_FILE
    has_metrics = registers(beside)
    if has_metrics:
        with contained(), boundary(PlanError, f"Loading {METRICS_FILE} of task {spec.name!r}"):
            load_file(beside)
    return bool(refs) or has_metrics


def registers(file: Path) -> bool:
    """Whether a file is there that registers metrics, aggregations or filters, by its text."""
    return file.is_file() and _REGISTERS.search(file.read_text(encoding="utf-8", errors="replace")) is not None


def _refuse_images(config: TaskConfig, context: OpenContext, where: Callable[[str], str]) -> None:
    if config.output_type == pictures.IMAGES:
        n_fewshot = count_fewshot(config, context)
        pictures.check_config(config.model_copy(update={"num_fewshot": n_fewshot}), where)


def _refuse_unknown(config: TaskConfig, where: Callable[[str], str]) -> None:
    if config.class_ is not None:
        return
    if config.dataset_path is None:
        raise PlanError(f"Task {config.task!r} names no dataset_path.", where=where("task"))
    if config.eval_split is None:
        raise PlanError(f"Task {config.task!r} names neither a test_split nor a validation_split.", where=where("task"))
    if config.output_type == "multiple_choice" and config.doc_to_choice is None:
        raise PlanError(
            f"Task {config.task!r} is multiple choice but has no doc_to_choice.", where=where("output_type")
        )
    if config.doc_to_text is None and config.doc_to_messages is None:
        raise PlanError(f"Task {config.task!r} has neither doc_to_text nor doc_to_messages.", where=where("task"))


def _prompt(parts: Parts, traits: ModelTraits, context: OpenContext, source_hash: str) -> Prompt:
    config, rows, column = parts.config, parts.data.rows, parts.visual_column
    is_whole = config.class_ is None and config.doc_to_text is None
    takes_messages = parts.messages is not None and (traits.kind == "chat" or is_whole)

    return Prompt(
        fingerprint=f"{rows.fingerprint}:{source_hash[:12]}",
        text_form=parts.text,
        choice_form=parts.choices,
        description=forms.description_form(config.description, parts.binding),
        column_visuals=column_visuals(rows, column) if column is not None else None,
        visual_form=None if column is not None else parts.visual,
        messages_form=parts.messages if takes_messages else None,
        target_form=parts.target,
        next_round=parts.rounds.text or (lambda doc, **_: parts.text(doc)),
        next_messages=parts.messages,
        system=(Message("system", (Text(context.system_prompt),)),) if context.system_prompt else (),
        sees_media=config.process_results_use_image or config.output_type == "generate_until_multi_round",
        fewshot=fewshot_prefix(parts, context.seed) if parts.n_fewshot else None,
        has_own=traits.has_own_prompts,
    )


def _probe(samples: RowSamples, prompt: Prompt, parts: Parts) -> frozenset[Modality]:
    """Try the task's forms on a row, so that a mistake in them shows before anything is spent; what a model must take.

    One odd row stops nothing: further ones are tried, and only when all fail the first failure is raised.
    """
    first_error: PolymeterError | None = None
    n = len(samples)
    for index in dict.fromkeys(round(i * (n - 1) / (_PROBES - 1)) for i in range(_PROBES)):
        sample: Sample = samples[index]
        try:
            row = prompt.row(sample)
            _try_target(sample, row, parts)
            if parts.choices is not None:
                parts.choices(row)
            prompt.messages(sample)
            return prompt.modalities(sample)
        except (DataError, ScoreError) as error:
            first_error = first_error or error
    assert first_error is not None
    raise PlanError(first_error.what, where=first_error.where, hint=first_error.hint) from first_error


def _try_target(sample: Sample, row: Any, parts: Parts) -> None:
    if parts.config.output_type != pictures.IMAGES:
        parts.target(row)
        return
    needed = [metric for metric in parts.metrics if parts.scorer is None or metric.of_sets is not None]
    if any(metric.reference is not None for metric in needed):
        found = parts.target(full_row(sample))
        pictures.check_targets(needed, found, parts.config.task, parts.binding.where)


def _bare(value: Any) -> Any:
    """Answers without blanks around them; no answer is an empty one."""
    if type(value) is str:
        return value.strip()
    if value is None:
        return ""
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _score_digest(spec: TaskSpec, parts: Parts) -> str:
    versions = [
        (metric.name, metric.version, metric.aggregation.name if metric.aggregation else "") for metric in parts.metrics
    ]
    binding = parts.binding
    return fingerprint([spec.source_hash, versions, repr(binding.target_kwargs), repr(binding.prompt_kwargs)])
