"""Tables in files of every kind, and the tasks that they are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from polymeter.core.task import TaskSpec
from polymeter.run.plan.named_paths import catalog_for
from polymeter.run.plan.selection import SelectedTasks, select

Row = Mapping[str, Any]
KINDS = ("csv", "tsv", "xlsx", "jsonl", "json", "parquet")


def write_table(file: Path, rows: Sequence[Row]) -> Path:
    """Write rows into a file of the kind that its name says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    kind = file.suffix.lower()
    if kind in (".csv", ".tsv"):
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, delimiter="\t" if kind == ".tsv" else ",", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        file.write_bytes(text.getvalue().encode())
    elif kind == ".xlsx":
        import openpyxl

        workbook = openpyxl.Workbook()
        workbook.active.append(columns)
        for row in rows:
            workbook.active.append([row.get(name) for name in columns])
        workbook.save(file)
    elif kind == ".jsonl":
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    elif kind == ".json":
        file.write_text(json.dumps(list(rows), ensure_ascii=False), encoding="utf-8")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(list(rows)), file)
    return file


def draw(file: Path, colour: str = "red") -> Path:
    """Write a small image."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (16, 16), colour).save(file)
    return file


def selected(place: Path | str) -> SelectedTasks:
    """The tasks that a file or folder stands for."""
    named = catalog_for([str(place)], (), None)
    return select(named.patterns, named.catalog)


def spec_of(place: Path | str) -> TaskSpec:
    """The only task that a file or folder stands for."""
    (spec,) = selected(place).tasks
    return spec
