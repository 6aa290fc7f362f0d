"""The metrics of a task: names and functions of ``metric_list`` bound to what computes and aggregates them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.content import Image, Modality, is_image
from polymeter.core.errors import PlanError, ScoreError, boundary
from polymeter.core.metric import Aggregation, Metric
from polymeter.core.names.parity import Parity
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.guests.loading.load import resolve
from polymeter.metrics import aggregation_keywords, aggregation_of, check_kwargs, check_pair, default_metrics
from polymeter.metrics.as_written import AS_WRITTEN
from polymeter.tasks.yaml.config import MetricItem, YamlFields
from polymeter.tasks.yaml.registration import AGGREGATION_DEFINITIONS, METRIC_DEFINITIONS, USERS


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """One metric, ready to use.

    Attributes:
        name: Its name.
        kwargs: Further arguments of its function, besides answer and reference.
        score: ``(references, predictions, **kwargs)``; ``None``: its value is computed elsewhere and passes through.
        is_guest_score: Whether ``score`` is task code.
        aggregation: A registered aggregation; ``None`` if ``aggregate`` is task code.
        aggregate: The task's own aggregation.
        wants_args: Whether it takes the command line's arguments.
        higher_is_better: Whether a higher value is better; ``None``: unknown.
        version: Changes whenever its numbers may.
        reference: See ``core.metric.Metric``.
        of_sets: See ``core.metric.Metric``.
        bounds: See ``core.metric.Metric``.
        takes_all: See ``core.metric.Metric``.
        runs_code: See ``core.metric.Metric``.
        takes_image_size: Whether ``score`` also gets the size of the image in the row.
        resamples: How many resamples its standard error rests on that are drawn as in another system; 0: none are.
        extract: See ``core.metric.Metric``.
    """

    name: str
    kwargs: Mapping[str, Any]
    score: Callable[..., Any] | None
    is_guest_score: bool
    aggregation: Aggregation | None
    aggregate: Callable[..., Any] | None
    wants_args: bool
    higher_is_better: bool | None
    version: str
    reference: Modality | None = None
    of_sets: Callable[..., float] | None = None
    bounds: Bounds = UNBOUNDED
    takes_all: bool = False
    runs_code: bool = False
    takes_image_size: bool = False
    resamples: int = 0
    extract: Callable[..., str | None] | None = None


def bind_metrics(
    config: YamlFields, where: Callable[[], str], sources: Collection[Path] = ()
) -> tuple[BoundMetric, ...]:
    """The metrics of a task; those of its output type if it lists none.

    Args:
        config: The task.
        where: ``file:line`` of its metric list.
        sources: The files of the task's code; what they register wins.

    Raises:
        PlanError: if a metric or aggregation is unknown, or makes no sense for this output type.
    """
    items = config.metric_list
    if items is None:
        if config.process_results is not None:
            return ()
        items = tuple(MetricItem(metric=name) for name in default_metrics(config.output_type))
    return tuple(_bind(item, config, where, sources) for item in items)


def metric_names(config: YamlFields) -> tuple[str, ...] | None:
    """The names of a task's metrics; ``None`` if its class decides."""
    if config.class_ is not None:
        return None
    if config.metric_list is not None:
        return tuple(item.name for item in config.metric_list)
    return () if config.process_results is not None else default_metrics(config.output_type)


def metrics_at_parity(metrics: tuple[BoundMetric, ...], parity: Parity) -> tuple[BoundMetric, ...]:
    """The metrics, computed and aggregated as in the system to be matched."""
    matched = []
    for metric in comparing_as_written(metrics) if parity.on("texts-as-written") else metrics:
        aggregation = metric.aggregation
        if aggregation is None:
            matched.append(metric)
            continue
        resamples = 0
        if aggregation.name == "median" and parity.on("median-order"):
            aggregation = replace(aggregation, aggregate=middle_as_listed)
        if aggregation.uncertainty == "bootstrap" and parity.on("bootstrap-error"):
            resamples = _RESAMPLES.get(aggregation.name, 0)
            aggregation = replace(aggregation, uncertainty="none")
        matched.append(replace(metric, aggregation=aggregation, resamples=resamples))
    return tuple(matched)


