"""From a table's spec to a Task: the built-in class for its columns is instantiated, and its methods become the Task's
functions. ``task_of`` also serves dataset classes of other systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import DataError, boundary, enumerated
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint, seed_for
from polymeter.core.machine.opened_files import is_of_row
from polymeter.core.model import ModelTraits
from polymeter.core.records.lint_finding import NO_MEDIUM_SHOWN, LintFinding
from polymeter.core.rows import RowFunctions
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
from polymeter.guests import contained, seeded
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.opened_sources import loading_sources
from polymeter.tasks.constant_targets import constant_target, equal_targets
from polymeter.tasks.table.classes import class_for
from polymeter.tasks.table.classes.multiple_choice.orders import ordered_line, table_orders
from polymeter.tasks.table.classes.results import column_subsets
from polymeter.tasks.table.dataset import Dataset, folders_of
from polymeter.tasks.table.files.finding import origin_of
from polymeter.tasks.table.files.image_files import is_empty
from polymeter.tasks.table.instances import (
    check_rows,
    circular_note,
    make_instance,
    own_method,
    request_kind,
    scoring_notes,
    set_up,
    usual_count,
)
from polymeter.tasks.table.options import TableRunOptions, read_run_options
from polymeter.tasks.table.predictions import PredictionFile, prediction_of, write_predictions
from polymeter.tasks.table.prompts import Prompting, ask_about, messages_about, parameters_for
from polymeter.tasks.table.rows import TableSamples, answer_of, choices_of, table_of
from polymeter.tasks.table.scoring import judge_kwargs, sample_results, sample_score
from polymeter.tasks.table.side_files import in_format, write_side_files

Reduce = Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]
_VERSION = 3
_LOOKED_AT = 16
_IMAGE_COLUMNS = ("image", "image_path")


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The table for a model with these traits.

    Raises:
        PlanError: if its settings make no sense.
        DataError: if it is missing, empty or broken as a whole.
    """
    options = read_run_options(context.options)
    data = {spec.benchmark: str(spec.file), **context.data}
    instance = make_instance(class_for(tuple(spec.config["columns"])), spec, data, options, context)
    set_up(spec.benchmark, instance, options)
    with _placed(spec):
        dataset = _dataset_of(spec, instance, options)
    if dataset.evaluate_sample is not None:
        check_rows(spec, instance, len(dataset.table), context)
    parameters, n = parameters_for(
        request_kind(instance.TYPE, spec),
        context.generation,
        n_images=usual_count(spec.benchmark),
        n=options.num_generations,
        is_endpoint=traits.is_endpoint,
    )
    prompting = Prompting(dataset, parameters, n, context.system_prompt, traits.has_own_prompts)
    file = PredictionFile(dataset.table, parameters, options.model_id, options.failed_as_text)
    file = in_format(file, options.predictions_as) if options.predictions_as else file

    def reduce(rows: Iterable[ScoredRow], reduce_context: ReduceContext) -> list[Result]:
        results = sample_results(dataset, rows, reduce_context)
        if options.predictions_as and dataset.evaluate_sample is not None:
            reported = own_method(instance, "reported")
            write_side_files(file, rows, reduce_context, [*dataset.metrics], reported, options.scores_as)
        elif options.keep_predictions:
            write_predictions(file, rows, reduce_context)
        return results

    notes, findings = _notes(spec, instance, options), _findings(spec, instance)
    return task_of(spec, prompting, options, context, reduce=reduce, notes=notes, findings=findings)


def task_of(
    spec: TaskSpec,
    prompting: Prompting,
    options: TableRunOptions,
    context: OpenContext,
    *,
    reduce: Reduce,
    notes: Iterable[str],
    findings: Iterable[LintFinding] = (),
    reading: Sequence[object] = (),
) -> Task:
    """The Task of a dataset.

    Authors' classes may keep any state on their instances, so their methods are called one at a time, unless the class
    declares that it is thread-safe.

    Args:
        spec: The benchmark.
        prompting: The dataset, and how its rows become requests.
        options: The run's options for it.
        context: The run's settings; its seed and roles are used.
        reduce: Computes its results.
        notes: Notes for the user.
        findings: What the user should know before the first request, besides targets that are all the same and images
            that no prompt shows.
        reading: What else changes how answers are scored, as plain data.
    """
    dataset, parameters = prompting.dataset, prompting.parameters
    table = dataset.table
    line = table.cells if dataset.is_own and not prompting.has_own_prompts else table.line
    judge = judge_kwargs(options.judge_args, context.roles)
    references = dataset.references or (lambda doc: [answer_of(doc)])
    samples = TableSamples(spec.name, table, dataset.cluster)

    def line_of(sample: Sample) -> Any:
        return ordered_line(line(sample.index), sample)

    def rollout(sample: Sample) -> RolloutSteps:
        seeds = [seed_for(context.seed, spec.name, sample.id, number) for number in range(prompting.n)]
        asked = sample.index if dataset.asks_by_position else line_of(sample)
        yield from ask_about(prompting, asked, sample, seeds)

    def score(sample: Sample, rollout: Rollout) -> Score:
        responses = rollout.responses
        prediction = prediction_of(spec.name, parameters, responses, is_conversation=dataset.is_conversation)
        # A row takes longer to make than anything else here, and is only read by those who score it.
        row = None if dataset.evaluate_sample is None else line_of(sample)
        return sample_score(dataset, row, prediction, judge, " | ".join(references(sample.doc)))

    def target_of(sample: Sample) -> str | list[str]:
        several = references(sample.doc)
        return several if len(several) > 1 else "".join(several)

    def row_functions(rows: Samples) -> RowFunctions:
        return RowFunctions(
            full_doc=lambda index: rows[index].full_doc(),
            target=lambda index: target_of(rows[index]),
            choices=lambda index: choices_of(rows[index].doc),
            prompt_row=lambda index: ordered_line(table.line(rows[index].index), rows[index]),
            dump_image=dataset.dump_image,
        )

    modalities, is_shown = _modalities(prompting, context.seed)
    found = [*findings]
    if parameters.kind != "generate_image":
        if not is_shown:
            text = "The rows have images, but no prompt shows any."
            found.append(LintFinding(NO_MEDIUM_SHOWN, text, spec.name, str(spec.file)))
        if dataset.is_own and not options.predict_only:
            targets = equal_targets(samples, target_of)
            found += constant_target(spec.name, str(spec.file), targets, len(samples), has_choices=False)
    settings = [_VERSION, options.judge_args, options.circular, options.detector]
    settings += [
        options.predict_only,
        options.failed_as_text,
        *([options.arguments] if options.arguments else []),
        *reading,
    ]
    return Task(
        spec=spec,
        needs=Needs(
            frozenset({parameters.kind}),
            modalities,
            are_prompts_unknown=prompting.has_own_prompts,
        ),
        samples=samples,
        rollout=rollout,
        score=score,
        reduce=reduce,
        row_functions=row_functions(samples),
        parameters=(parameters,),
        fingerprint=fingerprint([spec.name, table.digest()]),
        score_digest=fingerprint([spec.source_hash, settings]),
        is_guest=not (dataset.is_own and dataset.is_thread_safe),
        is_thread_safe=dataset.is_thread_safe,
        reading=ReadingRules(is_separated=dataset.is_own),
        keeps_answers_only=options.predict_only,
        notes=tuple(notes),
        findings=tuple(found),
        has_rounds=dataset.is_conversation,
        repeats=prompting.n,
        showing=dataset.showing,
        further_subsets=column_subsets(table.data),
        media_folders=(*dataset.media_folders, spec.file.parent),
        choice_orders=partial(
            table_orders,
            prompting,
            samples,
            options,
            line_of,
            row_functions,
            where=str(spec.file),
        ),
    )


