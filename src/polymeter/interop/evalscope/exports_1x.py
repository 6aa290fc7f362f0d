"""A run of any format as EvalScope 1.x's files: ``predictions/``, ``reviews/``, ``reports/`` (version 2) and
``configs/``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import isfinite
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import (
    StoredSample,
    answer_text,
    messages_of,
    model_outputs,
    named,
    numbers_of,
    tokens_of,
)
from polymeter.core.text.chat_logs import chat_choices, chat_messages, last_exchanges
from polymeter.core.text.json_text import json_text
from polymeter.interop.evalscope.export_parts import (
    WHOLE,
    SubsetRecord,
    adjacent,
    index_of,
    label,
    metrics_of,
    model_id,
    write_config,
    write_lines,
)
from polymeter.interop.evalscope.review_parts import (
    RepeatPlace,
    RepeatPlaces,
    batch_scores,
    is_of_collection,
    is_task_of_1x,
    judged_in_vain,
    led_messages,
    targets_of,
    written_call,
)
from polymeter.interop.evalscope.v1.report.semantics import MetricDirection, MetricKind, MetricSemantics, ValueRange
from polymeter.interop.evalscope.v1.report.tree import (
    EvaluationReport,
    ExecutionSummary,
    ReportCategory,
    ReportMetric,
    ReportSubset,
)
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, canonicalize_producer_identity

_REVIEWED = ("ok", "unscored")
"""Ends of the samples that have a review: with a score, or with the reason for none."""


def write_export(job: ExportJob) -> None:
    """Write the files of ``evalscope eval --no-timestamp``.

    Args:
        job: The run.
    """
    model = model_id(job)
    for task, own in job.results["tasks"].items():
        subsets = write_samples(job, task, model)
        path = job.folder / "reports" / model / f"{task}.json"
        with stored_at(path, "Writing the report"), replacing(path) as file:
            file.write(json_text(_report(own, task, model, subsets), nan=None, indent=4))
    write_config(job, "task_config.yaml")
    job.leave_out_usual()
    if any(result["stderr"] is not None for own in job.results["tasks"].values() for result in own["results"]):
        job.leave_out("standard errors")
    if job.results["groups"]:
        job.leave_out("numbers of groups")


def write_samples(job: ExportJob, task: str, model: str) -> set[str]:
    """Write the predictions and reviews of a task.

    Args:
        job: The run.
        task: The task.
        model: The model's name in folders.

    Returns:
        The subsets of which there are reviews.
    """
    predictions, reviews = (job.folder / kind / model for kind in ("predictions", "reviews"))
    write_lines(predictions, task, adjacent(lambda: _predictions(job, task)), has_folders=True)
    return write_lines(reviews, task, adjacent(lambda: _reviews(job, task)), has_folders=True)


def _predictions(job: ExportJob, task: str) -> Iterator[SubsetRecord]:
    is_of_1x = is_task_of_1x(job, task)
    for sample in job.read(task):
        choices = chat_choices(sample, job, written_call)
        if not choices:
            continue
        tokens = tokens_of(sample)
        usage = None
        if tokens is not None:
            usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
        yield (
            _file_of(sample),
            {
                "index": index_of(sample),
                "model": job.model,
                "model_output": {"model": job.model, "choices": choices, "usage": usage},
                "messages": _messages(sample, choices, job),
                "agent_trace": _own(sample).get("agent_trace"),
                "metadata": _metadata(sample, is_of_1x=is_of_1x),
            },
        )


def _reviews(job: ExportJob, task: str) -> Iterator[SubsetRecord]:
    is_of_1x, places, batch = is_task_of_1x(job, task), RepeatPlaces(), batch_scores(job.artifacts, task)
    for sample in job.read(task):
        place = places.next(sample) if is_of_1x else RepeatPlace(index_of(sample), 0)
        if sample["status"] not in _REVIEWED:
            continue
        own = _own(sample)
        index = index_of(sample)
        yield (
            _file_of(sample),
            {
                "index": index,
                "target": own["target"] if "target" in own else targets_of(sample, is_of_1x=is_of_1x),
                "messages": _messages(sample, chat_choices(sample, job, written_call), job),
                "agent_trace": own.get("agent_trace"),
                "sample_score": {
                    "score": _authors_score(own, batch.get(str(sample["id"]), {})) if own else _score(sample, job),
                    "sample_id": own.get("sample_id", index),
                    "group_id": own.get("group_id", place.group),
                    "generation_index": own.get("generation_index", place.number),
                    "sample_metadata": _metadata(sample, is_of_1x=is_of_1x),
                },
            },
        )


def _own(sample: StoredSample) -> Mapping[str, Any]:
    """Return the part of a sample's log in which an adapter of EvalScope 1.x has left its score; empty without one."""
    return (sample["log"] or {}).get("sample_score") or {}


def _file_of(sample: StoredSample) -> str:
    """The subset that a sample's file is named after: a collection has one file."""
    return WHOLE if is_of_collection(sample) else label(sample["subset"])


