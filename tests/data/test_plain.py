"""What small files of text and numbers give without ``datasets`` is what ``datasets`` gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polymeter.core.errors import DataError
from polymeter.data import DatasetRows, PlainRows, Source, make_rows, open_plain, open_splits

LINES = {
    "text": '{"q": "a", "n": 1}\n{"q": "b", "n": 2}\n',
    "no final newline": '{"q": "a"}\n{"q": "b"}',
    "empty lines": '\n{"q": "a"}\n\n\n{"q": "b"}\n',
    "windows": '{"q": "a", "n": 1}\r\n{"q": "b", "n": 2}\r\n',
    "missing keys": '{"q": "a", "n": 1}\n{"q": "b"}\n{"n": 3, "late": true}\n',
    "nulls": '{"q": null, "n": null}\n{"q": "b", "n": 2}\n',
    "whole and broken numbers": '{"n": 1}\n{"n": 2.5}\n{"n": -0.0}\n',
    "large number": '{"n": 9007199254740993}\n{"n": -5}\n',
    "truth": '{"yes": true}\n{"yes": false}\n{"yes": null}\n',
    "lists": '{"choices": ["a", "b"], "gold": [1]}\n{"choices": [], "gold": []}\n{"choices": null, "gold": [2, 3]}\n',
    "lists of lists": '{"grid": [[1, 2], []]}\n{"grid": [[3]]}\n',
    "escapes": '{"q": "\\u00e9\\n\\t\\"\\ud83d\\ude00", "ü": "ß"}\n',
    "one object over several lines": '{\n  "q": "a",\n  "n": 1\n}\n',
    "an empty name": '{"": "a", "n": 1}\n',
    "byte order mark": '\ufeff{"q": "a"}\n',
    "spaces": '  {"q" :  "a"}  \n\t{"q": " b "}\n',
}
LEFT = {
    "array": '[{"q": "a"}, {"q": "b"}]',
    "dates": '{"day": "2024-01-01"}\n{"day": "2024-01-02"}\n',
    "objects": '{"q": {"a": 1}}\n{"q": {"a": 2}}\n',
    "lists of objects": '{"q": [{"a": 1}, {"b": "x"}]}\n',
    "only null": '{"q": "a", "n": null}\n',
    "mixed": '{"q": "a"}\n{"q": 1}\n',
    "half a surrogate": '{"q": "\\ud83d"}\n{"q": "b"}\n',
    "a session": '{"type": "session_start", "id": "1", "version": 2, "cwd": "/"}\n',
    "twice the same key": '{"q": "a", "q": "b"}\n',
}


def of_file(file: Path, builder: str = "json") -> Source:
    return Source(builder, kwargs={"data_files": {"test": file.name}}, directory=file.parent)


def both(source: Source, cache: Path, split: str = "test", **overrides: str) -> tuple[PlainRows, DatasetRows]:
    plain = open_plain(source, [split], overrides=overrides)
    assert plain is not None
    opened = open_splits(source, [split], overrides=overrides, cache_dir=cache)
    rows = make_rows(opened[split], what="rows")
    assert isinstance(rows, DatasetRows)
    return plain[split], rows


def assert_same(plain: PlainRows, rows: DatasetRows) -> None:
    n = len(rows)
    assert len(plain) == n
    assert plain.columns == rows.columns
    assert (plain.media, plain.undecoded) == (rows.media, rows.undecoded)
    assert plain.fingerprint == rows.fingerprint
    assert repr(plain.docs(0, n)) == repr(rows.docs(0, n))
    assert repr(plain.docs(n - 1, n + 5)) == repr(rows.docs(n - 1, n + 5))
    assert plain.docs(n, n + 1) == rows.docs(n, n + 1) == []
    assert repr(plain.doc(0)) == repr(rows.doc(0)) == repr(plain.full_doc(0)) == repr(rows.full_doc(0))
    for column in plain.columns:
        assert repr(plain.cell(0, column)) == repr(rows.cell(0, column))
        assert plain.is_always_one(column) is rows.is_always_one(column)


@pytest.mark.parametrize("text", LINES.values(), ids=LINES.keys())
def test_json_lines(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(text.encode())
    assert_same(*both(of_file(file), tmp_path / "cache"))


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT.keys())
def test_leaves_what_could_be_read_otherwise(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(text.encode())
    assert open_plain(of_file(file), ["test"], overrides={}) is None


def test_many_rows_in_many_blocks(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    rows = [{"q": f"{i} " * (i % 40), "n": i if i % 7 else None, "x": i / 3 if i > 8000 else i} for i in range(12_000)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert file.stat().st_size > 1 << 20
    assert_same(*both(of_file(file), tmp_path / "cache"))


def test_large_files_stay_mapped(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"q": "%s"}\n' % ("a" * 1000) * 11_000)
    assert open_plain(of_file(file), ["test"], overrides={}) is None


def _plain(file: Path) -> None:
    columns = {
        "q": ["a", None],
        "n": pa.array([1, 2], pa.int32()),
        "x": pa.array([0.5, 2], pa.float32()),
        "b": [True, None],
    }
    pq.write_table(pa.table(columns), file)


def _of_datasets(file: Path) -> None:
    datasets.Dataset.from_dict({"q": ["a", "b"], "n": [1, 2], "x": [0.5, None]}).to_parquet(str(file))


def _of_pandas(file: Path) -> None:
    import pandas as pd

    pd.DataFrame({"q": ["a", "b", "c"], "n": [1, 2, 3]})[1:].to_parquet(file)


def _many(file: Path) -> None:
    table = pa.table(
        {"q": [f"{i} " * (i % 9) if i % 11 else None for i in range(9_500)], "b": [i % 3 == 0 for i in range(9_500)]}
    )
    pq.write_table(table, file, row_group_size=4_200)


def _uneven(file: Path) -> None:
    with pq.ParquetWriter(file, pa.schema({"n": pa.int64(), "q": pa.string()})) as writer:
        for n in (700, 2_600, 1, 1_900):
            writer.write_table(pa.table({"n": range(n), "q": ["x" * (i % 13) for i in range(n)]}))


@pytest.mark.parametrize("write", [_plain, _of_datasets, _of_pandas, _many, _uneven])
def test_parquet(tmp_path: Path, write: Callable[[Path], None]) -> None:
    file = tmp_path / "rows.parquet"
    write(file)
    assert_same(*both(of_file(file, "parquet"), tmp_path / "cache"))


def _images(file: Path) -> None:
    features = datasets.Features({"picture": datasets.Image()})
    datasets.Dataset.from_dict({"picture": [{"bytes": b"png", "path": None}]}, features=features).to_parquet(str(file))


def _classes(file: Path) -> None:
    features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"])})
    datasets.Dataset.from_dict({"label": [0, 1]}, features=features).to_parquet(str(file))


def _lists(file: Path) -> None:
    pq.write_table(pa.table({"choices": [["a"], ["b"]]}), file)


def _decimals(file: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([1, 2], pa.decimal128(5, 2))}), file)


def _damaged(file: Path) -> None:
    file.write_bytes(b"PAR1 and then nothing")


@pytest.mark.parametrize("write", [_images, _classes, _lists, _decimals, _damaged])
def test_leaves_other_parquet(tmp_path: Path, write: Callable[[Path], None]) -> None:
    file = tmp_path / "rows.parquet"
    write(file)
    assert open_plain(of_file(file, "parquet"), ["test"], overrides={}) is None


def test_places(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "test.jsonl").write_text('{"q": "tested"}\n')
    (folder / "train-00000-of-00001.jsonl").write_text('{"q": "trained"}\n')
    by_folder = Source("data", directory=tmp_path)
    assert_same(*both(by_folder, tmp_path / "cache"))
    assert_same(*both(by_folder, tmp_path / "cache", split="train"))
    hub = Source("someone/something", "english", kwargs={"token": True})
    assert open_plain(hub, ["test"], overrides={}) is None
    place = {"someone/something": str(folder / "test.jsonl")}
    assert_same(*both(Source("someone/something", "english"), tmp_path / "cache", **place))


@pytest.mark.parametrize(
    ("source", "splits"),
    [
        (Source("data"), ["test[:1]"]),
        (Source("data"), ["nosuch"]),
        (Source("data", "english"), ["test"]),
        (Source("data", kwargs={"revision": "main"}), ["test"]),
        (Source("sharded"), ["test"]),
        (Source("described"), ["test"]),
        (Source("json", kwargs={"data_files": "data/test.jsonl"}), ["test"]),
        (Source("json", kwargs={"data_files": {"test": "data/*.jsonl"}}), ["test"]),
        (Source("json", kwargs={"data_files": {"test": "data/test.jsonl"}, "field": "rows"}), ["test"]),
        (Source("csv", kwargs={"data_files": {"test": "data/test.jsonl"}}), ["test"]),
    ],
    ids=str,
)
def test_leaves_other_places(tmp_path: Path, source: Source, splits: list[str]) -> None:
    row = '{"q": "a"}\n'
    for file in ("data/test.jsonl", "sharded/test-1.jsonl", "sharded/test-2.jsonl", "described/test.jsonl"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(row)
    (tmp_path / "described" / "README.md").write_text("---\nconfigs: []\n---\n")
    here = Source(source.path, source.name, source.kwargs, tmp_path)
    assert open_plain(here, splits, overrides={}) is None


def test_missing_place_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file or folder"):
        open_plain(Source("someone/something"), ["test"], overrides={"someone/something": str(tmp_path / "nosuch")})


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"q": "a"}\n{"q": "caf\xe9"}\n')
    with pytest.raises(DataError, match=r"rows\.jsonl is not UTF-8: line 2 has the byte 0xe9\."):
        open_plain(of_file(file), ["test"], overrides={})


TASK = """\
task: small
dataset_path: json
dataset_kwargs:
  data_files:
    test: rows.jsonl
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
metric_list:
  - metric: exact_match
"""
RUN = """\
import sys
from polymeter.cli.main import main
assert main(["run", "--model", "mock", "--tasks", "small.yaml", "--output", "run", "--quiet"]) == 0
print([name for name in ("datasets", "pandas", "scipy", "torch") if name in sys.modules])
"""


def test_a_small_run_imports_no_heavy_package(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(TASK)
    (tmp_path / "rows.jsonl").write_text('{"question": "1+1?", "answer": "2"}\n')
    command: list[Any] = [sys.executable, "-c", RUN]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "[]"
