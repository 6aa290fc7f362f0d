"""``generate_image``: the fields that a task that asks for images may have, and what its images are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.content import Image, Modality, is_image
from polymeter.core.errors import DataError, PlanError
from polymeter.core.names.registries import METRICS
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.prompts import forms
from polymeter.tasks.yaml.prompts.visuals import flat, to_part
from polymeter.tasks.yaml.scoring.metrics import BoundMetric

IMAGES = "generate_image"
_KINDS: Mapping[Modality, str] = {"image": "an image", "text": "a text"}
_FOR_TEXT = {
    "filter_list": "Filters read text; process_results(doc, results) gets the images.",
    "doc_to_choice": "Choices are for multiple_choice.",
    "num_fewshot": "Examples before a question are for text.",
    "class": "Write it with the fields of a YAML.",
}


def check_config(config: YamlFields, where: Callable[[str], str]) -> None:
    """Refuse fields that make no sense for a task that asks for images, as far as its configuration shows them.

    Raises:
        PlanError: if there is such a field; the message names it and the fix.
    """
    values = {
        "filter_list": config.filter_list,
        "doc_to_choice": config.doc_to_choice,
        "num_fewshot": config.num_fewshot,
        "class": config.class_,
    }
    for field, hint in _FOR_TEXT.items():
        if values[field]:
            raise PlanError(
                f"Task {config.task!r} asks for images and cannot have {field}.", where=where(field), hint=hint
            )
    if config.metric_list is None and config.process_results is None:
        raise PlanError(
            f"Task {config.task!r} asks for images, but nothing scores them.",
            where=where("output_type"),
            hint="Name metrics in metric_list, or score them in process_results.",
        )
    for item in config.metric_list or () if config.doc_to_target is None else ():
        if isinstance(item.metric, str) and item.metric in METRICS:
            metric = METRICS.get(item.metric)
            # A metric of sets always compares; process_results takes the place of those of samples.
            if metric.of_sets is not None or config.process_results is None:
                _refuse_without(metric.reference, item.metric, "has no doc_to_target", config.task, where)


def target_form(value: Any, binding: forms.Binding) -> forms.Form:
    """``doc_to_target`` of such a task: row with media → list of images (Pillow) and texts. A list in the YAML is a
    list of forms.
    """
    # Unlike prompts, targets see media columns: images are compared with images.
    seen = replace(binding, media=frozenset(), has_choices=False)
    each = [forms.target_form(item, seen) for item in (value if isinstance(value, list) else [value])]

    def targets(doc: Any) -> list[Any]:
        return [item for form in each for item in _items(form(doc), binding)]

    return targets


def references_of(metric: BoundMetric, targets: Iterable[Any]) -> list[Any]:
    """The targets that a metric compares with; all of them if it does not say which kind it takes."""
    if metric.reference is None:
        return list(targets)
    return [item for item in targets if is_image(item) == (metric.reference == "image")]


def check_targets(
    metrics: Sequence[BoundMetric], targets: Sequence[Any], task: str, where: Callable[[str], str]
) -> None:
    """Refuse metrics that have nothing to compare with among the targets of a row.

    Raises:
        DataError: if the row has no target at all, though others may.
        PlanError: if its targets are of another kind.
    """
    for metric in metrics:
        if metric.reference is None or references_of(metric, targets):
            continue
        if not targets:
            raise DataError(f"doc_to_target of task {task!r} gives nothing for a row.", where=where("doc_to_target"))
        other = f"the text {targets[0]!r:.60}" if metric.reference == "image" else "images only"
        _refuse_without(metric.reference, metric.name, f"gives {other}", task, where)


def notes(task: str, metrics: Iterable[BoundMetric]) -> tuple[str, ...]:
    """Notes for the user about metrics that compare sets."""
    return tuple(
        f"Task {task!r}: {metric.name} uses the network {metric.kwargs.get('extractor')!r}. It falls as n grows: "
        "compare only runs of equal n. It has no interval."
        for metric in metrics
        if metric.of_sets is not None
    )


def _refuse_without(
    modality: Modality | None, metric: str, instead: str, task: str, where: Callable[[str], str]
) -> None:
    if modality is None:
        return
    what = _KINDS[modality]
    column = "a column of images" if modality == "image" else "a column or template of text"
    subject = "doc_to_target of task" if instead.startswith("gives") else "task"
    raise PlanError(
        f"Metric {metric!r} compares with {what}, and {subject} {task!r} {instead}.",
        where=where("doc_to_target" if instead.startswith("gives") else "metric_list"),
        hint=f"Let doc_to_target name {column}; a list of both serves every metric.",
    )


def _items(values: Any, binding: forms.Binding) -> Iterator[Any]:
    for item in flat(values):
        if isinstance(item, str):
            yield item
        elif isinstance(item, (int, float)):
            yield str(item)
        else:
            part = to_part(item, None)
            if not isinstance(part, Image):
                raise DataError(
                    f"doc_to_target of task {binding.task!r} gives a {type(item).__name__}.",
                    where=binding.where("doc_to_target"),
                    hint="Give images, paths of images (pathlib.Path), or texts.",
                )
            yield part.open()
