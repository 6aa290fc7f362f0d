"""The results of ``evaluate``, which a class computes of all predictions together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ScoreError, boundary
from polymeter.core.machine.environment import environment_set
from polymeter.core.machine.files import replacing
from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.core.text.json_text import json_text
from polymeter.data.tables.exact import keep_exact, keeping_exact
from polymeter.guests import contained
from polymeter.interop.ulmeval.tasks.pools import threads_for_processes
from polymeter.interop.ulmeval.tasks.results.row_scores import estimated, row_scores
from polymeter.interop.ulmeval.tasks.results.tabulate import as_json, check_returned, numbers, rows_of_type
from polymeter.tasks.table.dataset import Dataset
from polymeter.tasks.table.predictions import COLUMN, PICKLE, RETURNED, PredictionFile, write_predictions
from polymeter.tasks.table.scoring import JUDGE_MODEL, NO_FILTER

if TYPE_CHECKING:
    import pandas as pd

    from polymeter.stats.estimate import Estimate

EVALUATE = "evaluate"
_MOST_ARTIFACTS = 100
_LONGEST_TYPE = 64
_WANTS_JUDGE = re.compile(r"KeyError: 'model'|\bjudge", re.IGNORECASE)
_NAME_ONE = "The run has no judge; 'polymeter score RUN --judge SPEC' judges the existing answers."
_LACKS = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_ROWS = ".json"
_NO_TABLE = "PRED_FORMAT=json gives a class a list of rows, which few of them read: set it to xlsx or tsv."
_WORLD = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}

Evaluate = Callable[..., Any]
"""``(path of the prediction file, **judge_kwargs) → dict, DataFrame or nothing``."""


def evaluate_results(
    dataset: Dataset,
    evaluate: Evaluate,
    file: PredictionFile,
    judge: Mapping[str, Any],
    rows: Iterable[ScoredRow],
    context: ReduceContext,
    *,
    keeps_values: bool,
    taken: frozenset[MetricKey] = frozenset(),
) -> list[Result]:
    """Return the results of ``evaluate``, which is called once. A number has an interval only if it is the mean of a
    column that it wrote.

    Args:
        dataset: The dataset.
        evaluate: The class's function.
        file: What the prediction file is made with.
        judge: Its keyword arguments.
        rows: The rows that were run, in sample order.
        context: Has the places of files.
        keeps_values: Whether tables that the function reads have the values that were written, where a spreadsheet or
            a file of separated values would change them.
        taken: Metrics that other results have.

    Raises:
        ScoreError: if it raised, or returned what is not a result.
    """
    path, frame = write_predictions(file, rows, context)
    n_rows = len(frame)
    if not n_rows:
        return []
    remove_dead_links(path.parent.parent)
    doing = f"evaluate of {dataset.class_name} ({dataset.name!r})"
    exact = _exact(path, frame) if keeps_values else nullcontext()
    with (
        exact,
        contained(),
        threads_for_processes(),
        single_process(),
        _explained(judge, path),
        boundary(ScoreError, doing),
    ):
        returned = evaluate(str(path), **judge)
        scores = row_scores(_files_beside(path), frame)
    check_returned(returned, dataset.class_name)
    if returned is not None:
        with replacing(path.with_name(RETURNED)) as written:
            written.write(json_text(as_json(returned), indent=1))
    artifacts = tuple(
        each.relative_to(context.output_dir.parent).as_posix() for each in _files_beside(path)[:_MOST_ARTIFACTS]
    )
    values = numbers(returned)
    columns = _types(frame.drop(columns=COLUMN))
    if not values:
        return [Result(EVALUATE, NO_FILTER, None, n_rows, artifacts=artifacts)]
    results: list[Result] = []
    for metric, number in values.items():
        rows_behind = rows_of_type(number.path, columns)
        n = number.n if number.n is not None else None if rows_behind is None else len(rows_behind)
        is_known = n is None or (rows_behind is not None and len(rows_behind) == n)
        found = estimated(number.value, rows_behind, scores) if is_known else None
        result = Result(
            metric,
            EVALUATE if (metric, NO_FILTER) in taken else NO_FILTER,
            number.value,
            n_rows if n is None else n,
            higher_is_better=_direction(dataset.metrics, metric),
            artifacts=() if results else artifacts,
            n_planned=n,
        )
        results.append(result if found is None else _with_interval(result, found))
    return results


def _with_interval(result: Result, found: Estimate) -> Result:
    """The same result with the uncertainty of an estimate."""
    return replace(
        result,
        stderr=found.stderr,
        interval=found.interval,
        stderr_method=found.method,
        ci_method=found.ci_method,
        no_interval=found.no_interval,
        spread=found.spread,
    )


@contextmanager
def _exact(path: Path, frame: pd.DataFrame) -> Iterator[None]:
    """Have what is written beside the predictions, and these themselves, read as it was written."""
    with keeping_exact(path.parent):
        if path.suffix != PICKLE:
            keep_exact(frame, path)
        yield


def single_process() -> AbstractContextManager[None]:
    """Let code inside see a world of one process, whatever the environment of this one sets."""
    return environment_set(_WORLD)


def _types(frame: pd.DataFrame) -> dict[str, dict[str, frozenset[int]]]:
    """The columns whose values several rows share, such as types and categories: value in lower case → the rows."""
    columns: dict[str, dict[str, frozenset[int]]] = {}
    for name in frame.columns:
        texts = [
            value.strip().lower() for value in frame[name] if isinstance(value, str) and len(value) <= _LONGEST_TYPE
        ]
        rows: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            rows.setdefault(text, []).append(number)
        rows.pop("", None)
        if len(texts) == len(frame) and len(rows) < len(frame):
            columns[str(name)] = {text: frozenset(numbers) for text, numbers in rows.items()}
    return columns


def remove_dead_links(folder: Path) -> None:
    """Remove links that lead nowhere. TDBench cuts its table's path at ``_rot``, which is also in the name of a
    dataset's folder here. What it links beside that folder is the link itself, and its next evaluation would fail.
    """
    for entry in folder.iterdir():
        if entry.is_symlink() and not entry.exists():
            entry.unlink()


def _files_beside(path: Path) -> list[Path]:
    """The prediction file and all that was written beside it, sorted."""
    return sorted(file for file in path.parent.rglob("*") if file.is_file())


def _direction(metrics: Mapping[str, bool], metric: str) -> bool | None:
    """Return whether higher is better, for a metric or the column of a table that the class names."""
    return metrics.get(metric, metrics.get(metric.rpartition("/")[2]))


@contextmanager
def _explained(judge: Mapping[str, Any], path: Path) -> Iterator[None]:
    """Add what to do to the error of an ``evaluate`` that needs a judge (authors look for it under ``model``) or a
    package, or that was given rows where it expects a table.
    """
    try:
        yield
    except ScoreError as error:
        hint = ""
        if lacking := _LACKS.search(error.what):
            hint = f"Install the package of {lacking[1]!r}; 'polymeter score RUN' then scores the existing answers."
        elif JUDGE_MODEL not in judge and _WANTS_JUDGE.search(error.what):
            hint = _NAME_ONE
        elif path.suffix == _ROWS:
            hint = _NO_TABLE
        if error.hint or not hint:
            raise
        raise ScoreError(error.what, where=error.where, hint=hint) from error
