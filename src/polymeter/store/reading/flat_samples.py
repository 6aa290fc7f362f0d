"""The samples of a run as one flat table: a row for each that has ended, with a column ``score_METRIC`` for each
number.

Written as CSV for spreadsheets, as JSON lines for scripts, and as Parquet (``store.exports.parquet``) for data frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import (
    answer_text,
    error_text,
    first_messages,
    images_of,
    media_of,
    named,
    numbers_of,
    text_of,
    tokens_of,
)
from polymeter.core.text.json_text import json_text
from polymeter.core.text.spreadsheets import csv_lines
from polymeter.store.exports.parquet import parquet_file, write_parquet
from polymeter.store.folder import open_folder
from polymeter.store.shown_media import SHOWN_MEDIA

_HEAD = (
    "task", "id", "index", "subset", "cluster", "status", "error", "prompt", "answer", "target", "explanation",
    "input_tokens", "output_tokens", "media", "images",
)  # fmt: skip


def write_csv(job: ExportJob) -> None:
    """Write ``samples.csv``.

    Args:
        job: The run.
    """
    head = list(dict.fromkeys(chain(_HEAD, (key for row in _flat_rows(job) for key in row))))
    path = job.folder / "samples.csv"
    with stored_at(path, "Writing samples"), replacing(path) as file:
        rows = ([_flat_cell(row.get(key)) for key in head] for row in _flat_rows(job))
        file.writelines(csv_lines(chain([head], rows)))
    job.leave_out("rows of the data and requests after the first")


def write_jsonl(job: ExportJob) -> None:
    """Write ``samples.jsonl``.

    Args:
        job: The run.
    """
    path = job.folder / "samples.jsonl"
    with stored_at(path, "Writing samples"), replacing(path) as file:
        for row in _flat_rows(job):
            file.write(json_text(row, nan=None, is_compact=True))
            file.write("\n")
    job.leave_out("rows of the data and requests after the first")


def write_parquet_files(job: ExportJob) -> None:
    """Write a typed Parquet file for each task. Media that are copied are columns of bytes.

    Args:
        job: The run.
    """
    run = open_folder(job.run)
    for task in job.results["tasks"]:
        write_parquet(
            run,
            task,
            parquet_file(job.folder, run, task),
            media="bytes" if job.copies_media else "paths",
            human=job.human.get(task),
        )


def _flat_cell(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return " ".join(json_text(one, is_compact=True) if isinstance(one, dict) else str(one) for one in value)


def _flat_rows(job: ExportJob) -> Iterator[dict[str, Any]]:
    for task in job.results["tasks"]:
        for sample in job.read(task):
            messages = first_messages(sample)
            tokens = tokens_of(sample) or (None, None)
            shown = [str(kept["file"]) for _, kept in media_of(messages) if kept.get("file")]
            values = (
                *(task, sample["id"], sample["index"], "/".join(map(str, sample["subset"])), sample["cluster"]),
                *(sample["status"], error_text(sample), text_of(messages), answer_text(sample), sample["target"]),
                *(sample["explanation"], *tokens, _files(job, shown), _files(job, images_of(sample))),
            )
            scores = {f"score_{named(*key)}": number for key, number in numbers_of(sample).items()}
            by = {"scored_by": sample["scored_by"]} if "scored_by" in sample else {}
            records = sample.get(SHOWN_MEDIA)
            of_media = {SHOWN_MEDIA: [*records.values()]} if records else {}
            yield {**dict(zip(_HEAD, values, strict=True)), **by, **scores, **of_media}


def _files(job: ExportJob, names: list[str]) -> list[str]:
    """Return the paths of files: copies if media are copied, else their places in the run folder."""
    return [job.copied(name) or f"media/{name[:2]}/{name}" for name in names]
