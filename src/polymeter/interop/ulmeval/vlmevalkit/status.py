"""VLMEvalKit's ``status.json`` (schema 1.0), which readers of its folders expect beside the predictions."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from polymeter.core.errors import PolymeterError
from polymeter.core.machine.files import replacing
from polymeter.core.text.finite import finite_number
from polymeter.core.text.json_text import json_text
from polymeter.core.text.secrets import hide_in_arguments
from polymeter.interop.ulmeval.evaluation import PairResult
from polymeter.interop.ulmeval.pairs import FilePair, ModelOnDataset
from polymeter.interop.ulmeval.prediction_formats import prediction_format
from polymeter.interop.ulmeval.results import INFER, link_to

STATUS = "status.json"
_SCHEMA = "1.0"
_WEIGHTS = (
    (re.compile(r"overall"), 100),
    (re.compile(r".*\|overall", re.DOTALL), 95),
    (re.compile(r".*overall.*", re.DOTALL), 90),
    (re.compile(r"(?:.*\|)?acc", re.DOTALL), 80),
    (re.compile(r".*acc.*", re.DOTALL), 70),
    (re.compile(r"(?:.*\|)?score", re.DOTALL), 60),
    (re.compile(r".*score.*", re.DOTALL), 50),
)
"""The weight of a metric's name in the choice of the primary one: the first pattern that the whole name fits."""
_SPLITS = (("split=test", 4), ("split=validation", 3), ("split=val", 2), ("split=dev", 1))


class StatusFile:
    """The status files of a command: one in the folder of each model and day.

    Args:
        arguments: What the user typed; the values of keys are not written.
        mode: ``all``, ``infer`` or ``eval``.
        reuse: Whether answers of an earlier day are reused.
        reuse_aux: ``all``, ``infer`` or ``none``.
    """

    def __init__(self, arguments: Sequence[str], *, mode: str, reuse: bool, reuse_aux: str) -> None:
        self._fixed = {
            "argv": list(hide_in_arguments(list(arguments))),
            "mode": mode,
            "reuse": reuse,
            "reuse_aux": reuse_aux,
        }

    def begin(self, pair: ModelOnDataset) -> None:
        """Record that a pair is running."""
        step = "eval" if self._fixed["mode"] == "eval" or isinstance(pair, FilePair) else INFER
        self._update(pair, {"status": step, "skip_reason": None, "error_message": None})

    def end(self, pair: ModelOnDataset, result: PairResult) -> None:
        """Record a pair's result."""
        entry: dict[str, Any] = {"status": "done", "skip_reason": None, "error_message": None}
        if result.error is not None:
            entry["error_message"] = str(result.error)
        elif result.run is None or result.run.status != "complete":
            entry["status"] = INFER
        elif pair.config.mode == INFER:
            entry["skip_reason"] = "mode_infer"
        elif result.returned is None:
            entry["skip_reason"] = "evaluate_returned_none"
        else:
            metrics = flat_metrics(result.returned)
            entry |= {"metrics": metrics, "primary_metric": primary_metric(metrics)}
        file = next((file for file in result.files if file.stem == f"{pair.model}_{pair.label}"), None)
        self._update(pair, {**entry, "prediction_file": file.name if file else None})

    def _update(self, pair: ModelOnDataset, entry: Mapping[str, Any]) -> None:
        try:
            folder = pair.outputs.folder
        except PolymeterError:  # a pair without answers to score has no folder
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / STATUS
        with FileLock(f"{path}.lock"):
            now = datetime.datetime.now().astimezone().isoformat()
            status = {
                "schema_version": _SCHEMA,
                "eval_id": folder.name,
                "created_at": now,
                "datasets": {},
                **_read(path),
            }
            status |= {**self._fixed, "model_name": pair.model, "api_mode": False, "world_size": 1, "updated_at": now}
            status["pred_format"] = prediction_format()
            judge = pair.judge_name or (str(pair.judge.spec) if pair.judge is not None else None)
            own = {**status["datasets"].get(pair.label, {}), "judge_model": judge, **entry, "updated_at": now}
            status["datasets"][pair.label] = {key: value for key, value in own.items() if value not in (None, {})}
            with replacing(path) as file:
                file.write(json_text(status, nan=None, indent=2))
        link_to(folder.parent / STATUS, path)


def flat_metrics(returned: Any) -> dict[str, float]:
    """The numbers in what ``evaluate`` returned, by name: keys joined by ``|``; of a table the columns of text name the
    row (``split=none|Overall``). Names that occur again get ``#`` and the row's number.

    Args:
        returned: Plain data; a table as lists of equal length by column.
    """
    if isinstance(returned, Mapping) and _is_table(returned):
        return dict(_of_table(returned))
    return dict(_of_value(returned, ""))


def primary_metric(metrics: Mapping[str, float]) -> str | None:
    """The name of the number that stands for the dataset: the overall one, else an accuracy, else a score; of several
    splits that of the test.
    """
    return min(metrics, key=lambda name: (-_weight(name.lower()), name), default=None)


def _weight(name: str) -> int:
    base = next((weight for pattern, weight in _WEIGHTS if pattern.fullmatch(name)), 0)
    return base + next((more for part, more in _SPLITS if part in name), 0)


def _is_table(returned: Mapping[str, Any]) -> bool:
    columns = list(returned.values())
    return bool(columns) and all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) == 1


def _of_table(columns: Mapping[str, list[Any]]) -> Iterator[tuple[str, float]]:
    numeric = [name for name, column in columns.items() if any(_number(value) is not None for value in column)]
    seen: set[str] = set()
    n_rows = len(next(iter(columns.values())))
    for row in range(n_rows if numeric else 0):
        named = {name: column[row] for name, column in columns.items() if name not in numeric}
        prefix = "|".join(f"{name}={str(value).strip()}" for name, value in named.items() if _is_text(value))
        for column in numeric:
            value = _number(columns[column][row])
            if value is not None:
                name = f"{prefix}|{column}" if prefix else str(column)
                yield (f"{name}#{row}" if name in seen else name), value
                seen.add(name)


def _of_value(value: Any, prefix: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = str(key).strip() or "value"
            yield from _of_value(inner, f"{prefix}|{name}" if prefix else name)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            is_only = len(value) == 1 and _number(inner) is not None
            yield from _of_value(inner, prefix if is_only else f"{prefix}|{place}" if prefix else str(place))
    elif (number := _number(value)) is not None:
        yield prefix or "value", number


def _number(value: Any) -> float | None:
    """A number, or the text of one; booleans are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return finite_number(value)


def _is_text(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value)) and bool(str(value).strip())


def _read(path: Path) -> dict[str, Any]:
    """The file's content; nothing if it is missing, or another tool has left it damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and isinstance(content.get("datasets"), dict) else {}
