"""A run of any format as EvalScope 1.x's files: ``predictions/``, ``reviews/``, ``reports/`` (version 2) and
``configs/``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from math import fsum
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
from polymeter.interop.evalscope.export_parts import adjacent, label, metrics_of, model_id, rounded, write_config
from polymeter.interop.evalscope.results import SubsetRecord, index_of, write_lines

_SCHEMA = 2
_AMBIGUOUS = ("score", "overall", "total_score")
"""Names that its reports refuse, because they do not name a measurement."""


def write_export(job: ExportJob) -> None:
    """Write the files of ``evalscope eval --no-timestamp``.

    Args:
        job: The run.
    """
    model = model_id(job)
    for task, own in job.results["tasks"].items():
        predictions = adjacent(lambda task=task: _predictions(job, task))  # type: ignore[misc]
        write_lines(job.folder / "predictions" / model, task, predictions)
        reviews = adjacent(lambda task=task: _reviews(job, task))  # type: ignore[misc]
        subsets = write_lines(job.folder / "reviews" / model, task, reviews)
        path = job.folder / "reports" / model / f"{task}.json"
        with stored_at(path, "Writing the report"), replacing(path) as file:
            file.write(json_text(_report(own, task, model, subsets), nan=None, indent=4))
    write_config(job, "task_config.yaml")
    job.leave_out_usual()
    if any(result["stderr"] is not None for own in job.results["tasks"].values() for result in own["results"]):
        job.leave_out("standard errors")
    if job.results["groups"]:
        job.leave_out("numbers of groups")


def _predictions(job: ExportJob, task: str) -> Iterator[SubsetRecord]:
    for sample in job.read(task):
        choices = chat_choices(sample, job)
        if not choices:
            continue
        tokens = tokens_of(sample)
        usage = None
        if tokens is not None:
            usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
        yield (
            label(sample["subset"]),
            {
                "index": index_of(sample),
                "model": job.model,
                "model_output": {"model": job.model, "choices": choices, "usage": usage},
                "messages": _messages(sample, choices, job),
                "agent_trace": None,
                "metadata": _metadata(sample),
            },
        )


def _reviews(job: ExportJob, task: str) -> Iterator[SubsetRecord]:
    for sample in job.read(task):
        if sample["status"] != "ok":
            continue
        values = {named(*name): value for name, value in numbers_of(sample).items()}
        raw = next((output["text"] for output in model_outputs(sample) if output.get("text") is not None), None)
        answer, index = answer_text(sample), index_of(sample)
        yield (
            label(sample["subset"]),
            {
                "index": index,
                "target": [str(sample["target"])] if sample["target"] else None,
                "messages": _messages(sample, chat_choices(sample, job), job),
                "agent_trace": None,
                "sample_score": {
                    "score": {
                        "value": values,
                        "status": "success",
                        "judge_summary": None,
                        "extracted_prediction": answer,
                        "prediction": answer if raw is None else raw,
                        "explanation": sample["explanation"],
                        "metadata": {},
                        "main_score_name": next(iter(values), None),
                    },
                    "sample_id": index,
                    "group_id": index,
                    "generation_index": 0,
                    "sample_metadata": _metadata(sample),
                },
            },
        )


def _metadata(sample: StoredSample) -> dict[str, Any]:
    return dict(sample["doc"]) if isinstance(sample["doc"], Mapping) else {}


def _messages(sample: StoredSample, choices: list[dict[str, Any]], job: ExportJob) -> list[dict[str, Any]]:
    ended = last_exchanges(sample)
    return [*(chat_messages(messages_of(ended[0]), job) if ended else ()), *(one["message"] for one in choices[:1])]


def _report(own: Mapping[str, Any], task: str, model: str, subsets: Collection[str]) -> dict[str, Any]:
    metrics: list[dict[str, Any]] = []
    for metric, name, whole, parts in metrics_of(own, subsets):
        identity = _identity(metric, name, whole, [entry["identity"] for entry in metrics])
        semantics = _semantics(identity["name"], named(metric, name), whole)
        scores = [
            {"name": part, "score": rounded(value), "num": count, "metadata": None, "is_aggregate": False}
            for part, value, count in parts
        ]
        count, score = sum(part[2] for part in parts), rounded(whole["value"])
        macro = rounded(fsum(rounded(part[1]) for part in parts) / len(parts))
        category = {"name": ["default"], "num": count, "score": score, "macro_score": macro, "subsets": scores}
        metrics.append(
            {
                "identity": identity,
                "legacy_name": None if identity["name"] == named(metric, name) else named(metric, name),
                "num": count,
                "score": score,
                "macro_score": macro,
                "categories": [category],
                "semantics": semantics,
            }
        )
    graded = (entry["identity"] for entry in metrics if entry["semantics"]["kind"] == "quality")
    return {
        "schema_version": _SCHEMA,
        "name": f"{model}@{task}",
        "dataset_name": task,
        "dataset_pretty_name": own["alias"] or task,
        "dataset_description": "",
        "model_name": model,
        "metrics": metrics,
        "analysis": "N/A",
        "perf_metrics": None,
        "primary_metric_identity": next(graded, None),
        "primary_metric_unavailable_reason": None,
        "judge_summary": None,
        "execution_summary": _execution(own),
        "num": metrics[0]["num"] if metrics else 0,
    }


def _execution(own: Mapping[str, Any]) -> dict[str, Any]:
    n_failed = sum(own["statuses"].values()) - own["n_scored"]
    counts = {"requested": own["n_samples"], "succeeded": own["n_scored"], "errored": n_failed}
    return {**counts, "incomplete": own["n_scored"] < own["n_samples"], "subsets": {}}


def _identity(metric: str, name: str, whole: Mapping[str, Any], taken: list[dict[str, Any]]) -> dict[str, Any]:
    """A metric's name as these reports allow it: in small letters, unambiguous, and unlike any other of the report."""
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", metric).lower()).strip("_")
    is_usable = bool(re.match(r"[a-z]", plain)) and plain not in _AMBIGUOUS
    identity: dict[str, Any] = {
        "name": plain if is_usable else "legacy_metric",
        "aggregation": "mean" if whole["stderr_method"] == "mean" else "identity",
        "dimensions": {} if name == "none" else {"filter": name},
    }
    if not is_usable or identity in taken:
        identity["dimensions"]["original_name"] = metric
    return identity


def _semantics(name: str, title: str, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return the meaning of a metric. A metric of unknown direction is shown and not graded."""
    higher = whole.get("higher_is_better")
    direction = "none" if higher is None else "higher_is_better" if higher else "lower_is_better"
    low, high = (whole.get("bounds") or (None, None))[:2]
    is_share = low == 0 and high == 1
    return {
        "semantic_id": f"{'diagnostic' if higher is None else 'quality'}.{name}.{'ratio' if is_share else 'number'}",
        "metric_name": title,
        "display_name": None,
        "kind": "diagnostic" if higher is None else "quality",
        "direction": direction,
        "raw_unit": None,
        "value_range": None if low is None or high is None else {"min": float(low), "max": float(high)},
        "display_kind": "percent" if is_share else "number",
        "display_multiplier": 100.0 if is_share else None,
        "display_unit": "%" if is_share else None,
        "display_precision": 1 if is_share else 4,
    }
