"""Compiling a task: its rows are opened, its functions are bound to them, and a first row is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import GeneratorType
from typing import Any

from polymeter.core.content import Modality, Text
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.records.protocol import read_protocol
from polymeter.core.request import Message, Parameters
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders
from polymeter.core.settings.needs import Needs
from polymeter.core.task import (
    ReadingRules,
    ReduceContext,
    Result,
    Rollout,
    RolloutSteps,
    Sample,
    Samples,
    Score,
    ScoredRow,
    Task,
    TaskSpec,
)
from polymeter.guests import contained
from polymeter.tasks.choices.rows import RowForms, RowOrders
from polymeter.tasks.python.choosing import compile_choosing, is_asked_by_letter
from polymeter.tasks.python.fields import BoundFields, bind_fields, targets_of
from polymeter.tasks.python.files.loading import load_task
from polymeter.tasks.python.findings import (
    asking_if_scorable,
    fewshot_findings,
    judge_findings,
    reference_column,
    reference_findings,
)
from polymeter.tasks.python.prompts import PromptReader
from polymeter.tasks.python.rollouts import PromptRequests, answers_of, first_prompt, rollout_of
from polymeter.tasks.python.rows import PythonSamples, open_rows, row_of
from polymeter.tasks.python.scoring.answers import AnswerScoring, reduce_scores
from polymeter.tasks.python.scoring.bound_scorers import BoundScorer, bind_scorers
from polymeter.tasks.python.scoring.combining import combinations
from polymeter.tasks.python.settings import generation_of, read_run_options, task_for_run
from polymeter.tasks.python.writing.records import PythonTask
from polymeter.tasks.yaml.outputs.output_types import Provenance, TaskFunctions
from polymeter.tasks.yaml.outputs.parameters import image_settings, text_settings
from polymeter.tasks.yaml.prompts.rows import tried
from polymeter.tasks.yaml.prompts.visuals import modalities_of

_VERSION = 1


@dataclass(frozen=True, slots=True)
class _TriedPrompt:
    """The result of trying the prompt function on a first row."""

    modalities: frozenset[Modality]
    has_rounds: bool


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """Compile a task for a model with these traits. Runs its author's code.

    Raises:
        PlanError: if its code cannot be loaded, or its fields make no sense.
        DataError: if its rows are missing, empty, or have no such column.
    """
    options = read_run_options(context.options)
    task = task_for_run(load_task(spec), options)
    has_choices = task.choices is not None
    scorers = () if options.predict_only and not has_choices else bind_scorers(task, spec)
    combined = combinations(task)
    protocol = read_protocol(task.protocol, task.where)
    spec = replace(
        spec, version=task.version, runs_generated_code=_runs_code(task, scorers), protocol=protocol or spec.protocol
    )
    system = context.system_prompt or task.system
    said = (Message("system", (Text(system),)),) if system else ()
    reader = PromptReader(task.name, task.where, spec.file.parent, said)

    rows = open_rows(task, spec, context)
    samples = PythonSamples(task, rows)
    fields = bind_fields(task, rows, reader)
    with contained():
        asked = tried(samples, lambda sample: _try_row(sample, fields, is_scored=bool(scorers)))
        column = "" if options.predict_only else reference_column(fields, rows, scorers)
        found = [] if context.is_begun else [*reference_findings(fields, samples, column, context)]
    metadata = {"task": task.name, "split": task.split, "repeats": task.repeats, **task.metadata}
    provenance = Provenance(task.name, task.split, metadata, context.seed)
    notes: tuple[str, ...] = ()
    if has_choices:
        functions, notes, orders = compile_choosing(
            fields,
            scorers,
            rows,
            spec=spec,
            traits=traits,
            context=context,
            provenance=provenance,
            generation=generation_of(task, context),
        )
        if options.predict_only:
            functions = replace(functions, score=_no_score, reduce=_no_results)
    else:
        scoring = AnswerScoring(fields, scorers, combined)
        functions = _functions(scoring, provenance, samples, asked, traits, context)
        orders = partial(_choice_orders, fields, samples, asked)
    return Task(
        spec=spec,
        needs=Needs(_requests(task, context), asked.modalities),
        samples=samples,
        rollout=asking_if_scorable(functions.rollout, task, column),
        score=functions.score,
        reduce=functions.reduce,
        row_functions=_row_functions(fields, samples),
        parameters=functions.parameters,
        fingerprint=fingerprint([rows.fingerprint, task.id, task.subset]),
        score_digest=_score_digest(task, spec, scorers, combined, options.predict_only),
        is_guest=True,
        is_thread_safe=task.thread_safe,
        reading=ReadingRules(),
        keeps_answers_only=options.predict_only,
        notes=notes,
        findings=(*found, *judge_findings(task, scorers, context), *fewshot_findings(task, context)),
        prompt_place=task.where,
        has_rounds=asked.has_rounds,
        repeats=task.repeats,
        showing=task.showing,
        media_folders=(spec.file.parent,),
        choice_orders=orders,
    )


def _choice_orders(fields: BoundFields, samples: PythonSamples, asked: _TriedPrompt) -> ChoiceOrders:
    """Return the orders of choices that its rows hold and its prompts list.

    Raises:
        UnfitError: if it asks in several rounds, or for images.
    """
    task = fields.task
    if asked.has_rounds or task.output == "image":
        what = "in several rounds" if asked.has_rounds else "for images"
        raise UnfitError(f"Task {task.name!r} asks {what}, so that the order of its choices cannot be changed.")

    def text(sample: Sample) -> str:
        messages = fields.reader.messages(fields.prompt(row_of(sample)))
        return "\n".join(message.text for message in messages)

    def target(sample: Sample) -> Any:
        return fields.reference(row_of(sample))

    rows = RowOrders(RowForms(task.name, text, target, None, lists_choices=False, where=task.where), samples[:200])
    return ChoiceOrders(rows.listed, rows.reordered, lambda ordered: _row_functions(fields, ordered))


def _no_score(sample: Sample, rollout: Rollout) -> Score:
    """Return the score of a run that only predicts."""
    return Score({})


def _no_results(rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
    """Return the results of a run that only predicts."""
    return []


def _runs_code(task: PythonTask, scorers: Iterable[BoundScorer]) -> bool:
    return task.runs_code or any(one.metric is not None and one.metric.runs_code for one in scorers)


def _requests(task: PythonTask, context: OpenContext) -> Any:
    """Return the kinds of request that a model must answer."""
    if task.output == "image":
        return frozenset({"generate_image"})
    is_likelihood = task.choices is not None and not is_asked_by_letter(task, context)
    return frozenset({"loglikelihood" if is_likelihood else "generate"})


def _try_row(sample: Sample, fields: BoundFields, *, is_scored: bool) -> _TriedPrompt:
    """Try the functions of a task on a row, so that a mistake shows before anything is spent."""
    task, row = fields.task, row_of(sample)
    if task.choices is not None and is_scored:
        fields.right_choices(row)
    elif is_scored:
        fields.reference(row)
    has_rounds = isinstance(fields.prompt(row_of(sample)), GeneratorType)
    if has_rounds and task.choices is not None:
        raise PlanError(f"Task {task.name!r} has choices, so its prompt cannot be a generator.", where=task.where)
    messages = fields.reader.messages(first_prompt(fields, sample))
    return _TriedPrompt(modalities_of(part for message in messages for part in message.parts), has_rounds)


def _functions(
    scoring: AnswerScoring,
    provenance: Provenance,
    samples: PythonSamples,
    asked: _TriedPrompt,
    traits: ModelTraits,
    context: OpenContext,
) -> TaskFunctions:
    """Make the functions of a task that asks for texts or images."""
    fields, task = scoring.fields, scoring.fields.task
    settings: Any
    if task.output == "image":
        settings = image_settings(task.generation, {}, context.generation, task.where)
    else:
        written = generation_of(task, context)
        settings = text_settings(written, {}, context.generation, is_completion=traits.is_completion, where=task.where)
    has_rounds = asked.has_rounds

    def score(sample: Sample, rollout: Rollout) -> Score:
        return scoring.score_of(sample, answers_of(rollout, has_rounds=has_rounds))

    def reduce(rows: Iterable[ScoredRow], reduce_context: ReduceContext) -> list[Result]:
        def reference(index: int) -> Any:
            return fields.reference(row_of(samples[index]))

        return reduce_scores(scoring, reference, rows, reduce_context)

    rollout: Callable[[Sample], RolloutSteps]
    rollout = rollout_of(PromptRequests(fields, provenance, settings, task.repeats), has_rounds=has_rounds)
    parameters: Parameters = settings.parameters
    return TaskFunctions(rollout, score, reduce, (parameters,))


def _row_functions(fields: BoundFields, samples: Samples) -> RowFunctions:
    task = fields.task

    def target(index: int) -> Any:
        row = row_of(samples[index])
        if task.choices is not None:
            return fields.right_choices(row)
        reference = fields.reference(row)
        return targets_of(reference) if task.output == "image" and reference is not None else reference

    return RowFunctions(
        full_doc=lambda index: samples[index].full_doc(),
        target=None if task.reference is None else target,
        choices=None if task.choices is None else lambda index: fields.choices(row_of(samples[index])),
        prompt_row=lambda index: row_of(samples[index]),
    )


def _score_digest(
    task: PythonTask, spec: TaskSpec, scorers: Sequence[BoundScorer], combined: Iterable[str], predict_only: bool
) -> str:
    versions = [(one.name, one.metric.version if one.metric is not None else "") for one in scorers]
    return fingerprint(
        [_VERSION, spec.source_hash, versions, list(combined), task.repeats, predict_only, task.choices_as]
    )
