"""A run of any format as EvalScope 0.17's files: ``predictions/``, ``reviews/``, ``reports/`` and ``configs/``."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from polymeter.core.machine.places import stored_at
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import StoredSample, answer_text, model_outputs, named, numbers_of
from polymeter.interop.evalscope.export_parts import (
    SubsetRecord,
    adjacent,
    metrics_of,
    model_id,
    write_config,
    write_lines,
)
from polymeter.interop.evalscope.results import prediction_records, review_records
from polymeter.interop.evalscope.tasks.scoring.report import Category, Metric, Report, Subset


def write_export(job: ExportJob) -> None:
    """Write the files of ``evalscope eval``, in a work folder without the time in its name.

    Args:
        job: The run.
    """
    model = model_id(job)
    for task, own in job.results["tasks"].items():
        predictions = adjacent(lambda task=task: prediction_records(_exported_samples(job, task), model))  # type: ignore[misc]
        write_lines(job.folder / "predictions" / model, task, predictions)
        reviews = adjacent(lambda task=task: _reviews(job, task, model))  # type: ignore[misc]
        subsets = write_lines(job.folder / "reviews" / model, task, reviews)
        _write_report(job, task, own, model, subsets)
    write_config(job, "task_config_000000.yaml")
    job.leave_out_usual()
    if any(result["stderr"] is not None for own in job.results["tasks"].values() for result in own["results"]):
        job.leave_out("standard errors")
    if job.results["groups"]:
        job.leave_out("numbers of groups")


def _write_report(job: ExportJob, task: str, own: Mapping[str, Any], model: str, subsets: Collection[str]) -> None:
    """The report that the benchmark has written itself, if there is one; else one of its numbers."""
    path = job.folder / "reports" / model / f"{task}.json"
    written = next(iter(sorted((job.artifacts / "reports").glob(f"*/{task}.json"))), None)
    metrics = [
        Metric(
            named(metric, name),
            categories=[Category(("default",), subsets=[Subset(*part_of(part)) for part in parts])],
        )
        for metric, name, _, parts in metrics_of(own, subsets)
    ]
    if written is not None and not job.is_partial:
        with stored_at(path, "Copying a report"):
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(written, path)
    elif metrics:
        title = own["alias"] or task
        Report(f"{model}@{task}", task, title, model_name=model, metrics=metrics).to_json(path)


def part_of(part: tuple[str, float, int]) -> tuple[str, float, int]:
    """The arguments of a ``Subset``."""
    name, value, count = part
    return name, float(value), count


def _exported_samples(job: ExportJob, task: str) -> Iterator[StoredSample]:
    """Samples, with the places of generated images in place of their names, and with the choice that was likeliest as
    the answer to a request for log-probabilities.
    """
    folder = f"predictions/{model_id(job)}/images"
    for sample in job.read(task):
        for exchange in sample["exchanges"]:
            for output in exchange["response"]["outputs"]:
                if output.get("images"):
                    output["images"] = [
                        job.copied(name, folder) or f"media/{name[:2]}/{name}" for name in output["images"]
                    ]
        is_ranked = any(output.get("logprobs") for output in model_outputs(sample))
        if is_ranked and not sample["log"].get("contents"):
            yield {**sample, "log": {**sample["log"], "contents": [answer_text(sample)]}}
        else:
            yield sample


def _reviews(job: ExportJob, task: str, model: str) -> Iterator[SubsetRecord]:
    """The reviews that an adapter has made; of other benchmarks, target, answer and numbers of each sample."""

    def reviewed() -> Iterator[StoredSample]:
        for sample in _exported_samples(job, task):
            if not sample["log"].get("reviews"):
                yield {**sample, "log": {**sample["log"], "reviews": [_review(sample)]}}
            else:
                yield sample

    names = [named(metric, name) for metric, name, _, _ in metrics_of(job.results["tasks"][task], ())]
    spec = {"metric": names, "reviewer": ["Polymeter"], "revision": ["default"]}
    return ((subset, {**record, "reviewer_spec": spec}) for subset, record in review_records(reviewed(), model))


def _review(sample: StoredSample) -> dict[str, Any]:
    numbers = {named(*name): value for name, value in numbers_of(sample).items()}
    result: Any = next(iter(numbers.values())) if len(numbers) == 1 else numbers
    return {"gold": sample["target"], "pred": answer_text(sample), "result": result}
