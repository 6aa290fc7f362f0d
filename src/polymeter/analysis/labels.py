"""Human labels for samples of a run: reading of a file and of a cell."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import require_place
from polymeter.judge.forms import CORRECTNESS, folded, plain

_WORDS = ("yes", "true", "correct", "right", "no", "false", "incorrect", "wrong")
"""The words in a hint. Words of other languages count too, as in judges' verdicts."""
_COLUMNS = ("id", "label", "task")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_HINT = "Columns (or keys of each line): id of the sample; label; and task, if the run has several."


def label_of(value: Any, what: str, where: str) -> float | None:
    """Return a label as a score, or ``None`` if it is missing.

    Args:
        value: The cell.
        what: The source of the cell, for the message ("Column 'human'").
        where: Its place, for the message.

    Raises:
        PlanError: if it is neither a number nor a known word.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    word = plain(str(value)).lower()
    if word in CORRECTNESS:
        return float(CORRECTNESS[word])
    try:
        number = float(folded(str(value)).strip())
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise PlanError(
            f"{what} has the value {str(value)[:40]!r}, which is not a label that scores can be compared with.",
            where=where,
            hint=f"A label must be a number or one of {', '.join(_WORDS)}.",
        )
    return number


def read_labels(path: Path, samples: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Read the labels in a file, by task and sample.

    Args:
        path: CSV or TSV with a header, or JSON Lines: ``id``, ``label`` and, if the run has several tasks, ``task``.
        samples: The ids of the samples, by task.

    Raises:
        PlanError: if it is not such a file, names an unknown task or sample or one sample twice, or contains something
            else than labels.
    """
    require_place(path, "The file of labels")
    found: dict[str, dict[str, float | None]] = {}
    for number, row in _label_rows(path):
        where = f"{path}:{number}"
        missing = [name for name in _COLUMNS[:2] if name not in row]
        if missing:
            raise PlanError(f"{missing[0]!r} is missing here.", where=where, hint=_HINT)
        name, task = str(row["id"]), row.get("task")
        if task in (None, ""):
            if len(samples) > 1:
                raise PlanError(
                    f"The run has {len(samples)} tasks, and this label names none.", where=where, hint=_HINT
                )
            task = next(iter(samples))
        if task not in samples:
            raise PlanError(f"The run has no task {task!r}.", where=where, hint=did_you_mean(str(task), samples))
        if name not in samples[task]:
            raise PlanError(
                f"Task {task!r} has no sample {name!r} that ended.",
                where=where,
                hint="'polymeter show RUN TASK' lists the ids of samples.",
            )
        own = found.setdefault(str(task), {})
        if name in own:
            raise PlanError(f"Sample {name!r} has two labels.", where=where, hint="Keep one, or take their mean.")
        own[name] = label_of(row["label"], "The label", where)
    if not any(label is not None for own in found.values() for label in own.values()):
        raise PlanError("The file contains no labels.", where=str(path), hint=_HINT)
    return found


def _label_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a file, each with its line number."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PlanError("The file of labels does not exist.", where=str(path), hint=_HINT) from None
    except UnicodeDecodeError as error:
        raise PlanError(f"The file of labels is not UTF-8: {error.reason}.", where=str(path)) from error
    delimiter = _DELIMITERS.get(path.suffix.lower())
    if delimiter is not None:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            raise PlanError(f"The file of labels is broken: {error}.", where=f"{path}:{reader.line_num}") from error
        return
    if path.suffix.lower() not in (".jsonl", ".json"):
        raise PlanError("The file of labels must be .csv, .tsv or .jsonl.", where=str(path), hint=_HINT)
    for number, line in enumerate(io.StringIO(text, newline=""), 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise PlanError("This line is not a JSON object.", where=f"{path}:{number}", hint=_HINT)
        yield number, given
