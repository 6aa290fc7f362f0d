"""Opening a benchmark: its class is loaded, its instance made, and what it asks for is found out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.generation import image_parameters, text_parameters
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.parts import Modality
from polymeter.core.request import Generate, GenerateImage, RequestKind
from polymeter.core.task import Needs, Task, TaskSpec
from polymeter.formats.table.instance import ask_of, count_of, make_instance
from polymeter.formats.table.options import TsvRunOptions, read_run_options
from polymeter.formats.table.origin import origin_of
from polymeter.formats.table.reduction import Reduction, judge_kwargs, metrics_of
from polymeter.formats.table.requests import Asking
from polymeter.formats.table.rows import Table
from polymeter.formats.table.scoring import Scoring, built_in, scoring_of
from polymeter.formats.table.task import TsvTask
from polymeter.guests import contained, seeded
from polymeter.guests.imports import GUEST_LOCK

_VERSION = 1
_LOOKED_AT = 16
_TOKENS, _TOKENS_OF_ENDPOINTS = 512, 2048
_IMAGE_COLUMNS = ("image", "image_path")


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model with these traits. Runs its authors' code.

    Raises:
        PlanError: Its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: Its data is missing, empty or broken as a whole.
    """
    told = read_run_options(context.options)
    dataset = make_instance(spec, told, context)
    table = Table(spec.name, dataset)
    kind = ask_of(spec, dataset)
    asking = Asking(
        spec.name,
        dataset,
        *_ask(kind, spec.name, dataset, told, traits, context),
        context.system_prompt,
        traits.has_own_prompts,
    )
    scoring = Scoring(by_sample=False, by_file=False) if told.predict_only else scoring_of(type(dataset))
    reduction = Reduction(
        dataset,
        table,
        asking,
        metrics_of(dataset),
        scoring.by_sample,
        scoring.by_file,
        told.judge_args,
        told.failed_as_text,
        told.model_id,
        told.keep_predictions,
    )
    settings = [_VERSION, told.judge_args, told.circular, told.detector, told.predict_only, told.failed_as_text]
    settings += [told.arguments] if told.arguments else []
    return TsvTask(
        spec,
        Needs(
            frozenset({kind}),
            _modalities(asking, table, context),
            are_prompts_unknown=traits.has_own_prompts,
        ),
        fingerprint([spec.name, table.digest()]),
        fingerprint([spec.source_hash, settings]),
        tuple(_notes(spec, dataset, scoring, told)),
        dataset,
        table,
        asking,
        reduction,
        judge_kwargs(told.judge_args, context.roles) if scoring.by_sample else None,
        context.seed,
    ).as_task()


def _ask(
    kind: RequestKind, name: str, dataset: Any, told: TsvRunOptions, traits: ModelTraits, context: OpenContext
) -> tuple[Generate | GenerateImage, int]:
    if kind == "generate_image":
        return image_parameters(context.generation, told.num_generations or count_of(name, dataset))
    tokens = _TOKENS_OF_ENDPOINTS if traits.is_endpoint else _TOKENS
    usual = {"max_new_tokens": tokens, "do_sample": False}
    return text_parameters(context.generation, usual | ({"n": told.num_generations} if told.num_generations else {}))


def _modalities(asking: Asking, table: Table, context: OpenContext) -> frozenset[Modality]:
    """What the first prompts show to the model. A row whose prompt cannot be made fails when it is played."""
    found: set[Modality] = {"text"}
    if any(name in table.frame.columns for name in _IMAGE_COLUMNS):
        found.add("image")
    with GUEST_LOCK, contained(), seeded(context.seed):
        for number in range(min(len(table), _LOOKED_AT)):
            try:
                with boundary(DataError, f"The prompt of row {number + 1} of {asking.name!r}"):
                    messages = asking.messages(table.line(number))
            except DataError:
                continue
            found.update(part.modality for message in messages for part in message.parts)
    return frozenset(found)


def _notes(spec: TaskSpec, dataset: Any, scoring: Scoring, told: TsvRunOptions) -> Iterator[str]:
    if told.circular and built_in(dataset, "expand") is None:
        yield f"Benchmark {spec.name!r} is no multiple choice of Polymeter's own: circular changes nothing in it."
    owner = origin_of(spec.file) if spec.file.suffix == ".tsv" else None
    if owner is not None:
        yield (
            f"Benchmark {spec.name!r} is measured by its columns alone: its table was fetched for the dataset class "
            f"{owner}, which is not included (--include-path), and its numbers are not those of that class."
        )
    if told.predict_only:
        return
    own = built_in(dataset, "notes")
    if own is not None:
        yield from (f"Benchmark {spec.name!r}: {note}" for note in own())
    if not scoring.by_sample and not scoring.by_file:
        yield f"Benchmark {spec.name!r} scores nothing: it has neither evaluate nor evaluate_sample."
    elif not scoring.by_sample:
        yield (
            f"Benchmark {spec.name!r} computes its results from all answers together: the scores of single samples are "
            "not known, so there are no intervals."
        )
    elif scoring.by_file:
        yield f"Benchmark {spec.name!r}: results of its own evaluate have no intervals."
