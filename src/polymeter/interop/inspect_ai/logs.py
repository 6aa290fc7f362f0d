"""Reads logs of Inspect: one file for each task, or a folder of the files of one model.

Each scorer is a metric by its name, each key of a score that is a mapping one by ``scorer/key``. The letters in which
scorers grade become numbers as Inspect's own metrics make them. Epochs are repeats: a sample's value is their mean, and
that of any other reducer stands beside it under the reducer's name, where Polymeter names filters.

A sample's id is its place in the dataset, which is its id in a run of Polymeter; if the log does not record the order
of the dataset, it is the id that the author gave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.logs import LoggedRun, LoggedSample, LoggedTask, LogReader, StatedResult
from polymeter.core.records.log_values import logged_text
from polymeter.core.task import MetricKey
from polymeter.core.text.finite import finite_number
from polymeter.interop.inspect_ai.log_files import LogFile, is_log_file, open_log_file
from polymeter.interop.inspect_ai.log_messages import exchange_of, turns_of

_GRADES = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MEANS = ("accuracy", "mean")
_NO_FILTER = "none"


def _recognise(path: Path) -> bool:
    return any(map(is_log_file, _candidates(path)))


def _candidates(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix in (".eval", ".json") and file.is_file())
    return [path]


def _read_log(path: Path) -> LoggedRun:
    files = [open_log_file(file) for file in _candidates(path) if file == path or is_log_file(file)]
    if not files:
        raise PlanError(f"There is no log of Inspect at {path}.", hint=f"Name {READER.holds}.")
    _check_one_run(files, path)
    first = files[0].header
    stats = [file.header.get("stats") or {} for file in files]
    evaluation = first["eval"]
    return LoggedRun(
        title="Inspect",
        version=str((evaluation.get("packages") or {}).get("inspect_ai") or ""),
        model=str(evaluation.get("model") or ""),
        tasks=tuple(map(_task, files)),
        settings={
            key: evaluation[key]
            for key in ("model", "model_args", "model_generate_config", "config", "revision")
            if evaluation.get(key)
        },
        started=min((str(one["started_at"]) for one in stats if one.get("started_at")), default=""),
        ended=max((str(one["completed_at"]) for one in stats if one.get("completed_at")), default=""),
        seconds=_seconds(stats),
        files=tuple(file.path for file in files),
        notes=tuple(note for file in files for note in _notes(file)),
    )


READER = LogReader(_recognise, _read_log, "a .eval or .json log, or a folder with the logs of one model")


def _check_one_run(files: Sequence[LogFile], path: Path) -> None:
    """Refuse a folder if its logs are not one run."""
    models = sorted({str(file.header["eval"].get("model")) for file in files})
    if len(models) > 1:
        raise PlanError(f"The folder {path} has logs of several models: {', '.join(models)}.", hint="Name one log.")
    names = [_task_name(file) for file in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PlanError(f"The folder {path} has several logs of {', '.join(twice)}.", hint="Name one of them.")


def _seconds(stats: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the seconds that all logs took together; ``None`` if one does not record it."""
    try:
        spans = [
            datetime.fromisoformat(str(one["completed_at"])) - datetime.fromisoformat(str(one["started_at"]))
            for one in stats
        ]
    except (KeyError, ValueError):
        return None
    return sum(span.total_seconds() for span in spans)


def _task_name(file: LogFile) -> str:
    """The name of a task, without that of the package it comes from."""
    return str(file.header["eval"].get("task") or file.path.stem).rpartition("/")[2]


def _task(file: LogFile) -> LoggedTask:
    evaluation = file.header["eval"]
    dataset = evaluation.get("dataset") or {}
    version = evaluation.get("task_version")
    ids = dataset.get("sample_ids")
    config = {
        "dataset": {key: dataset[key] for key in ("name", "location", "shuffled") if dataset.get(key)},
        "task_args": evaluation.get("task_args"),
        "solver": [step.get("solver") for step in (file.header.get("plan") or {}).get("steps") or ()],
        "scorers": [scorer.get("name") for scorer in evaluation.get("scorers") or ()],
        "epochs": (evaluation.get("config") or {}).get("epochs"),
    }
    return LoggedTask(
        name=_task_name(file),
        results=tuple(_results(file.header.get("results") or {})),
        samples=partial(_logged_samples, file),
        version="" if version in (None, 0, "0") else str(version),
        n_samples=len(ids) if isinstance(ids, list) and ids else None,
        config={key: value for key, value in config.items() if value},
    )


def _results(results: Mapping[str, Any]) -> Iterator[StatedResult]:
    """The results of a log. A mean of samples has the name of its scorer, any other number its own behind it."""
    for score in results.get("scores") or ():
        metrics = [one for one in (score.get("metrics") or {}).values() if isinstance(one, Mapping)]
        main = next((one for one in metrics if _metric_name(one) in _MEANS), None)
        error = next((one.get("value") for one in metrics if _metric_name(one) == "stderr"), None)
        key = _result_name(score)
        for metric in metrics:
            if metric is not main and _metric_name(metric) == "stderr" and main is not None:
                continue
            yield StatedResult(
                key if metric is main else f"{key}/{_metric_name(metric)}",
                _filter(score.get("reducer")),
                _finite(metric.get("value")),
                stderr=_finite(error) if metric is main else None,
                n=score.get("scored_samples"),
                higher_is_better=True if metric is main and _metric_name(metric) == "accuracy" else None,
            )


def _result_name(score: Mapping[str, Any]) -> str:
    name, scorer = str(score.get("name")), str(score.get("scorer") or score.get("name"))
    return name if name == scorer else f"{scorer}/{name}"


def _metric_name(metric: Mapping[str, Any]) -> str:
    return str(metric.get("name")).rpartition("/")[2]


