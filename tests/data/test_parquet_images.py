"""Images in Parquet files that are read where they lie are what ``datasets`` gives."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.data import DatasetRows, Rows, Source, make_rows, open_plain, open_splits
from polymeter.data.opening import parquet_images
from polymeter.data.opening.parquet_images import ImageRows

IMAGE = datasets.Image()
STRING = datasets.Value("string")


def encoded(number: int, kind: str = "JPEG", mode: str = "RGB", turned: bool = False) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    exif = pil.Exif()
    if turned:
        exif[0x0112] = 6
    pil.fromarray(pixels).convert(mode).save(buffer, format=kind, exif=exif)
    return buffer.getvalue()


def cells(n: int) -> list[dict[str, Any]]:
    return [{"bytes": encoded(number), "path": f"{number}.jpg"} for number in range(n)]


def many(n: int = 330) -> datasets.Dataset:
    features = datasets.Features(
        {"q": STRING, "image": IMAGE, "n": datasets.Value("int32"), "b": datasets.Value("bool")}
    )
    columns = {
        "q": [f"question {i}" * (i % 5) for i in range(n)],
        "image": cells(n),
        "n": [i if i % 7 else None for i in range(n)],
        "b": [i % 3 == 0 for i in range(n)],
    }
    return datasets.Dataset.from_dict(columns, features=features)


def by_datasets(file: Path) -> None:
    many().to_parquet(str(file))


def in_small_groups(file: Path) -> None:
    table = many().data.table.combine_chunks().replace_schema_metadata(many().features.arrow_schema.metadata)
    pq.write_table(table, file, row_group_size=37)


def in_uneven_groups(file: Path) -> None:
    table = many().data.table.combine_chunks()
    with pq.ParquetWriter(file, many().features.arrow_schema) as writer:
        start = 0
        for n in (50, 150, 1, 129):
            writer.write_table(table.slice(start, n).cast(many().features.arrow_schema))
            start += n


def with_gaps(file: Path) -> None:
    """Empty cells, several columns, as in benchmarks of up to seven images a question."""
    rows = cells(40)
    features = datasets.Features({"image_1": IMAGE, "q": STRING, "image_2": IMAGE, "image_3": IMAGE})
    columns = {
        "image_1": rows,
        "q": [None, *"a" * 39],
        "image_2": [row if i % 2 else None for i, row in enumerate(rows)],
        "image_3": [None] * 40,
    }
    datasets.Dataset.from_dict(columns, features=features).to_parquet(str(file))


def of_all_kinds(file: Path) -> None:
    outside = file.parent / "outside.png"
    outside.write_bytes(encoded(8, "PNG"))
    rows = [
        {"bytes": encoded(1, "PNG", "RGBA"), "path": None},
        {"bytes": encoded(2, turned=True), "path": "turned.jpg"},
        {"bytes": encoded(3, "PNG", turned=True), "path": None},
        {"bytes": encoded(4, "GIF", "P"), "path": "a.gif"},
        {"bytes": encoded(5, "PNG", "L"), "path": None},
        {"bytes": None, "path": str(outside)},
    ]
    features = datasets.Features({"image": IMAGE, "q": STRING})
    made = datasets.Dataset.from_dict({"image": rows, "q": list("abcdef")}, features=features)
    pq.write_table(made.data.table.replace_schema_metadata(features.arrow_schema.metadata), file)


def noted_by_an_old_version(file: Path) -> None:
    by_datasets(file)
    table = pq.read_table(file)
    noted = table.schema.metadata[b"huggingface"]
    noted = noted.replace(b'{"_type": "Image"}', b'{"decode": true, "id": null, "_type": "Image"}')
    noted = noted.replace(b'"_type": "Value"', b'"id": null, "_type": "Value"')
    pq.write_table(table.replace_schema_metadata({b"huggingface": noted}), file)


def opened(file: Path) -> dict[str, Rows] | None:
    return open_plain(source(file), ["test"], overrides={})


def source(file: Path) -> Source:
    return Source("parquet", kwargs={"data_files": {"test": file.name}}, directory=file.parent)


def shown(doc: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if not isinstance(value, pil.Image):
            return value
        facts = {name: vars(value).get(name) for name in ("polymeter_bytes", "polymeter_file", "format")}
        return (type(value), value.mode, value.size, value.tobytes(), facts)

    return {name: plain(value) for name, value in doc.items()}


@pytest.mark.parametrize(
    "write",
    [by_datasets, in_small_groups, in_uneven_groups, with_gaps, of_all_kinds, noted_by_an_old_version],
)
def test_rows_are_those_of_datasets(tmp_path: Path, write: Callable[[Path], None]) -> None:
    file = tmp_path / "rows.parquet"
    write(file)
    found = opened(file)
    assert found is not None
    mine = found["test"]
    assert isinstance(mine, ImageRows)
    theirs = make_rows(open_splits(source(file), ["test"], cache_dir=tmp_path / "cache")["test"], what="rows")
    assert isinstance(theirs, DatasetRows)
    n = len(theirs)
    for name in ("columns", "media", "undecoded", "written", "written_fingerprint", "fingerprint"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert len(mine) == n
    assert repr(mine.docs(0, n)) == repr(theirs.docs(0, n))
    assert repr(mine.docs(n - 1, n + 5)) == repr(theirs.docs(n - 1, n + 5))
    for index in {0, 1, n // 2, n - 1, *range(min(n, 6))}:
        assert list(mine.full_doc(index)) == list(theirs.full_doc(index))
        assert shown(mine.full_doc(index)) == shown(theirs.full_doc(index))
        for column in mine.columns:
            assert mine.cell(index, column) == theirs.cell(index, column)
    for column in mine.columns:
        assert mine.missing(column) == theirs.missing(column)
        assert mine.is_always_one(column) is theirs.is_always_one(column)


def another_mode(file: Path) -> None:
    features = datasets.Features({"image": datasets.Image(mode="RGB"), "q": STRING})
    datasets.Dataset.from_dict({"image": cells(2), "q": ["a", "b"]}, features=features).to_parquet(str(file))


def undecoded(file: Path) -> None:
    features = datasets.Features({"image": datasets.Image(decode=False), "q": STRING})
    datasets.Dataset.from_dict({"image": cells(2), "q": ["a", "b"]}, features=features).to_parquet(str(file))


def in_lists(file: Path) -> None:
    features = datasets.Features({"images": datasets.List(IMAGE), "q": STRING})
    datasets.Dataset.from_dict({"images": [cells(2)], "q": ["a"]}, features=features).to_parquet(str(file))


def alone(file: Path) -> None:
    features = datasets.Features({"image": IMAGE})
    datasets.Dataset.from_dict({"image": cells(2)}, features=features).to_parquet(str(file))


def not_noted(file: Path) -> None:
    by_datasets(file)
    pq.write_table(pq.read_table(file).replace_schema_metadata(None), file)


@pytest.mark.parametrize("write", [another_mode, undecoded, in_lists, alone, not_noted])
def test_others_are_left_to_datasets(tmp_path: Path, write: Callable[[Path], None]) -> None:
    file = tmp_path / "rows.parquet"
    write(file)
    assert opened(file) is None


def test_large_groups_and_examples_with_images_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.parquet"
    by_datasets(file)
    of_two = Source("parquet", kwargs={"data_files": {"test": file.name, "train": file.name}}, directory=tmp_path)
    assert open_plain(of_two, ["test", "train"], overrides={}) is None
    assert open_plain(of_two, ["test"], overrides={}) is not None
    monkeypatch.setattr(parquet_images, "_LARGEST_GROUP", 10_000)
    assert opened(file) is None


def test_any_number_of_threads_read_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.parquet"
    in_small_groups(file)
    found = opened(file)
    assert found is not None
    rows = found["test"]
    monkeypatch.setattr(parquet_images, "_HELD_BYTES", 4_000_000)
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda index: rows.cell(index, "image")["path"], order))
    assert read == [f"{index}.jpg" for index in order]
    assert parquet_images._HELD._n_bytes() <= 4_000_000


def test_the_fingerprint_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.parquet"
    by_datasets(file)
    first = open_plain(source(file), ["test"], overrides={}, cache_dir=tmp_path / "cache")
    monkeypatch.setattr(parquet_images, "rows_fingerprint", None)
    again = open_plain(source(file), ["test"], overrides={}, cache_dir=tmp_path / "cache")
    assert first is not None
    assert again is not None
    assert again["test"].fingerprint == first["test"].fingerprint


def test_a_file_that_changes_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    by_datasets(file)
    found = opened(file)
    assert found is not None
    parquet_images._HELD._groups.clear()
    with_gaps(file)
    with pytest.raises(DataError, match="was changed"):
        found["test"].cell(0, "image")
    file.unlink()
    with pytest.raises(DataError, match=r"rows\.parquet"):
        found["test"].cell(0, "image")


def test_datasets_is_not_imported(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    by_datasets(file)
    script = (
        "import sys\nfrom pathlib import Path\nfrom polymeter.data import Source, open_plain\n"
        f"file = Path({str(file)!r})\n"
        "source = Source('parquet', kwargs={'data_files': {'test': file.name}}, directory=file.parent)\n"
        "rows = open_plain(source, ['test'], overrides={})['test']\n"
        "assert rows.full_doc(300)['image'].size == (12, 9)\n"
        "assert not {'datasets', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
