"""EvalScope's prediction and review files, made from a run folder's samples with one line for each, and its reports,
copied from the run folder.

A prediction is the model's answer in the form of an OpenAI response; a review adds how each answer was scored. A sample
without an answer has no line in either file, and one without a score none among the reviews; the run folder has all of
them, with the reasons.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from polymeter.core.names.stable_names import TASK_FORMAT
from polymeter.interop.evalscope.config import TaskConfig
from polymeter.interop.evalscope.export_parts import SubsetRecord, file_name, index_of, write_lines, write_together
from polymeter.interop.evalscope.review_parts import is_of_collection
from polymeter.interop.evalscope.tasks.collection import COLLECTION, LEVELS, collection_name, level_tables
from polymeter.interop.evalscope.tasks.index import NAME_1X
from polymeter.interop.evalscope.tasks.scoring.report import Report
from polymeter.interop.evalscope.v1.constants import DataCollection
from polymeter.reading.stored import samples_as_read
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder

if TYPE_CHECKING:
    from polymeter.interop.evalscope.v1.report.tree import EvaluationReport

AnyReport: TypeAlias = "Report | EvaluationReport"
Sample = Mapping[str, Any]
_ROLE = "model"


def write_files(run: RunFolder, root: Path, config: TaskConfig) -> dict[str, AnyReport]:
    """Write EvalScope's files, in place of those of an earlier scoring.

    Args:
        run: The run folder.
        root: The work folder.
        config: The evaluation.

    Returns:
        The report of each dataset that has one.
    """
    model_id = str(config.model_id)
    source, reports = run.artifacts / "reports", root / "reports"
    formats = {task["name"]: task.get(TASK_FORMAT) for task in run.read_manifest()["tasks"]}
    for name in run.read_results()["tasks"]:
        stem = report_name(run, config, name)
        if formats.get(name) == NAME_1X or (name == COLLECTION and _is_collection_1x(run)):
            _write_as_1x(run, root, name, model_id)
            continue
        predicted = prediction_records(_samples_as_read(run, name), model_id)
        if name == COLLECTION:
            subsets = write_together(root / "predictions" / model_id / f"{stem}.jsonl", predicted)
        else:
            subsets = write_lines(root / "predictions" / model_id, stem, predicted)
        if config.stage != "infer":
            folder = root / "reviews" / model_id
            reviewed: Iterable[SubsetRecord] = review_records(_samples_as_read(run, name), model_id)
            if name == COLLECTION:  # a limit draws from all of it, so the samples of a subset need not be adjacent
                reviewed = sorted(reviewed, key=lambda pair: pair[0])
            scored = write_lines(folder, stem, reviewed)
            for subset in subsets - scored:
                (folder / file_name(stem, subset)).unlink(missing_ok=True)
            (reports / model_id / f"{stem}.json").unlink(missing_ok=True)
    if source.is_dir():
        shutil.copytree(source, reports, dirs_exist_ok=True)
    names = [report_name(run, config, dataset) for dataset in config.datasets]
    files = {name: source / model_id / f"{name}.json" for name in names}
    return {
        name: _read_report(file, is_newer=formats.get(name) == NAME_1X or _is_collection_1x(run, name))
        for name, file in files.items()
        if file.is_file()
    }


def _is_collection_1x(run: RunFolder, name: str = COLLECTION) -> bool:
    """Return whether a task is a collection of EvalScope 1.x's samples, whose lines stand in their metadata."""
    if name != COLLECTION or COLLECTION not in run.read_results()["tasks"]:
        return False
    first = next(iter(read_samples(run, COLLECTION)), None)
    return first is not None and is_of_collection(first)


def _write_as_1x(run: RunFolder, root: Path, task: str, model_id: str) -> None:
    """Write the predictions and reviews of a benchmark of EvalScope 1.x in its own form."""
    from polymeter.core.records.exporting import ExportJob
    from polymeter.interop.evalscope.exports_1x import write_samples
    from polymeter.store.media import media_path

    job = ExportJob(
        run.path,
        run.read_manifest(),
        run.read_results(),
        lambda name: _samples_as_read(run, name),
        lambda name: media_path(run.media, name),
        run.artifacts,
        root,
    )
    write_samples(job, task, model_id)


def _read_report(file: Path, *, is_newer: bool) -> AnyReport:
    if not is_newer:
        return Report.as_written(file)
    from polymeter.interop.evalscope.v1.report.tree import EvaluationReport

    return EvaluationReport.from_json(str(file))


