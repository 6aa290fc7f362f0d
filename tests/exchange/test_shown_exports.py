"""What a model was shown, in the flat files of samples."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq

import polymeter
from polymeter.store.shown_media import SHOWN_MEDIA
from tests.helpers.showing import media_task, showing_model
from tests.helpers.tasks import run_tasks


def test_flat_files_hold_the_records_of_a_samples_media(tmp_path: Path) -> None:
    run = run_tasks([media_task(1, kinds="vi")], showing_model(8), tmp_path / "run").folder.path
    for form in ("csv", "jsonl", "parquet"):
        polymeter.export(run, form, output=tmp_path / form)
    row = json.loads((tmp_path / "jsonl" / "samples.jsonl").read_text())
    video, image = row[SHOWN_MEDIA]
    assert (len(video["numbers"]), image["sent"]["width"]) == (8, 640)
    with (tmp_path / "csv" / "samples.csv").open(newline="", encoding="utf-8-sig") as file:
        (cells,) = csv.DictReader(file)
    assert json.loads(f"[{cells[SHOWN_MEDIA].replace('} {', '},{')}]") == [video, image]
    (further,) = pq.read_table(next((tmp_path / "parquet").rglob("*.parquet"))).column("further").to_pylist()
    assert [*json.loads(further)[SHOWN_MEDIA].values()] == [video, image]
