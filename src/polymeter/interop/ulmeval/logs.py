"""Reads the output folders of VLMEvalKit, and of ULMEvalKit, which names its files alike.

::

    <work>/<model>/<model>_<dataset>.xlsx                          answers, with the columns of the table
    <work>/<model>/<model>_<dataset>_<judge>_result.xlsx           multiple choice: ``hit`` of each row
    <work>/<model>/<model>_<dataset>_auxmatch.xlsx                 yes or no: ``score`` of each row
    <work>/<model>/<model>_<dataset>_results.xlsx                  open questions: ``eval_score`` of each row
    <work>/<model>/<model>_<dataset>_acc.csv, …_score.csv, .json   numbers

Tables may also be ``tsv``, ``json`` or ``pkl``; pickles are read as data. A sample is the row's ``index``, as in a run
of Polymeter. A text that reports a failed request is a failure, though the tools score it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.logs import (
    LoggedExchange,
    LoggedOutput,
    LoggedRun,
    LoggedSample,
    LoggedTask,
    LogReader,
    StatedResult,
    read_json,
)
from polymeter.core.task import MetricKey
from polymeter.core.text.finite import finite_number
from polymeter.interop.ulmeval.log_files import (
    INDEX,
    PREDICTION,
    SCORE_COLUMNS,
    Files,
    found_in,
    model_of,
    numbers_beside,
    table_of,
)

if TYPE_CHECKING:
    import pandas as pd

_STATUS = "status.json"
_FAILED = "Failed to obtain answer"
_STEP = 1_000_000
_NO_COLUMNS = frozenset(
    {"index", "prediction", "hit", "log", "eval_gt", "eval_pred", "eval_match", "eval_score", "image"}
)
_VQA_METRICS = {
    "TextVQA": "vqa_accuracy",
    "ChartQA": "relaxed_accuracy",
    "OCRVQA": "accuracy",
    "GQA": "accuracy",
    "DocVQA": "anls",
    "InfoVQA": "anls",
}
_ACC = "acc"
_CIRCULAR = "circular_acc"
_VQA = "vqa_accuracy"
_OVERALL, _NO_FILTER = "overall", "none"
_PERCENT = 100.0
_EXPORTED = ("metric", "category", "value", "stderr", "n")
"""The columns of the table of numbers that ``polymeter export`` writes."""
_GROUPS = ("split", "l2-category", "category")


@dataclass(frozen=True, slots=True)
class _LogScores:
    """The content of the scored table.

    Attributes:
        metric: The name of its scores.
        values: A number for each row that has one, by index.
        others: Further scores of rows, by metric.
        texts: What was read of the answer, by index.
        logs: How it was read, by index.
    """

    metric: str
    values: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)


def _recognise(path: Path) -> bool:
    folder, files = (path, sorted(path.iterdir())) if path.is_dir() else (path.parent, [path])
    return model_of(folder, [file for file in files if file.is_file()]) is not None


def _read_log(path: Path) -> LoggedRun:
    folder = path if path.is_dir() else path.parent
    found = found_in(folder, None if path.is_dir() else path)
    if not found:
        raise PlanError(f"There are no predictions of VLMEvalKit in {path}.", hint=f"Name {READER.holds}.")
    model, datasets = found[0], found[1]
    status = read_json(folder / _STATUS) if (folder / _STATUS).is_file() else {}
    read = [file for own in datasets for file in (own.predictions, own.scored, own.numbers) if file is not None]
    return LoggedRun(
        title="VLMEvalKit",
        version=str(status.get("commit") or ""),
        model=model,
        tasks=tuple(_task(own, (status.get("datasets") or {}).get(own.dataset) or {}) for own in datasets),
        settings={key: status[key] for key in ("eval_id", "mode", "reuse") if status.get(key) is not None},
        started=str(status.get("created_at") or ""),
        ended=str(status.get("updated_at") or ""),
        files=tuple(dict.fromkeys(read)),
        notes=tuple(note for own in datasets for note in _notes(own)),
    )


READER = LogReader(_recognise, _read_log, "the folder of a model with its prediction files, or one of these")


def _task(own: Files, status: Mapping[str, Any]) -> LoggedTask:
    scores = _scores_of(own)
    return LoggedTask(
        name=own.dataset,
        results=tuple(_results(own, scores)),
        samples=partial(_logged_samples, own, scores),
        config={"judge": status["judge_model"]} if status.get("judge_model") else {},
    )


def _notes(own: Files) -> Iterator[str]:
    if own.scored is None:
        yield f"{own.dataset}: the log has no table of scored answers, so single samples have no scores."
    n_failed = sum(_is_failed(value) for value in table_of(own.predictions, INDEX, PREDICTION)["prediction"])
    if n_failed:
        yield f"{own.dataset}: answers that failed, which VLMEvalKit scores like answers: {n_failed}."


def _scores_of(own: Files) -> _LogScores:
    """The score of each row. Of circular evaluation only the original of a question has one: whether all its
    rotations were answered right.
    """
    if own.scored is None:
        return _LogScores("")
    table = table_of(own.scored, INDEX)
    known = next((name for name in SCORE_COLUMNS if name in table), None)
    columns = numbers_beside(table, table_of(own.predictions, INDEX, PREDICTION))
    exported = _exported_metrics(own)
    if known is None:
        metric = ""
    elif exported:
        metric, columns = exported[0], [known, *(name for name in columns if name in exported[1:])]
    else:
        metric, columns = _metric(own, table, known), [known]
    names = [_sample_name(value) for value in table[INDEX]]
    values = {
        column: {
            name: number
            for name, value in zip(names, table[column], strict=True)
            if (number := _logged_number(value)) is not None
        }
        for column in columns
    }
    texts, logs = (
        {name: str(value) for name, value in zip(names, table[other], strict=True) if not _is_empty(value)}
        if other in table
        else {}
        for other in ("extracted", "log")
    )
    if not columns:
        return _LogScores("", texts=texts, logs=logs)
    main, *further = columns
    return _LogScores(metric or main, values[main], {column: values[column] for column in further}, texts, logs)


def _exported_metrics(own: Files) -> list[str]:
    """The metrics of a run that Polymeter has exported: its table of numbers names them, the first one of which the
    scored table has as ``hit``. None of what the tool itself has written.
    """
    file = own.predictions.with_name(f"{own.predictions.stem}_score.csv")
    if not file.is_file():
        return []
    table = table_of(file)
    return list(dict.fromkeys(map(str, table["metric"]))) if tuple(table.columns) == _EXPORTED else []


def _metric(own: Files, table: pd.DataFrame, column: str) -> str:
    """The name under which Polymeter knows the number of a row."""
    if column == "eval_score":
        return next((metric for part, metric in _VQA_METRICS.items() if part in own.dataset), _VQA)
    if (
        column == "hit"
        and len(table) < len(table_of(own.predictions, INDEX, PREDICTION))
        and _has_rotations(table_of(own.predictions, INDEX, PREDICTION))
    ):
        return _CIRCULAR
    return _ACC if column == "hit" or "extracted" in table else column


def _has_rotations(table: pd.DataFrame) -> bool:
    if "g_index" in table:
        return True
    names = {_sample_name(value) for value in table["index"]}
    return any(name.isdecimal() and int(name) >= _STEP and str(int(name) % _STEP) in names for name in names)


def _results(own: Files, scores: _LogScores) -> Iterator[StatedResult]:
    """The overall number, and those of splits and categories, as shares: the tools give some in percent.

    The tools score an answer that failed like any other. Where there are such, the number of that name is the mean of
    the other rows, which is what can be compared, and the tool's numbers stand beside it.
    """
    name = scores.metric or "score"
    if own.numbers is None:
        return
    scored = [sample.scores[name, _NO_FILTER] for sample in _logged_samples(own, scores) if sample.scores]
    if len(scored) < len(scores.values):
        mean = math.fsum(scored) / len(scored) if scored else None
        yield StatedResult(name, _NO_FILTER, mean, n=len(scored), higher_is_better=True)
        name = f"{name}/as_stated"
    numbers = _as_shares(_stated(own.numbers), scores)
    parts = _rows_of_groups(own)
    for key, value in sorted(numbers.items(), key=lambda item: item[0].lower() != _OVERALL):
        if key.lower() == _OVERALL:
            yield StatedResult(name, _NO_FILTER, value, n=len(scores.values) or None, higher_is_better=True)
        else:
            column, n = parts.get(key, ("", None))
            path = (column, key) if column else (key,)
            yield StatedResult(name, _NO_FILTER, value, path, n=n, higher_is_better=True)
    for metric, values in scores.others.items():
        if values:
            yield StatedResult(metric, _NO_FILTER, math.fsum(values.values()) / len(values), n=len(values))


def _as_shares(numbers: dict[str, float], scores: _LogScores) -> dict[str, float]:
    """The numbers in the unit of the rows' scores."""
    overall = next((value for key, value in numbers.items() if key.lower() == _OVERALL), None)
    if overall is None or not scores.values:
        return numbers
    mean = math.fsum(scores.values.values()) / len(scores.values)
    is_percent = mean != 0 and math.isclose(overall, _PERCENT * mean, abs_tol=0.01)
    return {key: value / _PERCENT for key, value in numbers.items()} if is_percent else numbers


