"""Compiling one of lm-eval's tasks: its code is loaded, its rows are opened, and a few of them are tried."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from polymeter.core.errors import UnfitError
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import Parity
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.request import Loglikelihood, Tags
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders
from polymeter.core.settings.needs import Needs
from polymeter.core.task import ReadingRules, Rollout, RolloutSteps, Sample, Samples, Score, Task, TaskSpec
from polymeter.data import Rows, mapped_anew
from polymeter.guests import contained
from polymeter.interop.lm_eval.tasks.asking import Asking, ask, modalities
from polymeter.interop.lm_eval.tasks.config import (
    GENERATE,
    MOST_TOKENS,
    MULTIPLE_CHOICE,
    LmTaskConfig,
    check_config,
    config_of,
)
from polymeter.interop.lm_eval.tasks.contexts.examples import ShownTask, example_notes, examples, repeated_notes
from polymeter.interop.lm_eval.tasks.contexts.prompts import Contexts
from polymeter.interop.lm_eval.tasks.docs import open_docs, wanted_samples
from polymeter.interop.lm_eval.tasks.fields import FieldFunctions, bind_fields, count_inputs
from polymeter.interop.lm_eval.tasks.instances import InstanceMaker, choice_delimiter
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import LmEvalScorer, TaskFacts, answers_only, make_scorer
from polymeter.interop.lm_eval.tasks.scoring.metrics import metric_names
from polymeter.interop.lm_eval.tasks.scoring.reduction import reduce
from polymeter.interop.lm_eval.tasks.settings import (
    LmRunOptions,
    check_way,
    fewshot_count,
    read_run_options,
    run_metadata,
)
from polymeter.reading.reasoning import REASONING_TAGS
from polymeter.tasks.choices.rows import RowForms, RowOrders
from polymeter.tasks.constant_targets import constant_target, equal_targets
from polymeter.tasks.yaml.extensions import check_code_needs
from polymeter.tasks.yaml.files.dialects import Dialect, Locate
from polymeter.tasks.yaml.files.load import field_locator
from polymeter.tasks.yaml.outputs.output_types import Provenance
from polymeter.tasks.yaml.outputs.right_choices import equal_choices
from polymeter.tasks.yaml.prompts.rows import full_row, is_written, tried
from polymeter.tasks.yaml.task_code import load_task_code

_LOOKED_AT = 2000
_MUTUAL = "acc_mutual_info"


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext, dialect: Dialect) -> Task:
    """The task for a model with these traits. Runs its authors' code.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its dataset is missing or empty.
    """
    options = read_run_options(context)
    if options.is_chat and traits.is_completion and not traits.is_foreign:  # a wrapped model renders chats itself
        raise UnfitError(
            "apply_chat_template is set, and the model has no chat template: it continues text.",
            where="dialect_options lm_eval",
            hint="Leave it out, choose a chat model, or give hf a template with --model-args chat_template=FILE.",
        )
    if "class" in spec.config:
        from polymeter.interop.lm_eval.tasks.classes.class_task import compile_class

        with mapped_anew(spec.sources):
            return compile_class(spec, traits, context, options)
    config, locate = config_of(spec), field_locator(spec, dialect)
    check_config(config, locate)
    if config.output_type == MULTIPLE_CHOICE:
        check_way(context, spec.name, locate("output_type"))
    if not options.predict_only:
        check_code_needs(spec, context.parity)
    has_code = load_task_code(spec)
    n_fewshot = fewshot_count(config, context)
    docs = open_docs(spec, config, context, options, n_fewshot, locate)
    rows = docs.measured
    samples = wanted_samples(spec, rows, options)
    is_ours = is_written(spec, as_read=context.parity.on("written-rows"))
    fields = bind_fields(config, rows.columns, locate, has_blanks=rows.has_blanks or is_ours, is_written=is_ours)
    sees_media = bool(rows.media) and (has_code or config.doc_to_image is not None or config.doc_to_audio is not None)
    with contained():
        n_inputs, n_targets = tried(samples, partial(_counts, fields, sees_media))
    facts = TaskFacts(fields, n_inputs, n_targets)
    # Answers alone need no metric, and so none of what metrics need.
    scorer = None if options.predict_only else make_scorer(spec, config, facts, context.parity)
    shown = ShownTask(
        *(config, docs, samples, 0 if options.samples.get(spec.name) else context.offset),
        *(n_fewshot, bool(n_inputs), is_ours),
    )
    contexts = _contexts(spec, shown, fields, context, options, locate)
    instances = _instances(config, contexts, sees_media=sees_media)
    asking = _asking(spec, config, context, options, rows, locate("generation_kwargs"))
    with contained():
        shown_modalities = tried(samples, lambda sample: modalities(instances.of(sample)))
    is_generated = config.output_type == GENERATE
    notes = example_notes(shown, context) if n_fewshot else []
    notes += repeated_notes(contexts.examples, context.measured(len(samples)))
    findings = [LintFinding("media-folder", note, spec.name, locate("dataset_path")) for note in docs.notes]
    if is_ours:
        findings += _equal_choices(config, fields, samples, locate)
    if not (has_code or options.predict_only):
        targets = equal_targets(samples, lambda sample: fields.target(sample.full_doc()))
        where = locate("doc_to_target")
        findings += constant_target(spec.name, where, targets, len(samples), has_choices=fields.has_choices)
    return Task(
        spec=spec,
        needs=Needs(frozenset({"generate" if is_generated else "loglikelihood"}), shown_modalities),
        samples=samples,
        rollout=partial(_rollout, asking, instances),
        score=partial(_score, scorer, instances),
        reduce=partial(reduce, scorer=scorer) if scorer is not None else lambda rows, context: [],
        row_functions=_row_functions(contexts, samples),
        parameters=(asking.settings(instances.generation_kwargs)[1] if is_generated else Loglikelihood(()),),
        fingerprint=f"{rows.fingerprint}:{config.eval_split}",
        score_digest=fingerprint(
            [
                *(spec.source_hash, scorer.digest if scorer is not None else None, bool(n_inputs), bool(n_targets)),
                # How cells are written is not in the values that identify the rows.
                *([rows.written_fingerprint] if rows.written_fingerprint else []),
            ]
        ),
        is_guest=has_code or (scorer is not None and scorer.is_guest),
        is_thread_safe=config.metadata.get("thread_safe") is True,
        num_fewshot=n_fewshot,
        reading=_reading(options.think_end_token, context.parity, is_own=scorer is None or scorer.is_guest),
        keeps_answers_only=options.predict_only,
        findings=tuple(findings),
        prompt_place=locate("doc_to_text"),
        repeats=config.repeats if is_generated else 1,
        showing=config.showing,
        media_folders=(spec.file.parent,),
        notes=(*(f"Task {spec.name!r}: {note}" for note in notes), *(scorer.notes if scorer is not None else ())),
        choice_orders=partial(_choice_orders, instances, samples, locate),
    )


def _row_functions(contexts: Contexts, samples: Samples) -> RowFunctions:
    fields = contexts.fields
    return RowFunctions(
        full_doc=lambda index: samples[index].full_doc(),
        target=lambda index: fields.target(samples[index].full_doc()),
        choices=(lambda index: fields.choices(samples[index].full_doc())) if fields.has_choices else None,
        context=None
        if contexts.has_several_inputs
        else lambda index: str(contexts.of(samples[index].full_doc(), samples[index].index)),
    )


def _choice_orders(instances: InstanceMaker, samples: Samples, locate: Locate) -> ChoiceOrders:
    """Return the orders of choices that the rows of a task hold and its prompts list.

    Raises:
        UnfitError: if its choices are contexts of one continuation, or it measures the likelihood of one text.
    """
    fields, name = instances.fields, instances.task
    if instances.contexts.has_several_inputs:
        raise UnfitError(f"The choices of task {name!r} are contexts of one continuation, and are never listed.")
    if instances.output_type not in (GENERATE, MULTIPLE_CHOICE):
        raise UnfitError(f"Task {name!r} measures the likelihood of one text, and has no choices.")
    forms = RowForms(
        name,
        lambda sample: str(fields.text(instances.asked_row(sample))),
        lambda sample: fields.target(instances.asked_row(sample)),
        (lambda sample: fields.choices(instances.asked_row(sample))) if fields.has_choices else None,
        lists_choices=False,
        where=locate("doc_to_target"),
    )
    rows = RowOrders(forms, samples[:200])
    return ChoiceOrders(rows.listed, rows.reordered, partial(_row_functions, instances.contexts))


def _equal_choices(
    config: LmTaskConfig, fields: FieldFunctions, samples: Samples, locate: Locate
) -> Iterator[LintFinding]:
    """A finding if rows of a task without code have choices that are the same text. Code may draw at random from one
    row to the next, so its rows are read in their order alone.
    """
    if config.output_type != MULTIPLE_CHOICE or config.use_prompt is not None:
        return
    looked_at = (samples[index] for index in range(min(len(samples), _LOOKED_AT)))
    note = equal_choices(((one.id, partial(fields.choices, one.doc)) for one in looked_at), is_lettered=False)
    if note:
        yield LintFinding("equal-choices", f"{note}.", str(config.task), locate("doc_to_choice"))


def _contexts(
    spec: TaskSpec,
    shown: ShownTask,
    fields: FieldFunctions,
    context: OpenContext,
    options: LmRunOptions,
    locate: Locate,
) -> Contexts:
    return Contexts(
        task=spec.name,
        fields=fields,
        examples=examples(shown, fields, context, options, locate) if shown.n else None,
        system=context.system_prompt,
        target_delimiter=shown.config.target_delimiter,
        fewshot_delimiter=shown.config.fewshot_delimiter,
        has_several_inputs=shown.has_several_inputs,
        is_chat=options.is_chat,
        has_turns=options.has_turns,
    )


def _instances(config: LmTaskConfig, contexts: Contexts, *, sees_media: bool) -> InstanceMaker:
    return InstanceMaker(
        task=contexts.task,
        output_type=config.output_type,
        fields=contexts.fields,
        contexts=contexts,
        delimiter=choice_delimiter(config.target_delimiter, config.gen_prefix, is_chat=contexts.is_chat),
        generation_kwargs=_generation_kwargs(config),
        repeats=config.repeats,
        has_bare_choices=config.output_type == MULTIPLE_CHOICE and _MUTUAL in (metric_names(config) or ()),
        sees_media=sees_media,
        has_code=any(map(callable, (config.doc_to_text, config.doc_to_target, config.doc_to_choice))),
    )


def _asking(
    spec: TaskSpec, config: LmTaskConfig, context: OpenContext, options: LmRunOptions, rows: Rows, where: str
) -> Asking:
    split = config.eval_split or ""
    metadata = run_metadata(config, options, str(spec.file))
    told = {"task": spec.name, "split": split, "repeats": config.repeats, **metadata}
    return Asking(
        provenance=Provenance(
            spec.name, split, told, context.seed, _reasoning_tags(options.think_end_token, context.parity)
        ),
        plan=context.generation,
        fingerprint=f"{rows.fingerprint}:{spec.source_hash[:12]}",
        is_chat=options.is_chat,
        think_end=options.think_end_token,
        parity=context.parity,
        length=options.max_gen_toks,
        where=where,
    )


def _reasoning_tags(think_end: str, parity: Parity) -> Tags | None:
    """The tags around reasoning, in which stop strings do not count; one that a run names is among them."""
    if parity.on("stop-in-reasoning"):
        return (("", think_end),) if think_end else ()
    is_known = any(closing == think_end for _, closing in REASONING_TAGS)
    return None if is_known or not think_end else (*REASONING_TAGS, ("", think_end))


def _reading(think_end: str, parity: Parity, *, is_own: bool) -> ReadingRules:
    """Return the rules for reading a task's answers; ``is_own``: whether its own code scores them, or nothing does."""
    return ReadingRules(
        _reasoning_tags(think_end, parity),
        is_separated=not is_own and not parity.on("reasoning-kept"),
        stops_anywhere=parity.on("stop-in-reasoning"),
    )


def _counts(fields: FieldFunctions, sees_media: bool, sample: Sample) -> tuple[int, int]:
    """Return the number of inputs and the number of targets of a row; 0 for one. All rows have those of the first."""
    doc = full_row(sample) if sees_media else sample.doc
    target = fields.target(doc)
    return count_inputs(fields, doc), len(target) if isinstance(target, list) else 0


def _generation_kwargs(config: LmTaskConfig) -> dict[str, object]:
    if config.generation_kwargs is None:
        greedy: dict[str, object] = {"temperature": 0.0, "do_sample": False, "max_gen_toks": MOST_TOKENS}
        return {**greedy, "until": [config.fewshot_delimiter]}
    return {**config.generation_kwargs, "until": config.generation_kwargs.get("until", [config.fewshot_delimiter])}


def _rollout(asking: Asking, instances: InstanceMaker, sample: Sample) -> RolloutSteps:
    return (yield from ask(asking, sample, instances.of(sample)))


def _score(scorer: LmEvalScorer | None, instances: InstanceMaker, sample: Sample, rollout: Rollout) -> Score:
    if scorer is None:
        return answers_only(rollout)
    return scorer.score_of(instances.row(sample), rollout.returned)
