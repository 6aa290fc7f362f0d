"""A run of any format as VLMEvalKit's files: a prediction table for each dataset, what each sample scored, and the
scores.

::

    <model>/<model>_<dataset>.xlsx          index, the row, and the column prediction
    <model>/<model>_<dataset>_result.xlsx   the same with a column for each number, and the first metric's as hit
    <model>/<model>_<dataset>_acc.csv       split, Overall and a column for each subset: the first metric
    <model>/<model>_<dataset>_score.csv     every number with its standard error and n

A cell of Excel holds 32,767 characters and no control characters. Where a text does not fit, the table is a ``.json``
file, which VLMEvalKit reads as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.names.registry import missing_package
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import (
    StoredSample,
    answer_text,
    first_messages,
    images_of,
    media_of,
    model_exchanges,
    model_outputs,
    named,
    numbers_of,
    text_of,
)
from polymeter.core.text.json_text import json_text
from polymeter.core.text.spreadsheets import csv_lines, is_formula

_LONGEST_CELL = 32_767
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_UNSAFE = re.compile(r'[<>:"/\\|?*\s]+')


def write_export(job: ExportJob) -> None:
    """Write the tables of a run of ``vlmutil``.

    Args:
        job: The run.

    Raises:
        PlanError: if openpyxl is not installed.
    """
    model = _UNSAFE.sub("-", job.model.rpartition("/")[2]) or "model"
    for task, own in job.results["tasks"].items():
        stem = f"{model}_{_UNSAFE.sub('-', task)}"
        folder = job.folder / model
        _write_table(job, folder / stem, lambda task=task: _prediction_rows(job, task, model))  # type: ignore[misc]
        _write_table(
            job,
            folder / f"{stem}_result",
            lambda task=task: _prediction_rows(job, task, model, has_scores=True),  # type: ignore[misc]
        )
        _write_scores(folder / stem, own)
    job.leave_out_usual()
    if job.results["groups"]:
        job.leave_out("numbers of groups")


def _prediction_rows(job: ExportJob, task: str, model: str, *, has_scores: bool = False) -> Iterator[dict[str, Any]]:
    """The samples with an answer: row, prediction and, if asked for, the scored answer."""
    first = _first(job.results["tasks"][task])
    for sample in job.read(task):
        if not model_outputs(sample):
            continue
        doc = sample["doc"] if isinstance(sample["doc"], Mapping) else {}
        row = {str(key): _exported_cell(value) for key, value in doc.items()}
        row.setdefault("index", int(sample["id"]) if str(sample["id"]).isdecimal() else sample["id"])
        row.setdefault("question", text_of(first_messages(sample)))
        if sample["target"] is not None:
            row.setdefault("answer", sample["target"])
        shown = [copied for _, kept in media_of(first_messages(sample)) if (copied := _media(job, kept, model))]
        if shown and "image" not in row:
            row.setdefault("image_path", shown[0] if len(shown) == 1 else json_text(shown, is_compact=True))
        row["prediction"] = _prediction(job, sample, model)
        if len(model_exchanges(sample)) > 1:
            job.leave_out("requests after the first")
        if has_scores:
            numbers = numbers_of(sample)
            row[_free("hit", row)] = numbers.get(first)
            row |= {_free(named(*name), row): value for name, value in numbers.items()}
            row[_free("log", row)] = sample["explanation"] or ""
        yield row


def _prediction(job: ExportJob, sample: StoredSample, model: str) -> str:
    """Return the model's own text, before anything was read out of it. The kit's own scoring starts from that text."""
    images = [job.copied(name, f"{model}/images") or f"media/{name[:2]}/{name}" for name in images_of(sample)]
    texts = [str(output["text"]) for output in model_outputs(sample) if output.get("text") is not None]
    if images:
        return images[0] if len(images) == 1 else json_text(images, is_compact=True)
    return texts[-1] if texts else answer_text(sample) or ""


def _media(job: ExportJob, kept: Mapping[str, Any], model: str) -> str:
    name = str(kept.get("file") or "")
    return job.copied(name, f"{model}/images") or (f"media/{name[:2]}/{name}" if name else "")


def _free(name: str, row: Mapping[str, Any]) -> str:
    """A name for a column that the row does not have yet."""
    return f"score/{name}" if name in row else name


def _exported_cell(value: Any) -> Any:
    """Return a value as a cell: a number or text unchanged, anything else as JSON."""
    if isinstance(value, (str, int)) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return json_text(value, nan=None, is_compact=True)


def _write_table(job: ExportJob, stem: Path, read: Callable[[], Iterable[dict[str, Any]]]) -> None:
    """Write a table as Excel, or as JSON where a text fits into no cell."""
    columns: dict[str, None] = {}
    is_fit = True
    for row in read():
        columns |= dict.fromkeys(row)
        is_fit = is_fit and all(_fits(value) for value in row.values())
    order = ["index", *(name for name in columns if name not in ("index", "prediction")), "prediction"]
    if is_fit:
        _write_excel(stem.with_name(f"{stem.name}.xlsx"), order, read())
        return
    path = stem.with_name(f"{stem.name}.json")
    with stored_at(path, "Writing predictions"), replacing(path) as file:
        rows = ({name: row.get(name) for name in order} for row in read())
        file.write("[\n")
        for number, row in enumerate(rows):
            file.write(f"{',' if number else ' '}{json_text(row, nan=None, is_compact=True)}\n")
        file.write("]\n")
    job.leave_out(f"a text that fits into no cell of Excel, so {path.name} is JSON (PRED_FORMAT=json)")


def _fits(value: Any) -> bool:
    return not isinstance(value, str) or (len(value) <= _LONGEST_CELL and not _ILLEGAL.search(value))


def _write_excel(path: Path, columns: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a workbook. Texts are marked as texts and keep every character, so that the kit scores what was answered
    and a spreadsheet computes none of them.
    """
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise missing_package("openpyxl", "the export to VLMEvalKit", "excel") from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")

    def cell(value: Any) -> Any:
        if not is_formula(value):
            return value
        text = WriteOnlyCell(sheet, value=value)
        text.data_type = "s"
        text.quotePrefix = True
        return text

    for row in chain([{name: name for name in columns}], rows):
        sheet.append([cell(row.get(name)) for name in columns])
    with stored_at(path, "Writing predictions"), replacing(path, binary=True) as file:
        book.save(file)


