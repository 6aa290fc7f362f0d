"""Packed files: which of them would become too large."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polymeter.core.errors import DataError
from polymeter.data import formats
from polymeter.data.fetching import expansion
from polymeter.data.fetching.expansion import check_expansion
from polymeter.data.opening import preparing

_PIECE = 1 << 16


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.jsonl", data)
    return buffer.getvalue()


def by_arrow(codec: str) -> Callable[[bytes], bytes]:
    def packed(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(data)
        return bytes(sink.getvalue())

    return packed


_PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zip": zipped,
    "zst": by_arrow("zstd"),
    "lz4": by_arrow("lz4"),
}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(expansion, "_BLOCK", _PIECE)


@pytest.mark.parametrize("kind", _PACKED)
def test_what_becomes_far_too_large_is_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.packed"  # the content says how it is packed
    file.write_bytes(_PACKED[kind](bytes(64 << 20)))
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+: 100 times its size or 1 GiB") as refused:
        check_expansion(file)
    assert refused.value.where == str(file)


@pytest.mark.parametrize("kind", _PACKED)
def test_text_and_what_stays_small_pass(kind: str, tmp_path: Path) -> None:
    words = random.Random(0)
    text = " ".join(str(words.random()) for _ in range(20_000)).encode()
    for number, data in enumerate((text, bytes(1 << 20), b"")):
        file = tmp_path / f"{number}.packed"
        file.write_bytes(_PACKED[kind](data))
        check_expansion(file)


@pytest.mark.parametrize("kind", _PACKED)
def test_a_broken_file_is_left_to_its_reader(kind: str, tmp_path: Path) -> None:
    data = _PACKED[kind](random.Random(0).randbytes(1 << 20))
    middle = len(data) // 2
    for number, broken in enumerate((data[:-100], data[:middle] + bytes(99) + data[middle:], data[:8])):
        file = tmp_path / f"{number}.packed"
        file.write_bytes(broken)
        check_expansion(file)


@pytest.mark.parametrize("data", [b"", b"a", b'{"a": 1}\n' * 99])
def test_what_is_not_packed_passes(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(data)
    check_expansion(tmp_path / "rows.jsonl")


def test_a_parquet_file_counts_its_values(tmp_path: Path) -> None:
    table: Any = pa.table({"a": pa.nulls(3_000_000, pa.bool_())})
    pq.write_table(table, tmp_path / "many.parquet")
    with pytest.raises(DataError, match=r"many\.parquet"):
        check_expansion(tmp_path / "many.parquet")
    pq.write_table(pa.table({"a": [*range(3000)]}), tmp_path / "few.parquet")
    check_expansion(tmp_path / "few.parquet")
    with zipfile.ZipFile(tmp_path / "rows.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(64 << 20))
    with pytest.raises(DataError, match=r"rows\.xlsx has"):
        formats.load(tmp_path / "rows.xlsx")


def test_the_images_of_a_folder_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("a.png", "b.PNG"):
        (tmp_path / "photos" / name).write_bytes(b"")
    (tmp_path / "photos" / "metadata.csv").write_text("file_name,a\na.png,x\nb.PNG,y\n")
    checked: list[str] = []
    monkeypatch.setattr(preparing, "check_expansion", lambda file: checked.append(file.name))
    preparing.load_dataset("imagefolder", data_dir=str(tmp_path / "photos"), cache_dir=str(tmp_path / "cache"))
    assert checked == ["metadata.csv"]


@pytest.mark.parametrize("has_cache", [True, False])
def test_a_packed_file_elsewhere_is_fetched_to_where_datasets_looks_for_it(
    has_cache: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = str(tmp_path) if has_cache else None
    (tmp_path / "rows.json").write_text('{"a": 1}')
    fetched: list[Any] = []

    def manager(download_config: datasets.DownloadConfig) -> SimpleNamespace:
        fetched.append(download_config.cache_dir or datasets.config.DOWNLOADED_DATASETS_PATH)
        return SimpleNamespace(download=lambda files: files)

    monkeypatch.setattr(datasets, "DownloadManager", manager)
    builder = datasets.load_dataset_builder("json", data_files=str(tmp_path / "rows.json"), cache_dir=cache)
    builder.config.data_files = {"train": ["https://made.up/rows.json.gz"]}
    preparing._check_files(builder, None, cache)
    assert [str(place) for place in fetched] == [builder._cache_downloaded_dir]