def _authors_score(own: Mapping[str, Any], batch: Mapping[str, Any]) -> dict[str, Any]:
    """The score that an adapter of EvalScope 1.x gave, whole, with the values that it gave to many samples at once."""
    return {
        "value": {**own.get("value", {}), **batch},
        "status": own.get("status", "success"),
        **{
            name: own.get(name)
            for name in ("judge_summary", "extracted_prediction", "prediction", "explanation", "main_score_name")
        },
        "metadata": own.get("metadata", {}),
    }


def _score(sample: StoredSample, job: ExportJob) -> dict[str, Any]:
    """The score of a sample of any other format, or of one that ended without a score, which is excluded there."""
    values = {named(*name): value for name, value in numbers_of(sample).items()} if sample["status"] == "ok" else {}
    raw = next((output["text"] for output in model_outputs(sample) if output.get("text") is not None), None)
    answer = answer_text(sample)
    is_scored = sample["status"] == "ok"
    summary, metadata = (None, {}) if is_scored else judged_in_vain(sample, job)
    return {
        "value": values,
        "status": "success" if is_scored else "excluded",
        "judge_summary": summary,
        "extracted_prediction": answer,
        "prediction": answer if raw is None else raw,
        "explanation": sample["explanation"],
        "metadata": metadata,
        "main_score_name": next(iter(values), None),
    }


def _metadata(sample: StoredSample, *, is_of_1x: bool) -> dict[str, Any]:
    """A sample's metadata: of an adapter of EvalScope 1.x its own, of any other format the row."""
    doc = dict(sample["doc"]) if isinstance(sample["doc"], Mapping) else {}
    if not is_of_1x:
        return doc
    return dict(_own(sample).get("sample_metadata") or doc.get("metadata") or {})


def _messages(sample: StoredSample, choices: list[dict[str, Any]], job: ExportJob) -> list[dict[str, Any]]:
    """The conversation: as the adapter left it where its author led it, else the last request and its answer."""
    led = _own(sample).get("messages")
    if led:
        return list(led_messages(led, sample, job))
    ended = last_exchanges(sample)
    said = chat_messages(messages_of(ended[0]), job, written_call) if ended else []
    return [*said, *(one["message"] for one in choices[:1])]


def _report(own: Mapping[str, Any], task: str, model: str, subsets: Collection[str]) -> dict[str, Any]:
    metrics: list[ReportMetric] = []
    for metric, name, whole, parts in metrics_of(own, subsets):
        identity = _identity(metric, name, whole, [entry.identity for entry in metrics])
        title = named(metric, name)
        leaves = [ReportSubset(name=part, score=value, num=count) for part, value, count in parts]
        metrics.append(
            ReportMetric(
                identity=identity,
                legacy_name=None if identity.name == title else title,
                score=whole["value"],
                categories=[ReportCategory(name=("default",), subsets=leaves)],
                semantics=_semantics(identity.name, title, whole),
            )
        )
    graded = (entry.identity for entry in metrics if entry.semantics.kind is MetricKind.QUALITY)
    report = EvaluationReport(
        name=f"{model}@{task}",
        dataset_name=task,
        dataset_pretty_name=own["alias"] or task,
        model_name=model,
        metrics=metrics,
        primary_metric_identity=next(graded, None),
        execution_summary=_execution(own),
    )
    return report.model_dump(mode="json")


def _execution(own: Mapping[str, Any]) -> ExecutionSummary:
    return ExecutionSummary(
        requested=own["n_samples"],
        succeeded=own["n_scored"],
        errored=sum(own["statuses"].values()) - own["n_scored"],
        incomplete=own["n_scored"] < own["n_samples"],
    )


def _identity(metric: str, name: str, whole: Mapping[str, Any], taken: Collection[MetricIdentity]) -> MetricIdentity:
    """A metric's name as these reports allow it: in small letters, unambiguous, and unlike any other of the report."""
    found = canonicalize_producer_identity(
        metric, "mean" if whole["stderr_method"] == "mean" else "identity", {} if name == "none" else {"filter": name}
    )
    if found not in taken:
        return found
    return found.model_copy(update={"dimensions": {**found.dimensions, "original_name": metric}})


def _semantics(name: str, title: str, whole: Mapping[str, Any]) -> MetricSemantics:
    """Return the meaning of a metric. A metric of unknown direction is shown and not graded."""
    higher = whole.get("higher_is_better")
    kind = MetricKind.DIAGNOSTIC if higher is None else MetricKind.QUALITY
    better = MetricDirection.HIGHER_IS_BETTER if higher else MetricDirection.LOWER_IS_BETTER
    low, high = (whole.get("bounds") or (None, None))[:2]
    is_share = low == 0 and high == 1
    bounds = None
    if low is not None and high is not None and isfinite(low) and isfinite(high) and low < high:
        bounds = ValueRange(min=low, max=high)
    shown: dict[str, Any] = {"display_precision": 4}
    if is_share:
        shown = {"display_kind": "percent", "display_multiplier": 100.0, "display_unit": "%", "display_precision": 1}
    return MetricSemantics(
        semantic_id=f"{kind.value}.{name}.{'ratio' if is_share else 'number'}",
        metric_name=title,
        kind=kind,
        direction=MetricDirection.NONE if higher is None else better,
        value_range=bounds,
        **shown,
    )