def _write_scores(stem: Path, own: Mapping[str, Any]) -> None:
    """Write the two files of scores: the first metric as the kit prints it, and every number."""
    numbers = [result for result in own["results"] if isinstance(result["value"], (int, float))]
    first = [result for result in numbers if (result["metric"], result["filter"]) == _first(own)]
    if first:
        paths = [list(map(str, result["subset"])) or ["Overall"] for result in first]
        last = [path[-1] for path in paths]
        head = ["split", *(last if len(set(last)) == len(last) else map("/".join, paths))]
        _write_csv(stem.with_name(f"{stem.name}_acc.csv"), [head, ["none", *(result["value"] for result in first)]])
    rows = [
        [named(result["metric"], result["filter"]), "/".join(map(str, result["subset"])) or "Overall"]
        + [result[key] for key in ("value", "stderr", "n")]
        for result in numbers
    ]
    _write_csv(stem.with_name(f"{stem.name}_score.csv"), [["metric", "category", "value", "stderr", "n"], *rows])


def _first(own: Mapping[str, Any]) -> tuple[str, str]:
    return next(((result["metric"], result["filter"]) for result in own["results"]), ("", ""))


def _write_csv(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    with stored_at(path, "Writing scores"), replacing(path) as file:
        file.writelines(csv_lines(rows, is_all_quoted=True))
