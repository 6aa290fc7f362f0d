"""``generate_image``: a task whose answers are images. Each is compared with the row's targets; for several images of
one prompt a metric is their mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polymeter.core.content import is_image
from polymeter.core.errors import PolymeterError, ScoreError
from polymeter.core.request import Request, Response
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import ReduceContext, Result, Rollout, RolloutSteps, Sample, Score, ScoredRow
from polymeter.tasks.yaml.outputs.image_targets import references_of
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, Provenance, TaskFunctions
from polymeter.tasks.yaml.outputs.parameters import ImageSettings, image_settings
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
from polymeter.tasks.yaml.prompts.rows import RowSamples, full_row
from polymeter.tasks.yaml.scoring.metrics import BoundMetric, call_score
from polymeter.tasks.yaml.scoring.readings import Scorer, as_text
from polymeter.tasks.yaml.scoring.reduction import NO_FILTER, reduce_task
from polymeter.tasks.yaml.settings import generation_kwargs

_BYPASS = frozenset({"bypass", "by_pass"})


@dataclass(frozen=True, slots=True)
class _ImageQuestions:
    """The questions of a task that asks for images.

    Attributes:
        prompt: Builds its messages.
        provenance: The origin and the seeds of its requests.
        settings: Its generation settings.
        repeats: How many times each prompt is sent.
    """

    prompt: PromptBuilder
    provenance: Provenance
    settings: ImageSettings
    repeats: int


@dataclass(frozen=True, slots=True)
class _ImageScoring:
    """The scoring of a task that asks for images.

    Attributes:
        task: Its name, for messages.
        samples: Its samples.
        target: ``doc_to_target``: row with media → list of images and texts.
        scorer: Its own scoring; ``None``: its metrics score it.
        needs_media: Whether the scorer gets the row with its media.
        metrics: All its metrics, in the author's order.
        of_samples: The metrics that have a value for each sample.
        of_sets: The metrics that compare all images with all references at once.
        score_key: The key under which values that are dictionaries hold their number.
    """

    task: str
    samples: RowSamples
    target: Form
    scorer: Scorer | None
    needs_media: bool
    metrics: tuple[BoundMetric, ...]
    of_samples: tuple[BoundMetric, ...]
    of_sets: tuple[BoundMetric, ...]
    score_key: str


def compile_images(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that asks for images.

    Raises:
        PlanError: if its settings make no sense.
    """
    parts, config = setup.parts, setup.parts.config
    block = generation_kwargs(config.model_specific_generation_kwargs, setup.prompt_key)
    where = parts.binding.where("generation_kwargs")
    settings = image_settings(config.generation_kwargs, block, setup.plan_settings, where)
    questions = _ImageQuestions(setup.prompt, setup.provenance, settings, config.repeats)
    scoring = _ImageScoring(
        task=setup.spec.name,
        samples=setup.samples,
        target=parts.target,
        scorer=parts.scorer,  # not the run's: a run that only predicts computes "bypass", which looks at no target
        needs_media=config.process_results_use_image,
        metrics=parts.metrics,
        of_samples=tuple(metric for metric in parts.metrics if metric.of_sets is None),
        of_sets=tuple(metric for metric in parts.metrics if metric.of_sets is not None),
        score_key=config.score_key,
    )
    return TaskFunctions(
        partial(_ask, questions), partial(_score, scoring), partial(_reduce, scoring), (settings.parameters,)
    )


def _ask(questions: _ImageQuestions, sample: Sample) -> RolloutSteps:
    """One request, or one for each repeat, all at once. Every image has its own seed."""
    settings, provenance = questions.settings, questions.provenance
    origin = provenance.origin(sample, settings.raw)
    messages = yield from questions.prompt.conversation(sample, origin)
    seeds = [provenance.seed(sample, number) for number in range(settings.n * questions.repeats)]
    requests = repeats_of(Request(messages, settings.parameters, origin), seeds)
    yield requests[0] if len(requests) == 1 else requests


def _score(scoring: _ImageScoring, sample: Sample, rollout: Rollout) -> Score:
    images = list(_images(rollout.responses))
    if not images:
        raise ScoreError(f"Sample {sample.id} of task {scoring.task!r} has no image to score.")
    targets, problem = _targets(scoring, sample)
    references = _references(targets)
    target = problem or _shown(targets)
    if scoring.scorer is not None:
        names = {metric.name for metric in scoring.of_samples}
        scored = scoring.scorer(full_row(sample) if scoring.needs_media else sample.doc, images)
        values = {(name, NO_FILTER): value for name, value in scored.items() if name in names}
        log = {name: value for name, value in scored.items() if name not in names}
        return Score(values, target, None, None, {**references, **log})
    each = image_values(scoring.of_samples, targets, images)
    values = {(name, NO_FILTER): _mean(of_images, name) for name, of_images in each.items()}
    log = {"per_picture": each} if len(images) > 1 and _compares(scoring) else {}
    return Score(values, target, None, _resized(scoring, targets, images), {**references, **log})