@contextmanager
def _placed(spec: TaskSpec) -> Iterator[None]:
    """Read the rows inside this, and an error names the table: no user wrote its class."""
    try:
        yield
    except DataError as error:
        raise DataError(error.what, where=str(spec.file), hint=error.hint) from error


def _dataset_of(spec: TaskSpec, instance: Any, options: TableRunOptions) -> Dataset:
    """The record of an instance of a built-in class."""
    return Dataset(
        name=spec.name,
        dataset_name=spec.benchmark,
        class_name=type(instance).__name__,
        table=table_of(spec.name, instance.data, type(instance).__name__),
        build_prompt=instance.build_prompt,
        dump_image=instance.dump_image,
        generation_settings=own_method(instance, "generation_settings"),
        references=own_method(instance, "references"),
        evaluate_sample=None if options.predict_only else instance.evaluate_sample,
        results=instance.results,
        cluster=own_method(instance, "cluster"),
        extract=own_method(instance, "extract"),
        metrics=instance.METRICS,
        is_own=True,
        is_thread_safe=instance.is_thread_safe,
        media_folders=folders_of(instance),
    )


def _modalities(prompting: Prompting, seed: int) -> tuple[frozenset[Modality], bool]:
    """The modalities that a model must take by the first prompts and the columns, and whether a prompt shows a medium
    as far as the rows looked at have one. A row whose prompt cannot be made fails later, in its rollout.
    """
    if prompting.dataset.modalities is not None:
        return prompting.dataset.modalities, True
    table = prompting.dataset.table
    line = table.cells if prompting.dataset.is_own else table.line
    shown: set[Modality] = {"text"}
    columns = [name for name in _IMAGE_COLUMNS if name in table.data.columns]
    n_images, n_made = 0, 0
    with GUEST_LOCK, contained(), seeded(seed):
        for number in range(min(len(table), _LOOKED_AT)):
            try:
                with (
                    boundary(DataError, f"The prompt of row {number + 1} of {table.name!r}"),
                    loading_sources(is_data=partial(is_of_row, row=str(table.doc(number)))),
                ):
                    messages = messages_about(prompting, line(number))
            except DataError:
                continue
            n_made += 1
            n_images += any(not is_empty(table.cells(number)[name]) for name in columns)
            shown.update(part.modality for message in messages for part in message.parts)
    is_shown = len(shown) > 1 or not n_made or n_images < n_made
    if columns:
        shown.add("image")
    return frozenset(shown), is_shown


def _notes(spec: TaskSpec, instance: Any, options: TableRunOptions) -> Iterator[str]:
    yield from circular_note(spec.name, instance, options)
    class_name = origin_of(spec.file)
    if class_name is not None:
        yield (
            f"Benchmark {spec.name!r} is measured by its columns alone: its table was fetched for the dataset class "
            f"{class_name}, which is not included (--include-path), and its results are not those of that class."
        )
    if not options.predict_only:
        yield from scoring_notes(spec.name, instance)


def _findings(spec: TaskSpec, instance: Any) -> Iterator[LintFinding]:
    """A finding if some rows of a table with images have none."""
    table = instance.data
    columns = [column for column in _IMAGE_COLUMNS if column in table]
    if not columns:
        return
    from polymeter.data.stored_column import held_cells

    cells = [held_cells(table[column]) for column in columns]
    empty = [str(row) for row, *images in zip(table["index"], *cells, strict=True) if all(map(is_empty, images))]
    if empty:
        named = " and ".join(map(repr, columns))
        text = (
            f"{len(empty)} of {len(table)} rows have nothing in {named} ({enumerated('row', empty)}): they are asked "
            "without an image."
        )
        yield LintFinding("row-without-media", text, spec.name, str(spec.file))