def _rows_of_groups(own: Files) -> dict[str, tuple[str, int]]:
    """For each split and category of a dataset the column that names it, and how many rows it has."""
    table = table_of(own.predictions, INDEX, PREDICTION)
    found: dict[str, tuple[str, int]] = {}
    for column in _GROUPS:
        for key, n in table[column].value_counts().items() if column in table else ():
            found.setdefault(str(key), (column, int(n)))
    return found


def _stated(file: Path) -> dict[str, float]:
    """The numbers of a file, by name. Tables name them in their columns; of several splits each has a line."""
    if file.suffix == ".json":
        return dict(_numbers_in(read_json(file)))
    table = table_of(file)
    found = {}
    splits = [str(value) for value in table["split"]] if "split" in table else [""] * len(table)
    for column in table.columns:
        for split, value in zip(splits, table[column], strict=True):
            number = _logged_number(value)
            if column != "split" and number is not None:
                several = len(splits) > 1 and split not in ("", "none")
                found[f"{split}/{column}" if several else str(column)] = number
    return found


def _numbers_in(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a JSON object and of the objects in it, whose names follow a slash."""
    for key, value in content.items():
        name = f"{above}/{key}" if above else str(key)
        if isinstance(value, Mapping):
            yield from _numbers_in(value, name)
        elif (number := _logged_number(value)) is not None:
            yield name, number


def _logged_samples(own: Files, scores: _LogScores) -> Iterator[LoggedSample]:
    table = table_of(own.predictions, INDEX, PREDICTION)
    columns = [str(column) for column in table.columns if column not in _NO_COLUMNS]
    rows = table.to_dict("records")
    for row in rows:
        # In these files an empty answer is an empty cell: a request that failed leaves a text that says so.
        if own.predictions.suffix in (".xlsx", ".tsv") and _is_empty(row[PREDICTION]):
            row[PREDICTION] = ""
    names = [_sample_name(row[INDEX]) for row in rows]
    groups = [_group(row, name) for row, name in zip(rows, names, strict=True)] if _has_rotations(table) else None
    failed = {
        group
        for row, group in zip(rows, groups or (), strict=False)
        if _failure(row[PREDICTION]) is not None and scores.metric == _CIRCULAR
    }
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        group = None if groups is None else groups[place]
        yield _sample(row, name, place, columns, scores, group, is_group_failed=group in failed)


def _group(row: Mapping[str, Any], name: str) -> str:
    """The question of which a row is a rotation."""
    if not _is_empty(row.get("g_index")):
        return _sample_name(row["g_index"])
    return str(int(name) % _STEP) if name.isdecimal() else name


def _sample(
    row: Mapping[str, Any],
    name: str,
    place: int,
    columns: Sequence[str],
    scores: _LogScores,
    group: str | None,
    *,
    is_group_failed: bool,
) -> LoggedSample:
    answer = row[PREDICTION]
    own: dict[MetricKey, Any] = {}
    error, status = _failure(answer), "ok"
    if error is not None:
        status = "error"
    elif name in scores.values and is_group_failed:
        status, error = "unscored", "One of its rotations has no answer."
    elif name in scores.values:
        own = {(scores.metric, _NO_FILTER): scores.values[name]}
        own |= {(metric, _NO_FILTER): values[name] for metric, values in scores.others.items() if name in values}
    elif scores.metric != _CIRCULAR or group not in scores.values:  # a rotation counts in the score of its question
        status, error = "unscored", "The log has no score for it."
    doc = {INDEX: name, **{column: _unboxed(row[column]) for column in columns if not _is_empty(row[column])}}
    return LoggedSample(
        name,
        place,
        doc=doc,
        exchanges=() if status == "error" else (LoggedExchange((LoggedOutput(text=str(answer)),)),),
        scores=own,
        target=None if _is_empty(row.get("answer")) else str(row["answer"]),
        answer=scores.texts.get(name),
        explanation=scores.logs.get(name),
        cluster=group,
        status=status,  # type: ignore[arg-type]
        error=error,
    )


def _failure(answer: Any) -> str | None:
    """Return the reason why an answer is missing; ``None`` for an answer."""
    if _is_failed(answer):
        return str(answer)
    return "The log has no answer." if _is_empty(answer) and answer != "" else None


def _is_failed(answer: Any) -> bool:
    return isinstance(answer, str) and answer.startswith(_FAILED)


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _sample_name(value: Any) -> str:
    """An index as Polymeter writes it: Excel makes floats of whole numbers."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _unboxed(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _logged_number(value: Any) -> float | None:
    """A number; true and false count as 1 and 0, also as words."""
    if isinstance(value, str):
        value = {"true": 1.0, "false": 0.0}.get(value.lower(), value)
    return finite_number(value)