def _filter(reducer: Any) -> str:
    return _NO_FILTER if reducer in (None, "mean") else str(reducer)


def _notes(file: LogFile) -> Iterator[str]:
    header, name = file.header, _task_name(file)
    if header.get("status") != "success":
        why = (header.get("error") or {}).get("message")
        yield f"{name}: Inspect's run did not end well (status {header.get('status')}{f': {why}' if why else ''})."
    if header.get("invalidated"):
        yield f"{name}: samples of the log are marked as invalid."
    if _order(file) is None:
        yield f"{name}: the log does not record the order of the dataset; samples have their author's ids."


def _order(file: LogFile) -> Mapping[str, int] | None:
    """The place of each id in the dataset; ``None``: the log does not say it."""
    evaluation = file.header["eval"]
    dataset, config = evaluation.get("dataset") or {}, evaluation.get("config") or {}
    ids = dataset.get("sample_ids")
    if not ids or dataset.get("shuffled") or config.get("sample_id") or config.get("sample_shuffle"):
        return None
    limit = config.get("limit")
    start = int(limit[0]) if isinstance(limit, list) and limit else 0
    return {str(name): start + place for place, name in enumerate(ids)}


def _logged_samples(file: LogFile) -> Iterator[LoggedSample]:
    """The samples in the order in which the log has them."""
    order = _order(file)
    reductions = _reductions(file.header)
    for place, epochs in enumerate(file.samples()):
        name = str(epochs[0].get("id"))
        index = place if order is None else order.get(name, place)
        yield _sample(file, name if order is None else str(index), index, epochs, reductions.get(name, {}))


def _reductions(header: Mapping[str, Any]) -> dict[str, dict[MetricKey, float]]:
    """By id what reducers other than the mean came to."""
    found: dict[str, dict[MetricKey, float]] = {}
    for one in header.get("reductions") or ():
        reducer = _filter(one.get("reducer"))
        for sample in one.get("samples") or () if reducer != _NO_FILTER else ():
            own = found.setdefault(str(sample.get("sample_id")), {})
            own.update(
                ((name, reducer), value) for name, value in _graded_numbers(str(one.get("scorer")), sample.get("value"))
            )
    return found


def _sample(
    file: LogFile,
    name: str,
    index: int,
    epochs: Sequence[Mapping[str, Any]],
    reduced: Mapping[MetricKey, float],
) -> LoggedSample:
    """One sample from its epochs. One that failed or was cut off in all of them has no score."""
    values: dict[str, list[float]] = {}
    scored = [epoch for epoch in epochs if epoch.get("scores") and not epoch.get("error")]
    for epoch in scored:
        for scorer, score in epoch["scores"].items():
            for key, value in _graded_numbers(str(scorer), (score or {}).get("value")):
                values.setdefault(key, []).append(value)
    scores: dict[MetricKey, Any] = {(key, _NO_FILTER): math.fsum(own) / len(own) for key, own in values.items()}
    if scores:
        scores |= reduced
    status, error = _ending(epochs, is_scored=bool(scores))
    first = epochs[0]
    main: Mapping[str, Any] = next((score for epoch in scored for score in epoch["scores"].values() if score), {})
    return LoggedSample(
        name,
        index,
        doc=_doc(first, is_named=first.get("id") != index + 1),
        exchanges=tuple(exchange for epoch in epochs if (exchange := exchange_of(epoch, file.header)) is not None),
        scores=scores,
        target=_text_of_one(first.get("target")),
        answer=_text_of_one(main.get("answer")),
        explanation=_text_of_one(main.get("explanation")),
        status=status,  # type: ignore[arg-type]
        error=error,
        log=_log(epochs),
    )


def _graded_numbers(scorer: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return the values of a score. A value that Inspect counts as 0 because it is not a number is left out."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _graded_numbers(f"{scorer}/{key}", item)
    elif isinstance(value, str):
        number = _GRADES.get(value.lower(), finite_number(value))
        if number is not None:
            yield scorer, number
    elif isinstance(value, (bool, int, float)) and math.isfinite(value):
        yield scorer, float(value)


def _ending(epochs: Sequence[Mapping[str, Any]], *, is_scored: bool) -> tuple[str, str | None]:
    """Return the status of a sample, and the reason why it has no score."""
    if is_scored:
        return "ok", None
    error = next((epoch["error"] for epoch in epochs if epoch.get("error")), None)
    if error is not None:
        return "error", str(error.get("message") or "Inspect names no reason.")
    limit = next((epoch["limit"] for epoch in epochs if epoch.get("limit")), None)
    if limit is not None:
        return "truncated", f"It reached a limit of the run: {limit.get('type')}."
    return "unscored", "Inspect gave no score."


def _doc(sample: Mapping[str, Any], *, is_named: bool) -> dict[str, Any]:
    """The row: input, choices, target and metadata, without media, and the id if the author gave it."""
    given = sample.get("input")
    text = given if isinstance(given, str) else turns_of(given or ())
    row = {
        "id": sample.get("id") if is_named else None,
        "input": text,
        "choices": sample.get("choices"),
        "target": sample.get("target"),
    }
    return {**{key: value for key, value in row.items() if value is not None}, **(sample.get("metadata") or {})}


def _log(epochs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what else is known of a sample: the scores of each epoch, and the limits that ended it."""
    found: dict[str, Any] = {}
    if len(epochs) > 1:
        found["epochs"] = [
            {scorer: (score or {}).get("value") for scorer, score in (epoch.get("scores") or {}).items()}
            for epoch in epochs
        ]
    limits = [epoch["limit"].get("type") for epoch in epochs if epoch.get("limit")]
    return {**found, "limits": limits} if limits else found


def _text_of_one(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return logged_text(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