def _reduce(scoring: _ImageScoring, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
    """Results from rows in sample order; metrics of sets read the images from the rows one by one."""
    results = reduce_task(
        rows,
        context,
        task=scoring.task,
        metrics=scoring.of_samples,
        filters=(NO_FILTER,),
        score_key=scoring.score_key,
    )

    def targets_of(index: int) -> Sequence[Any]:
        return scoring.target(full_row(scoring.samples[index]))  # type: ignore[no-any-return]

    results += [set_result(metric, rows, targets_of, context) for metric in scoring.of_sets]
    order = {metric.name: number for number, metric in enumerate(scoring.metrics)}
    return sorted(results, key=lambda result: (bool(result.subset), order[result.metric]))


def _compares(scoring: _ImageScoring) -> bool:
    """Return whether a metric of samples looks at the images at all."""
    return not {metric.name for metric in scoring.of_samples} <= _BYPASS


def _targets(scoring: _ImageScoring, sample: Sample) -> tuple[Sequence[Any], str]:
    """The targets that images are compared with, and the reason if there are none: a failing ``doc_to_target`` is no
    error where nothing compares with it, because the task scores by itself or not at all.
    """
    try:
        targets = scoring.target(full_row(sample))
    except PolymeterError as error:
        if scoring.of_sets or (scoring.scorer is None and _compares(scoring)):
            raise
        return (), f"doc_to_target failed: {error}"
    for metric in scoring.of_sets:
        _refuse_nothing(metric, references_of(metric, targets))
    return targets, ""


def _resized(scoring: _ImageScoring, targets: Sequence[Any], images: Sequence[Any]) -> str | None:
    """A note if an image had to be resized to what it was compared with."""
    if all(metric.reference != "image" for metric in scoring.of_samples):
        return None
    wanted = {target.size for target in targets if is_image(target)}
    other = sorted({image.size for image in images} - wanted)
    if not other:
        return None
    width, height = other[0]
    return f"An image of {width} × {height} pixels was resized to the reference's size first."


def set_result(
    metric: BoundMetric, rows: Iterable[ScoredRow], targets_of: Callable[[int], Sequence[Any]], context: ReduceContext
) -> Result:
    """The result of a metric that compares all images with all references at once.

    Args:
        metric: The metric.
        rows: The rows of the task.
        targets_of: From the position of a sample to its targets.
        context: What the reduction may use.
    """
    assert metric.of_sets is not None
    n = sum(row.score is not None for row in rows)
    result = Result(metric.name, NO_FILTER, None, n, higher_is_better=metric.higher_is_better)
    try:
        value = metric.of_sets(_all_images(rows), _all_references(targets_of, rows), **metric.kwargs) if n else None
    except PolymeterError as error:
        if context.failed is None:
            raise
        context.failed(error)
        return result
    return replace(result, value=value)


def _all_references(targets_of: Callable[[int], Sequence[Any]], rows: Iterable[ScoredRow]) -> Iterator[Any]:
    for row in rows:
        if row.score is not None:
            yield from (target for target in targets_of(row.index) if is_image(target))


def image_values(metrics: Sequence[BoundMetric], targets: Sequence[Any], images: Sequence[Any]) -> dict[str, list[Any]]:
    """For each metric its values for the images, in order.

    Raises:
        ScoreError: if a metric raised, or none of the targets is of the kind that it compares with.
    """
    values: dict[str, list[Any]] = {}
    for metric in metrics:
        if metric.name in _BYPASS:
            values[metric.name] = [len(images)]
            continue
        references = references_of(metric, targets)
        _refuse_nothing(metric, references)
        values[metric.name] = [call_score(metric, references, image) for image in images]
    return values


def _refuse_nothing(metric: BoundMetric, references: Sequence[Any]) -> None:
    if metric.reference is not None and not references:
        raise ScoreError(f"Metric {metric.name!r} finds nothing to compare with in this row's doc_to_target.")


def _images(responses: Iterable[Response]) -> Iterator[Any]:
    for response in responses:
        for output in response.outputs:
            yield from output.images


def _all_images(rows: Iterable[ScoredRow]) -> Iterator[Any]:
    for row in rows:
        if row.score is not None:
            yield from _images(row.responses())


def _mean(values: Sequence[Any], name: str) -> Any:
    if len(values) == 1:
        return values[0]
    if not all(isinstance(value, (int, float)) for value in values):
        raise ScoreError(f"Metric {name!r} gave values other than numbers for several images, so they have no mean.")
    return math.fsum(values) / len(values)


def _shown(targets: Sequence[Any]) -> str | None:
    """The texts among the targets, for display."""
    texts = [target for target in targets if isinstance(target, str)]
    return as_text(texts) if texts else None


def _references(targets: Sequence[Any]) -> Mapping[str, Any]:
    """The images among the targets, as the report shows them beside the answer."""
    images = [target for target in targets if is_image(target)]
    if len(images) == 1:
        return {"reference": images[0]}
    return {f"reference {number}": image for number, image in enumerate(images, 1)}