def comparing_as_written(metrics: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
    """The metrics, those of ours that lmms-eval has too without our reading of texts: at parity with it, and for
    classes that inherit their scoring from it.
    """
    return tuple(
        metric
        if metric.score is None or metric.is_guest_score
        else replace(metric, score=AS_WRITTEN[metric.name], extract=None)
        if metric.name in AS_WRITTEN
        else metric
        for metric in metrics
    )


_RESAMPLES = {
    **dict.fromkeys(("median", "matthews_corrcoef", "f1", "perplexity"), 100_000),
    **dict.fromkeys(("bleu", "chrf", "ter"), 100),
}
"""The number of resamples that lmms-eval draws, by the name of an aggregation; others that are not means have no error
there.
"""


def middle_as_listed(values: Sequence[Any]) -> Any:
    """The middle of the values in their order, unsorted."""
    return values[len(values) // 2]


def _bind(item: MetricItem, config: YamlFields, where: Callable[[], str], sources: Collection[Path]) -> BoundMetric:
    registered = _find(item, config, where, sources)
    score = registered.score if registered else None
    kwargs, is_computed = item.kwargs, False
    is_guest_score = registered is not None and _is_users(registered)
    if not isinstance(item.metric, str):
        score, is_guest_score = resolve(item.metric), True
    elif registered and _computes(registered, config):
        is_computed = True
        check_kwargs(registered, item.kwargs, where())
        if registered.check is not None:
            check = registered.check
            _located(lambda: check(**item.kwargs), where)
        of_aggregation = aggregation_keywords(registered)
        kwargs = {key: value for key, value in item.kwargs.items() if key not in of_aggregation}
    higher = item.higher_is_better
    if higher is None:
        higher = registered.higher_is_better if registered else True
    aggregation: Aggregation | None = None
    aggregate: Callable[..., Any] | None = None
    if item.aggregation is not None and not isinstance(item.aggregation, str):
        aggregate = resolve(item.aggregation)
    else:
        name = item.aggregation or (registered.aggregation if registered else "mean")
        get: Callable[[], Aggregation] = partial(AGGREGATIONS.get, name)
        if registered and is_computed:
            get = partial(aggregation_of, registered, item.kwargs, AGGREGATIONS.get, item.aggregation)
        named = AGGREGATION_DEFINITIONS.of(name, sources) or _located(get, where)
        # A guest's function is called once over all values; only ours may be called repeatedly, for their uncertainty.
        if named in AGGREGATION_DEFINITIONS:
            aggregate = named.aggregate
        else:
            aggregation = named
    return BoundMetric(
        name=item.name,
        kwargs=kwargs,
        score=score,
        is_guest_score=is_guest_score,
        aggregation=aggregation,
        aggregate=aggregate,
        wants_args=aggregate is not None and takes_args(aggregate),
        higher_is_better=higher,
        version=registered.version if registered else "",
        reference=registered.reference if registered else None,
        of_sets=registered.of_sets if registered else None,
        bounds=registered.bounds if registered else UNBOUNDED,
        takes_all=registered is not None and registered.takes_all,
        runs_code=registered is not None and registered.runs_code and config.process_results is None,
        extract=registered.extract if registered and is_computed and not is_guest_score else None,
        takes_image_size=bool(
            is_computed and registered and registered.takes_image_size and registered.takes_image_size(**item.kwargs)
        ),
    )


def _computes(metric: Metric, config: YamlFields) -> bool:
    """Return whether one of our own metrics computes the values."""
    is_of_samples = metric.score is not None and config.process_results is None
    return metric.version != USERS and (is_of_samples or metric.of_sets is not None)


def _find(item: MetricItem, config: YamlFields, where: Callable[[], str], sources: Collection[Path]) -> Metric | None:
    """The registered metric of that name. If the task computes its values itself, names need no registration."""
    if not isinstance(item.metric, str):
        return None
    name = item.metric
    own = METRIC_DEFINITIONS.of(name, sources)
    if own is not None:
        if config.process_results is None:
            check_pair(own, config.output_type, where())
        return own
    if config.process_results is not None:
        known = METRICS.get(name) if name in METRICS else None
        return None if known is not None and known.only_computed else known
    metric: Metric = _located(lambda: METRICS.get(name), where)
    check_pair(metric, config.output_type, where())
    return metric


def shadowed_names(config: YamlFields, sources: Collection[Path]) -> tuple[str, ...]:
    """Notes for metrics and aggregations of the user's that replace built-in ones of the same name."""
    notes = []
    for item in config.metric_list or ():
        for kind, name, definitions, registry in (
            ("metric", item.metric, METRIC_DEFINITIONS, METRICS),
            ("aggregation", item.aggregation, AGGREGATION_DEFINITIONS, AGGREGATIONS),
        ):
            if not isinstance(name, str) or not registry.is_builtin(name):
                continue
            is_own = definitions.of(name, sources) is not None or registry.shadowed(name) is not None
            if is_own and not (kind == "metric" and config.process_results is not None):
                notes.append(f"Task {config.task!r} uses your {kind} {name!r} in place of the built-in one.")
    return tuple(dict.fromkeys(notes))


def call_score(
    metric: BoundMetric, references: Sequence[Any], answer: Any, row: Mapping[str, Any] | None = None
) -> Any:
    """The value of one metric for one answer, or for all answers of a reading if it takes them together.

    Args:
        metric: The metric.
        references: The references.
        answer: The answer.
        row: The row with its media, for a metric that takes the size of the image.

    Raises:
        ScoreError: if its function raised, or the row has not exactly one image for such a metric.
    """
    assert metric.score is not None
    with boundary(ScoreError, f"Metric {metric.name!r}"):
        try:
            predictions = list(answer) if metric.takes_all else [answer]
            more = {"image_size": image_size_of(row or {}, metric.name)} if metric.takes_image_size else {}
            value = metric.score(references=list(references), predictions=predictions, **metric.kwargs, **more)
        except TypeError:
            if not metric.is_guest_score:
                raise
            # Metrics of lmms-eval's older form take one list: the reference, and the answer.
            value = metric.score([references[0] if len(references) == 1 else list(references), answer])
    if isinstance(value, Mapping):
        if metric.name not in value:
            keys = sorted(map(str, value))
            raise ScoreError(f"Metric {metric.name!r} returned the keys {keys}, but not its own name.")
        return value[metric.name]
    return value


def image_size_of(row: Mapping[str, Any], metric: str) -> tuple[int, int]:
    """Return the width and height in pixels of the image in a row, upright.

    Raises:
        ScoreError: if the row does not have exactly one image.
    """
    cells = [item for cell in row.values() for item in (cell if isinstance(cell, (list, tuple)) else [cell])]
    images = [cell for cell in cells if is_image(cell)]
    if len(images) != 1:
        raise ScoreError(
            f"Metric {metric!r} needs the size of the row's image, and the row has {len(images)} images.",
            hint="Use the same scale for answers and references, or one column of images with one image.",
        )
    image = images[0]
    return (image if isinstance(image, Image) else Image(image)).size()


def _is_users(metric: Metric) -> bool:
    """Return whether a guest defines a metric; ours take several references at once."""
    return metric.version == USERS or metric.name not in METRICS or METRICS.find(metric.name).place != "polymeter"


def _located(get: Callable[[], Any], where: Callable[[], str]) -> Any:
    try:
        return get()
    except PlanError as error:
        raise PlanError(error.what, where=where(), hint=error.hint) from None


def takes_args(function: Callable[..., Any]) -> bool:
    """Return whether an aggregation takes the command line's arguments."""
    try:
        return "args" in inspect.signature(function).parameters
    except ValueError:  # a built-in function without a signature
        return False
