"""Tables too large to hold: their images in files, all else as it was."""

import base64
import io
import logging
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.data.tables import large as large_tables
from polymeter.tasks.table.base import ImageBaseDataset
from polymeter.tasks.table.files import localising


def encoded(colour, kind="PNG"):
    buffer = io.BytesIO()
    pil.new("RGB", (30, 20), colour).save(buffer, kind)
    return buffer.getvalue()


def text(data):
    return base64.b64encode(data).decode()


PNG, JPG = encoded((1, 2, 3)), encoded((4, 5, 6), "JPEG")
TINY = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;"


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.delenv("FORCE_LOCAL", raising=False)
    monkeypatch.setattr(large_tables, "_MOST_ROWS", 2)
    return tmp_path


def write(root, cells, **columns):
    table = {"index": range(len(cells)), "image": cells, "question": [f"q{i}" for i in range(len(cells))], **columns}
    pd.DataFrame(table).to_csv(root / "X.tsv", sep="\t", index=False)


FORMS = ["4", text(PNG), str([text(PNG), text(JPG)]), None, text(JPG), "0", "2"]


def asked(dataset):
    return [
        [
            Path(item["value"]).read_bytes() if item["type"] == "image" else item["value"]
            for item in dataset.build_prompt(i)
        ]
        for i in range(len(dataset))
    ]


@pytest.mark.parametrize("skip_noimg", [True, False])
def test_a_localised_table_asks_the_same(root, monkeypatch, skip_noimg):
    write(root, FORMS, answer=["007", "1.50", "NA", "x", "", "true", "a\nb"])
    whole = ImageBaseDataset("X", skip_noimg)
    monkeypatch.setattr(localising, "LARGE_BYTES", 10)
    local = ImageBaseDataset("X", skip_noimg)
    assert "image" not in local.data
    assert local.meta_only
    assert local.data_path == whole.data_path
    assert asked(local) == asked(whole)
    pd.testing.assert_frame_equal(
        local.data[["index", "question", "answer"]], whole.data[["index", "question", "answer"]]
    )


def test_it_is_made_once_for_each_state_of_the_table(root, monkeypatch):
    monkeypatch.setenv("FORCE_LOCAL", "1")
    write(root, [text(PNG)])
    ImageBaseDataset("X")
    (first,) = (root / "local").iterdir()
    stamp = first.stat().st_mtime_ns
    ImageBaseDataset("X")
    assert first.stat().st_mtime_ns == stamp
    write(root, [text(PNG), text(JPG)])
    assert len(ImageBaseDataset("X")) == 2
    assert len(list((root / "local").iterdir())) == 2
    assert [path.name for path in root.glob("*.tsv")] == ["X.tsv"]


def test_a_bad_cell_is_logged_and_an_error_of_its_row(root, monkeypatch, caplog):
    monkeypatch.setenv("FORCE_LOCAL", "1")
    write(root, [text(PNG), "!" + text(PNG), "99"])
    with caplog.at_level(logging.WARNING):
        dataset = ImageBaseDataset("X")
    assert "The image in row '1', column 'image' cannot be decoded" in caplog.text
    assert len(dataset.build_prompt(0)) == 2
    with pytest.raises(DataError, match=r"^The image in row '1', column 'image' cannot be decoded: '!.*not base64"):
        dataset.build_prompt(1)
    with pytest.raises(DataError, match=r"^The cell in row '2', column 'image' refers to row '99', which is missing"):
        dataset.build_prompt(2)


@pytest.mark.parametrize(
    "cells",
    [
        [text(PNG), str(["0", text(JPG), "2"]), str([text(JPG), text(PNG)]), "1", "0"],
        [text(TINY), str([text(TINY), "0"])],
        [text(PNG), "2", "0"],
    ],
)
def test_lists_of_references_and_very_small_images_are_the_same_localised(root, monkeypatch, cells):
    write(root, cells)
    whole = asked(ImageBaseDataset("X"))
    monkeypatch.setenv("FORCE_LOCAL", "1")
    assert asked(ImageBaseDataset("X")) == whole


@pytest.mark.parametrize("cell", ["[1, x]", "1", "3", str(["3"])])
def test_the_reason_of_a_bad_cell_is_the_same_localised(root, monkeypatch, cell):
    write(root, [text(PNG), cell, text(PNG), None])
    with pytest.raises(DataError) as whole:
        ImageBaseDataset("X", skip_noimg=False).build_prompt(1)
    monkeypatch.setenv("FORCE_LOCAL", "1")
    with pytest.raises(DataError) as local:
        ImageBaseDataset("X", skip_noimg=False).build_prompt(1)
    assert whole.value.what in local.value.what


def test_a_table_without_images_is_read_as_it_is(root, monkeypatch):
    monkeypatch.setenv("FORCE_LOCAL", "1")
    pd.DataFrame({"index": [1], "image_path": ["a.png"], "question": ["q"]}).to_csv(
        root / "X.tsv", sep="\t", index=False
    )
    assert ImageBaseDataset("X").data["image_path"].tolist() == ["a.png"]
    assert not (root / "local").exists()


def test_rows_with_a_cell_too_many_are_no_shifted_table(root, monkeypatch):
    monkeypatch.setenv("FORCE_LOCAL", "1")
    (root / "X.tsv").write_text(f"index\timage\tquestion\n0\t{text(PNG)}\tq\t\n1\t{text(JPG)}\tr\t\n")
    assert asked(ImageBaseDataset("X")) == [[PNG, "q"], [JPG, "r"]]
    (root / "X.tsv").write_text(f"index\timage\tquestion\n0\t{text(PNG)}\tq\t1\n1\t{text(JPG)}\tr\t2\n")
    with pytest.raises(DataError, match=r"Taking the images out of .*X\.tsv raised ParserWarning"):
        ImageBaseDataset("X")


def test_nothing_is_left_of_a_table_that_cannot_be_read(root, monkeypatch):
    monkeypatch.setenv("FORCE_LOCAL", "1")
    (root / "X.tsv").write_text(f"index\timage\n1\t{text(PNG)}\n2\t{text(PNG)}\t3\n3\t{text(JPG)}\n")
    with pytest.raises(DataError, match=r"Taking the images out of .*X\.tsv raised ParserError"):
        ImageBaseDataset("X")
    assert list((root / "local").iterdir()) == []
