"""A packed file that would become far larger than such files do is refused before it is unpacked."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

import polymeter

_TASK = """\
task: packed
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
_ROW = b'{"q": "x", "a": "mock"}\n'
_LONG = b'{"q": "' + b"x" * (1 << 20) + b'", "a": "mock"}\n'


def evaluate(folder: Path, file: str) -> polymeter.RunResult:
    (folder / "packed.yaml").write_text(_TASK.replace("FILE", file))
    return polymeter.evaluate("mock", str(folder / "packed.yaml"), output=folder / "run", limit=3)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(_LONG) * 1100)
    with pytest.raises(polymeter.DataError) as refused:
        evaluate(tmp_path, "rows.jsonl.gz")
    assert "unpacks to more than 1,073,741,824" in refused.value.what
    assert "unpack it yourself" in refused.value.hint
    assert "A Parquet file: write it without compression, or split it." in refused.value.hint
    assert refused.value.where == str(tmp_path / "rows.jsonl.gz")


@pytest.mark.control
def test_packed_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(_ROW * 3))
    with zipfile.ZipFile(tmp_path / "rows.jsonl.zip", "w") as archive:
        archive.writestr("rows.jsonl", _ROW * 3)
    for file in ("rows.jsonl.gz", "rows.jsonl.zip"):
        assert evaluate(tmp_path, file).result("packed", "exact_match").n == 3
        (tmp_path / "run").rename(tmp_path / f"run of {file}")