def level_reports(run: RunFolder) -> list[str]:
    """For each collection of a run its means by level, as tables."""
    files = {run.artifacts / LEVELS / f"{name}.json": "pretty" for name in _collections(run)}
    newer = (run.artifacts / "reports").glob(f"*/{DataCollection.REPORT_NAME}")
    files |= dict.fromkeys(sorted(newer), "simple_grid")
    return [level_tables(json.loads(file.read_text(encoding="utf-8")), style) for file, style in files.items()]


def _collections(run: RunFolder) -> list[str]:
    """The names of a run's collections, which are those of their files."""
    return sorted(file.stem for file in (run.artifacts / LEVELS).glob("*.json"))


def report_name(run: RunFolder, config: TaskConfig, dataset: str) -> str:
    """Return the name of the report and the files of a dataset. A collection of 0.17 is named after its file."""
    if dataset != COLLECTION or _is_collection_1x(run):
        return dataset
    return next(iter(_collections(run)), "") or collection_name(config.dataset_args)


def predictions(run: RunFolder, config: TaskConfig) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The predictions of each subset of each dataset, as ``write_files`` writes them."""
    by_dataset: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in run.read_results()["tasks"]:
        by_subset = by_dataset.setdefault(name, {})
        for subset, record in prediction_records(_samples_as_read(run, name), str(config.model_id)):
            by_subset.setdefault(subset, []).append(record)
    return by_dataset


def prediction_records(samples: Iterable[Sample], model_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The subset and prediction of every sample with an answer, in sample order.

    Args:
        samples: The run folder's samples.
        model_id: The model's name in reports.
    """
    for sample in samples:
        exchanges = [exchange for exchange in sample["exchanges"] if exchange["role"] == _ROLE]
        if exchanges:
            yield subset_of(sample), _prediction(sample, exchanges, model_id)


def review_records(samples: Iterable[Sample], model_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The subset and review of every scored sample, in sample order; see ``prediction_records``."""
    for sample in samples:
        reviews = sample["log"].get("reviews")
        exchanges = [exchange for exchange in sample["exchanges"] if exchange["role"] == _ROLE]
        if sample["status"] == "ok" and reviews and exchanges:
            yield subset_of(sample), _review(sample, _prediction(sample, exchanges, model_id), reviews)


def _samples_as_read(run: RunFolder, task: str) -> Iterator[dict[str, Any]]:
    return samples_as_read(read_samples(run, task), run.read_manifest(), task)


def subset_of(sample: Sample) -> str:
    """The subset that a sample belongs to."""
    return str(sample["subset"][0]) if sample["subset"] else "default"


def _prediction(sample: Sample, exchanges: list[Mapping[str, Any]], model_id: str) -> dict[str, Any]:
    request = exchanges[0]["request"]
    outputs = [output for exchange in exchanges for output in exchange["response"]["outputs"]]
    counts = [output["usage"] for output in outputs if output.get("usage")]
    inputs, answers = (sum(usage[position] or 0 for usage in counts) for position in (0, 1))
    return {
        "choices": _derived(sample) or [_choice(number, output) for number, output in enumerate(outputs)],
        "model": model_id,
        "object": "chat.completion",
        "usage": {"prompt_tokens": inputs, "completion_tokens": answers, "total_tokens": inputs + answers},
        "model_spec": {"model_id": model_id, "generation_config": (request or {}).get("ask", {})},
        "answer_id": _digest([model_id, request]),
        "subset_name": subset_of(sample),
        "raw_input": sample["doc"],
        "index": index_of(sample),
    }


def _review(sample: Sample, prediction: dict[str, Any], reviews: list[Any]) -> dict[str, Any]:
    choices = prediction["choices"]
    if len(choices) != len(reviews):  # several requests, or log-probabilities, give one answer
        message = {"role": "assistant", "content": sample.get("answer")}
        choices = [{"index": number, "message": message} for number in range(len(reviews))]
    return {
        **prediction,
        "choices": [{**choice, "review": review} for choice, review in zip(choices, reviews, strict=True)],
        "reviewed": True,
        "review_id": _digest([prediction["answer_id"], reviews]),
    }


def _derived(sample: Sample) -> list[dict[str, Any]]:
    """Answers derived from log-probabilities: the likeliest choice, or one number for each continuation."""
    return [
        {"index": number, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        for number, content in enumerate(sample["log"].get("contents", ()))
    ]


def _choice(number: int, output: Mapping[str, Any]) -> dict[str, Any]:
    content: Any = output.get("text")
    if content is None:
        content = output.get("logprobs") or output.get("images")
    message = {"role": "assistant", "content": content}
    if output.get("reasoning"):
        message["reasoning_content"] = output["reasoning"]
    return {"index": number, "finish_reason": output.get("finish_reason"), "message": message}


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
