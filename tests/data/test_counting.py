"""How many rows a data file has, told without opening it as a dataset."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polymeter.data.opening.counting import count_rows, media_columns


@pytest.mark.parametrize(
    ("name", "text", "n"),
    [
        ("a.csv", 'x,y\n1,"two\nlines"\n\n2,b\n', 2),
        ("a.tsv", "index\tq\n1\ta\n2\tb\n3\tc\n", 3),
        ("empty.csv", "", 0),
        ("header.csv", "x,y\n", 0),
        ("a.jsonl", '{"x": 1}\n\n{"x": 2}\n', 2),
        ("a.json", '[{"x": 1}, {"x": 2}]', 2),
        ("lines.json", '{"x": 1}\n{"x": 2}\n', 2),
        ("broken.json", "[1, 2", None),
        ("odd.json", '"text"', None),
        ("a.arrow", "whatever", None),
        ("broken.parquet", "no parquet", None),
    ],
)
def test_rows_of_text_files(tmp_path: Path, name: str, text: str, n: int | None) -> None:
    (tmp_path / name).write_text(text)
    assert count_rows(tmp_path / name) == n


def test_rows_and_media_of_parquet(tmp_path: Path) -> None:
    import datasets

    features = datasets.Features({"image": datasets.Image(), "text": datasets.Value("string")})
    rows = {"image": [None, None], "text": ["a", "b"]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "plain.parquet")
    assert (count_rows(tmp_path / "a.parquet"), media_columns(tmp_path / "a.parquet")) == (2, {"image": "image"})
    assert (count_rows(tmp_path / "plain.parquet"), media_columns(tmp_path / "plain.parquet")) == (3, {})


def test_a_file_that_is_gone_has_no_number_of_rows(tmp_path: Path) -> None:
    assert count_rows(tmp_path / "gone.csv") is None
    assert media_columns(tmp_path / "gone.parquet") == {}
