"""Compiling a task: its code is loaded, its parts are put together for a model, and a first row is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from polymeter.core.content import Modality
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.request import RequestKind
from polymeter.core.settings.needs import Needs
from polymeter.core.task import ReadingRules, Sample, Task, TaskSpec
from polymeter.data import mapped_anew
from polymeter.guests import contained
from polymeter.reading.reasoning import parse_tags, tags_in_force
from polymeter.tasks.yaml.config import config_of
from polymeter.tasks.yaml.extensions import check_code_needs, class_task
from polymeter.tasks.yaml.files.dialects import Dialect
from polymeter.tasks.yaml.files.load import field_locator
from polymeter.tasks.yaml.findings import ShownRows, findings
from polymeter.tasks.yaml.outputs import image_targets
from polymeter.tasks.yaml.outputs.choice_rows import choice_orders
from polymeter.tasks.yaml.outputs.generation import compile_generation
from polymeter.tasks.yaml.outputs.image_targets import IMAGES
from polymeter.tasks.yaml.outputs.images import compile_images
from polymeter.tasks.yaml.outputs.lettered import compile_lettered, lettered_parts
from polymeter.tasks.yaml.outputs.likelihoods import compile_choices, compile_likelihood
from polymeter.tasks.yaml.outputs.output_types import CompileOutput, CompileSetup, Provenance
from polymeter.tasks.yaml.outputs.right_choices import (
    RightChoices,
    check_targets,
    right_choices,
)
from polymeter.tasks.yaml.outputs.rounds import AGENTIC, MULTI_ROUND, check_rounds, compile_agentic, compile_multi_round
from polymeter.tasks.yaml.outputs.visual_cot import VISUAL_COT, can_draw, compile_visual_cot
from polymeter.tasks.yaml.outputs.with_tools import WITH_TOOLS, compile_with_tools, task_environment
from polymeter.tasks.yaml.pieces import Parts, check_fields, check_images, is_table, yaml_parts
from polymeter.tasks.yaml.prompts.misspelt import (
    reads_target,
    refuse_misspelt_columns,
    refuse_unread_columns,
)
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder, make_prompt, media_folders
from polymeter.tasks.yaml.prompts.rows import RowSamples, full_row, tried
from polymeter.tasks.yaml.prompts.target_cells import target_cells
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.metrics import shadowed_names
from polymeter.tasks.yaml.scoring.readings import reads_answers
from polymeter.tasks.yaml.settings import (
    config_at_parity,
    config_for_run,
    keep_answers,
    read_run_options,
    traits_for_run,
)
from polymeter.tasks.yaml.task_code import load_task_code

_LIKELIHOODS = ("multiple_choice", "loglikelihood")
_OUTPUT_TYPES: Mapping[str, CompileOutput] = {
    "generate_until": compile_generation,
    "multiple_choice": compile_choices,
    "loglikelihood": compile_likelihood,
    MULTI_ROUND: compile_multi_round,
    AGENTIC: compile_agentic,
    VISUAL_COT: compile_visual_cot,
    WITH_TOOLS: compile_with_tools,
    IMAGES: compile_images,
}


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext, dialect: Dialect) -> Task:
    """The task for a model with these traits. Runs its authors' code.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its dataset is missing, empty, or lacks a column.
    """
    # The configuration for this run. Mistakes that show without running code are reported first.
    options = read_run_options(context.options)
    config, traits = config_for_run(config_of(spec), options), traits_for_run(traits, options)
    config = config_at_parity(config, spec.config, context.parity)
    spec = replace(spec, version=config.version)
    prompt_key = context.prompt_key or traits.family
    locate = field_locator(spec, dialect)
    check_fields(config, locate)
    environment = task_environment(config, locate)
    check_images(config, context, locate)
    if not options.predict_only:
        check_code_needs(spec, context.parity)

    # Its parts. From here on the author's code runs; a class may change its own configuration.
    read = yaml_parts if config.class_ is None else class_task(config, locate)
    has_code = load_task_code(spec)
    with mapped_anew(spec.sources if config.class_ is not None else ()):
        parts = read(spec, config, context, prompt_key, locate)
    config = parts.config
    check_images(config, context, locate)
    check_rounds(parts)
    spec = replace(spec, runs_generated_code=config.unsafe_code or any(metric.runs_code for metric in parts.metrics))
    is_lettered = context.is_mcq_text and config.output_type == "multiple_choice"
    notes: tuple[str, ...] = ()
    if is_lettered:
        parts, notes = lettered_parts(parts)

    # Its prompt, tried on a row so that a mistake shows before anything is spent.
    split = config.eval_split or ""
    samples = RowSamples(spec.name, parts.rows.measured, config.cluster_key)
    prompt = make_prompt(parts, spec, traits, context)
    if not context.is_begun:
        refuse_misspelt_columns(parts, spec.file.parent, is_text_read=prompt.messages_form is None)
        if not options.predict_only:
            refuse_unread_columns(parts, code_files(spec))
    cells = target_cells(parts, context.parity, is_compared=not options.predict_only and reads_target(parts))
    with contained():
        right = None if options.predict_only else right_choices(parts)
        modalities = tried(samples, lambda sample: _try_row(sample, prompt, parts, right))
        if not options.predict_only and not context.is_begun:
            check_targets(parts, prompt, samples, cells, context)
    shown = ShownRows(spec, parts, prompt, samples, modalities, cells)
    found = findings(shown, context, is_scored=not options.predict_only, is_lettered=is_lettered)
    metadata = {"task": spec.name, "split": split, "repeats": config.repeats, **config.metadata}
    own_tags = parse_tags(config.reasoning_tags, parts.binding.where("reasoning_tags"))
    tags = tags_in_force(own_tags, context.reasoning_tags, traits.reasoning_tags)
    setup = CompileSetup(
        spec=spec,
        parts=parts,
        samples=samples,
        prompt=prompt,
        provenance=Provenance(spec.name, split, metadata, context.seed, tags),
        scorer=keep_answers if options.predict_only else parts.scorer,
        traits=traits,
        prompt_key=prompt_key,
        plan_settings=context.generation,
        parity=context.parity,
        target_cells=cells,
    )
    functions = compile_lettered(setup) if is_lettered else _compile_output(parts)(setup)

    return Task(
        spec=spec,
        needs=Needs(
            frozenset({"generate"}) if is_lettered else _requests(config.output_type, traits),
            modalities,
            has_tools=environment is not None,
            are_prompts_unknown=traits.has_own_prompts,
        ),
        samples=samples,
        rollout=cells.asking_if_present(functions.rollout),
        score=functions.score,
        reduce=functions.reduce,
        row_functions=prompt.row_functions(samples),
        parameters=functions.parameters,
        fingerprint=f"{parts.rows.measured.fingerprint}:{config.eval_split}",
        score_digest=_score_digest(spec, parts),
        # What a user registers elsewhere (--import) is a guest too, in a task that has no code of its own.
        is_guest=has_code or any(metric.is_guest_score for metric in parts.metrics),
        is_thread_safe=config.metadata.get("thread_safe") is True,
        batch_size=config.own_batch_size,
        num_fewshot=int(config.metadata.get("num_fewshot", parts.n_fewshot)),
        reading=_reading(setup, is_lettered=is_lettered),
        keeps_answers_only=options.predict_only,
        findings=found,
        prompt_place=_prompt_place(spec, parts),
        repeats=config.repeats,
        has_rounds=config.output_type in (MULTI_ROUND, AGENTIC, WITH_TOOLS),
        environment=environment,
        showing=config.showing,
        media_folders=media_folders(config, spec, context.data),
        notes=(
            *notes,
            *shadowed_names(config, code_files(spec)),
            *image_targets.notes(config.task, parts.metrics),
        ),
        choice_orders=partial(choice_orders, setup, is_lettered=is_lettered),
    )


def _prompt_place(spec: TaskSpec, parts: Parts) -> str:
    """Return where the form of the prompts is written; empty for a table that is a task by itself."""
    field = "doc_to_text" if parts.messages is None else "doc_to_messages"
    return "" if is_table(spec.file) else parts.binding.where(field)


def _reading(setup: CompileSetup, *, is_lettered: bool) -> ReadingRules:
    """Return the rules for reading answers. Code that asks again with an answer, or makes requests itself, gets it
    whole; the part that metrics found by name score is read then.
    """
    parts, tags = setup.parts, setup.provenance.reasoning_tags
    makes_requests = parts.compile_output is not None or parts.config.output_type in (MULTI_ROUND, AGENTIC)
    is_read = is_lettered or reads_answers(setup)
    return ReadingRules(tags, is_separated=is_read and not makes_requests, is_scored_apart=is_read and makes_requests)


def _compile_output(parts: Parts) -> CompileOutput:
    # Images are requested in one way only, so what a class constructs does not apply to them.
    if parts.compile_output is None or parts.config.output_type == IMAGES:
        return _OUTPUT_TYPES[parts.config.output_type]
    return parts.compile_output


def _requests(output_type: str, traits: ModelTraits) -> frozenset[RequestKind]:
    """The kinds of request that a model must answer."""
    if output_type == VISUAL_COT and can_draw(traits):
        return frozenset({"generate", "generate_image"})
    if output_type == IMAGES:
        return frozenset({"generate_image"})
    return frozenset({"loglikelihood"}) if output_type in _LIKELIHOODS else frozenset({"generate"})


def _try_row(sample: Sample, prompt: PromptBuilder, parts: Parts, right: RightChoices | None) -> frozenset[Modality]:
    """Try the task's forms on a row; returns the modalities that a model must take."""
    row = prompt.row(sample)
    if parts.config.output_type == IMAGES:
        _try_image_targets(sample, parts)
    else:
        parts.target(row)
    if parts.choices is not None:
        parts.choices(row)
    if right is not None:
        right.of(sample, row)
    prompt.messages(sample)
    return prompt.modalities(sample)


def _try_image_targets(sample: Sample, parts: Parts) -> None:
    # Reading targets opens images, so it is done only where a metric compares with them.
    compared = [metric for metric in parts.metrics if parts.scorer is None or metric.of_sets is not None]
    if any(metric.reference is not None for metric in compared):
        targets = parts.target(full_row(sample))
        image_targets.check_targets(compared, targets, parts.config.task, parts.binding.where)


def _score_digest(spec: TaskSpec, parts: Parts) -> str:
    versions = [
        (metric.name, metric.version, metric.aggregation.name if metric.aggregation else "") for metric in parts.metrics
    ]
    binding, written = parts.binding, parts.rows.measured.written_fingerprint
    # Targets and choices depend on the model-specific blocks.
    settings = [spec.source_hash, versions, repr(binding.target_kwargs), repr(binding.prompt_kwargs)]
    # How cells are written is not in the values that identify the rows.
    return fingerprint([*settings, written] if written else settings)
