"""Samples as Parquet: all of ``samples/*.jsonl`` is there, typed, for readers of Parquet and for ``datasets``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import polymeter
from polymeter.core.records.progress import Silence
from polymeter.store.exports import parquet
from tests.helpers.seen import N, measured


class Stopping(Silence):
    """A user who presses Ctrl-C after some samples."""

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        if ended:
            raise KeyboardInterrupt


@pytest.fixture
def run(tmp_path: Path) -> polymeter.RunResult:
    return measured(tmp_path)


def samples(run: polymeter.RunResult) -> list[dict[str, Any]]:
    text = (run.folder.samples / "seen.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def rebuilt(row: dict[str, Any]) -> dict[str, Any]:
    """A line of ``samples/*.jsonl`` from a row of the table."""
    own = {name: row[name] for name in ("id", "index", "subset", "cluster", "status", "target", "explanation")}
    texts = {name: json.loads(row[name]) for name in ("error", "scores", "log", "doc", "exchanges")}
    return {**own, **texts, "answer": row["answer"], **json.loads(row["further"])}


def test_every_sample_comes_back(run: polymeter.RunResult, tmp_path: Path) -> None:
    (path,) = run.to_parquet(tmp_path / "tables")
    rows = pq.read_table(path).to_pylist()
    expected = samples(run)
    for sample in expected:  # half a surrogate pair is no UTF-8: in a text it is its escape, in JSON still itself
        sample["answer"] = sample["answer"] and sample["answer"].replace("\ud83d", "\\ud83d")
    assert path.name == "seen.parquet"
    assert len(rows) == N
    assert [rebuilt(row) for row in rows] == expected


def test_the_columns_are_typed(run: polymeter.RunResult, tmp_path: Path) -> None:
    (path,) = run.to_parquet(tmp_path)
    schema = pq.read_schema(path)
    floats = {"score_exact_match", "score_parts/long", "score_parts/late", "score_answer", "latency_ms"}
    assert {name for name in schema.names if schema.field(name).type == pa.float64()} == floats
    assert {schema.field(name).type for name in ("index", "input_tokens", "output_tokens")} == {pa.int64()}
    rows = pq.read_table(path).to_pylist()
    assert [row["score_parts/long"] for row in rows] == [0, 0.5, 1, None, 2, 2.5, *[1] * 6]
    assert math.isnan(rows[6]["score_parts/late"])
    assert rows[5]["score_parts/late"] is None
    assert (rows[1]["prompt"], rows[1]["target"], rows[1]["input_tokens"]) == ("What is 1?", "1", 7)
    assert (rows[3]["status"], rows[3]["score_answer"]) == ("error", None)
    assert "no <b>score</b>" in rows[3]["error_message"]


def test_media_are_paths_from_the_run_folder(run: polymeter.RunResult, tmp_path: Path) -> None:
    (path,) = run.to_parquet(tmp_path)
    for row in pq.read_table(path).to_pylist():
        (name,) = row["images"]
        with Image.open(run.folder.path / name) as image:
            assert image.size == (8, 6 + row["index"] % 2)
        assert row["generated"] == row["audio"] == row["video_strips"] == []


def test_datasets_shows_the_images(run: polymeter.RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    (path,) = run.to_parquet(tmp_path, media="bytes")
    table = datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert [row["images"][0].size for row in table] == [(8, 6 + n % 2) for n in range(N)]
    assert [row["id"] for row in table] == [sample["id"] for sample in samples(run)]
    assert table[4]["score_parts/long"] == 2


def test_previews_that_are_gone_are_left_out(run: polymeter.RunResult, tmp_path: Path) -> None:
    for path in run.folder.media.glob("*/*"):
        path.unlink()
    (path,) = run.to_parquet(tmp_path, media="bytes")
    assert [row["images"] for row in pq.read_table(path).to_pylist()] == [[]] * N


def test_a_row_group_is_small(run: polymeter.RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_ROWS", 5)
    (path,) = run.to_parquet(tmp_path)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [5, 5, 2]
    monkeypatch.setattr(parquet, "_BYTES", 1)
    (path,) = run.to_parquet(tmp_path)
    assert pq.ParquetFile(path).num_row_groups == N


def test_a_value_with_a_key_for_each_row_makes_no_column_for_each(
    run: polymeter.RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_MOST_SCORES", 2)
    (path,) = run.to_parquet(tmp_path)
    names = [name for name in pq.read_schema(path).names if name.startswith("score_")]
    assert names == ["score_exact_match", "score_parts/long"]
    assert "late" in pq.read_table(path)["scores"][7].as_py()


def test_a_run_that_has_not_ended_gives_what_it_has(tmp_path: Path) -> None:
    run = measured(tmp_path, progress=Stopping(), batch_size=1)
    assert run.status == "interrupted"
    (path,) = run.to_parquet(tmp_path)
    rows = pq.read_table(path).to_pylist()
    assert rows
    assert [row["id"] for row in rows] == [sample.id for sample in run.samples()]


def test_a_run_without_samples_gives_an_empty_table(run: polymeter.RunResult, tmp_path: Path) -> None:
    (run.folder.samples / "seen.jsonl").write_text("")
    (path,) = run.to_parquet(tmp_path)
    assert pq.read_table(path).num_rows == 0


def test_media_are_paths_or_bytes(run: polymeter.RunResult, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'paths' or 'bytes', not 'links'"):
        run.to_parquet(tmp_path, media="links")  # type: ignore[arg-type]
