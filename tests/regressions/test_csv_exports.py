"""A CSV export keeps each text in its cell, and a spreadsheet computes none of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import polymeter

TASK = """\
task: cells
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{text}}"
doc_to_target: right
metric_list: [{metric: exact_match}]
"""
TEXTS = ["one\r=1+1\rtwo", "end\r", "  =1+1", "＝1+1", "\u00a0@SUM(A1)", "-5", "-5+1"]
SAFE = ["one\r=1+1\rtwo", "end\r", "'  =1+1", "'＝1+1", "'\u00a0@SUM(A1)", "-5", "'-5+1"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": f"{number}.", "right": text}) for number, text in enumerate(TEXTS)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "cells.yaml").write_text(TASK, encoding="utf-8")
    polymeter.evaluate("mock", str(tmp_path / "cells.yaml"), output=tmp_path / "run")
    return tmp_path / "run"


def test_samples_as_csv(run: Path, tmp_path: Path) -> None:
    (file,) = polymeter.export(run, "csv", output=tmp_path / "out").files
    with file.open(newline="", encoding="utf-8") as stream:
        assert [row["target"] for row in csv.DictReader(stream)] == SAFE
