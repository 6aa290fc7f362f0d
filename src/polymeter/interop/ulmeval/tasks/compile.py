"""From the spec of a dataset class to a Task: its file is run, its instance made, and its functions become the Task's,
by the pieces of ``tasks.table`` wherever a table without a class does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.request import Generate, GenerateImage
from polymeter.core.task import ReduceContext, Result, ScoredRow, Task, TaskSpec
from polymeter.guests.named_data import naming_its_place
from polymeter.interop.ulmeval.prediction_formats import check_format, prediction_format, write_table
from polymeter.interop.ulmeval.tasks.absent_data import naming_missing_data
from polymeter.interop.ulmeval.tasks.dataset import (
    Scoring,
    check_data_is_read,
    check_repeats,
    dataset_of,
    image_count,
    kind_of,
    scoring_of,
    with_protocol,
)
from polymeter.interop.ulmeval.tasks.judge_needs import require_judge
from polymeter.interop.ulmeval.tasks.listing.presets import ARGUMENTS, sampled_once
from polymeter.interop.ulmeval.tasks.loading import is_of_vlmeval, load_class
from polymeter.interop.ulmeval.tasks.named_tables import reading_named_table
from polymeter.interop.ulmeval.tasks.reading import line_of_data
from polymeter.interop.ulmeval.tasks.results.evaluate import evaluate_results
from polymeter.interop.ulmeval.tasks.videos import unpacking, video_prompts
from polymeter.tasks.table.compile import task_of
from polymeter.tasks.table.dataset import Dataset
from polymeter.tasks.table.instances import (
    check_rows,
    circular_note,
    dataset_named,
    make_instance,
    own_method,
    scoring_notes,
    set_up,
)
from polymeter.tasks.table.options import TableRunOptions, read_run_options
from polymeter.tasks.table.predictions import PICKLE, PredictionFile, write_predictions
from polymeter.tasks.table.prompts import Prompting, parameters_for
from polymeter.tasks.table.scoring import JUDGE_MODEL, judge_kwargs, sample_results
from polymeter.tasks.table.side_files import Reported, write_side_files

_JUDGE = "judge"
_LEFT_OUT = ("image",)
_READING = 1
"""The version of what VLMEvalKit's classes are given: their indices, and the format of their prediction file."""


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model with these traits. Runs its authors' code.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its data is missing, empty or broken as a whole.
    """
    options = read_run_options(context.options)
    cls, note = reading_named_table(load_class(spec), spec, context.data)
    with naming_its_place(spec.file, lambda error: _line_of_data(spec)):
        instance = _instance_of(cls, spec, options, context)
        check_data_is_read(spec, instance, context.data)
        spec = with_protocol(spec, instance)
        set_up(dataset_named(spec), instance, options)
        scoring = Scoring(by_sample=False, by_file=False) if options.predict_only else scoring_of(type(instance))
        videos = video_prompts(spec, instance, traits, options.whole_videos)
        dataset = dataset_of(spec, instance, scoring, videos)
    if not context.is_begun and _JUDGE not in context.roles and JUDGE_MODEL not in options.judge_args:
        methods = {"evaluate_sample": scoring.by_sample, "evaluate": scoring.by_file}
        require_judge(spec.name, [getattr(instance, name) for name, is_used in methods.items() if is_used])
    if scoring.by_sample:
        check_rows(spec, instance, len(dataset.table), context)
    if dataset.is_conversation:
        check_repeats(spec, options.num_generations)
    parameters, n = parameters_for(
        kind_of(spec, instance),
        context.generation,
        n_images=image_count(dataset_named(spec), instance),
        n=options.num_generations,
        is_endpoint=traits.is_endpoint,
    )
    prompting = Prompting(dataset, parameters, n, context.system_prompt, traits.has_own_prompts)
    file, keeps_values = _file_of(spec, dataset, parameters, options, context)
    if videos is not None and videos.is_packed:
        file = replace(file, made_of=unpacking(instance))
    has_images = not is_of_vlmeval(spec.file) or not context.parity.on("images-while-scoring")

    def reduce(rows: Iterable[ScoredRow], reduce_context: ReduceContext) -> list[Result]:
        results = sample_results(dataset, rows, reduce_context)
        if not scoring.by_file:
            if options.predictions_as and scoring.by_sample:
                reported = _reported(instance)
                write_side_files(file, rows, reduce_context, [*dataset.metrics], reported, options.scores_as)
            elif options.keep_predictions:
                write_predictions(file, rows, reduce_context)
            return results
        judge = judge_kwargs(options.judge_args, reduce_context.roles)
        taken = frozenset((item.metric, item.filter) for item in results)
        try:
            with _images_of(instance, has_images):
                found = evaluate_results(
                    dataset,
                    instance.evaluate,
                    file,
                    judge,
                    rows,
                    reduce_context,
                    keeps_values=keeps_values,
                    taken=taken,
                )
        except PolymeterError as error:
            if not results or reduce_context.failed is None:
                raise
            reduce_context.failed(error)
            found = []
        return [*results, *found]

    notes = [*filter(None, [note]), *_notes(spec, instance, options, scoring)]
    reading = [_READING, file.suffix] if file.suffix != PICKLE else []
    return task_of(spec, prompting, options, context, reduce=reduce, notes=notes, reading=reading)


def _instance_of(cls: type, spec: TaskSpec, options: TableRunOptions, context: OpenContext) -> Any:
    """The instance of a class, and of each dataset of a collection, with the arguments of a preset."""
    if ARGUMENTS in spec.config:
        spec = replace(spec, config={**spec.config, ARGUMENTS: sampled_once(cls, spec.config[ARGUMENTS])})
    with naming_missing_data(dataset_named(spec)):
        instance = make_instance(cls, spec, context.data, options, context)
    if is_of_vlmeval(spec.file):
        for one in (instance, *getattr(instance, "dataset_map", {}).values()):
            one.dumped_again_as = ".png"
    return instance


def _reported(instance: Any) -> Reported | None:
    """The function that makes the table of accuracies of a class that inherits its scoring; ``None``: its author scores
    samples, so that only the predictions are written.
    """
    return None if own_method(instance, "evaluate_sample") is None else own_method(instance, "reported")


@contextmanager
def _images_of(instance: Any, are_there: bool) -> Iterator[None]:
    """Leave the images in the table of an instance, or take them out inside this: VLMEvalKit's own loop of inference
    has taken them out before it calls ``evaluate``.
    """
    table: Any = getattr(instance, "data", None)
    if are_there or not hasattr(table, "columns") or _LEFT_OUT[0] not in table.columns:
        yield
        return
    instance.data = table.drop(columns=[*_LEFT_OUT])
    try:
        yield
    finally:
        instance.data = table


def _line_of_data(spec: TaskSpec) -> int:
    return line_of_data(spec.file, dataset_named(spec), "" if spec.protocol is None else spec.protocol.name)


def _file_of(
    spec: TaskSpec,
    dataset: Dataset,
    parameters: Generate | GenerateImage,
    options: TableRunOptions,
    context: OpenContext,
) -> tuple[PredictionFile, bool]:
    """The settings of a class's prediction file, and whether the class reads the values that were written into it.

    Raises:
        PlanError: if it cannot be written in the format that the class expects.
    """
    file = PredictionFile(
        dataset.table,
        parameters,
        options.model_id,
        options.failed_as_text,
        is_conversation=dataset.is_conversation,
    )
    if isinstance(parameters, GenerateImage) or not is_of_vlmeval(spec.file):
        return file, False
    form = prediction_format()
    check_format(form)
    keeps_values = not context.parity.on("spreadsheet-cells")
    return replace(file, suffix=f".{form}", left_out=_LEFT_OUT, write=write_table), keeps_values


def _notes(spec: TaskSpec, instance: Any, options: TableRunOptions, scoring: Scoring) -> Iterator[str]:
    yield from circular_note(spec.name, instance, options)
    if options.predict_only:
        return
    yield from scoring_notes(spec.name, instance)
    if not scoring.by_sample and not scoring.by_file:
        yield f"Benchmark {spec.name!r} scores nothing: it has neither evaluate nor evaluate_sample."
    elif not scoring.by_sample:
        yield (
            f"Benchmark {spec.name!r} computes its results from all answers together: samples have no scores, and only "
            "means of a column that it writes have intervals."
        )
    elif scoring.by_file:
        yield f"Benchmark {spec.name!r}: of its own evaluate only means of a column that it writes have intervals."
