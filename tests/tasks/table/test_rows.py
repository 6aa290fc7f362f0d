"""Rows of a table as authors, built-in classes and the journal see them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polymeter.tasks.table.classes.cells import options_of
from polymeter.tasks.table.files.finding import note_origin, origin_of
from polymeter.tasks.table.rows import TableRows, TableSamples, holds_image, table_of
from tests.helpers.toy_datasets import png_base64, write_table


def table(**columns: Any) -> TableRows:
    frame = pd.DataFrame({"index": [7, 9], **columns}, index=[3, 5])
    return table_of("T", frame, "TDataset")


def test_a_row_has_the_same_cells_as_a_series_and_as_a_mapping() -> None:
    found = table(
        text=["a", None],
        number=[1, 2],
        share=[0.5, np.nan],
        flag=[True, False],
        kept=pd.Series(["x", 1], dtype=object, index=[3, 5]),
        when=pd.to_datetime(["2024-01-01", "2024-01-02"]),
        some=pd.array([1, None], dtype="Int64"),
        images=[["a", "b"], ["c", "d"]],
    )
    for number in (0, 1):
        line, cells = found.line(number), found.cells(number)
        assert list(line.index) == list(cells)
        assert [type(value) for value in line] == [type(value) for value in cells.values()]
        pd.testing.assert_series_equal(line, pd.Series(cells, name=(3, 5)[number], dtype=object))


def test_documents_are_plain_and_leave_images_out_and_whole_rows_have_them() -> None:
    image = png_base64("red", (40, 40))
    (sample,) = TableSamples("T", table(number=[1, 2], share=[np.nan, 1.0], image=[image, "0"]))[:1]
    assert sample.doc == {"index": "7", "number": 1, "share": None}
    assert type(sample.doc["number"]) is int
    assert sample.full_doc() == {**sample.doc, "image": image}


@pytest.mark.parametrize(
    "indices",
    [
        [7, 9],
        np.array([7, 9], dtype=np.int32),
        [-1, 10**18],
        ["7", "9"],
        ["007", "x"],
        [1.0, 2.5],
        [True, False],
    ],
    ids=str,
)
def test_an_index_that_is_kept_changes_neither_names_nor_digest(indices: Any) -> None:
    """Old runs know their samples by the text of the index, and the table by a digest of it."""
    frame = pd.DataFrame({"index": indices, "question": ["a", "b"]})
    kept, as_text = table_of("T", frame.copy(), "T", keeps_index=True), table_of("T", frame.copy(), "T")
    assert list(kept.ids) == list(as_text.ids) == [str(index) for index in frame["index"]]
    assert kept.digest() == as_text.digest()
    assert [type(line["index"]) for line in (kept.line(0), kept.cells(0))] == [type(frame.iloc[0]["index"])] * 2
    assert type(as_text.line(0)["index"]) is type(as_text.cells(0)["index"]) is str
    pd.testing.assert_series_equal(kept.data["index"], frame["index"])


def test_authors_rows_are_their_own_to_change() -> None:
    found = table(text=["a", "b"])
    line = found.line(0)
    line["text"] = "changed"
    assert found.line(0)["text"] == found.cells(0)["text"] == "a"


def test_a_cut_character_has_an_identity_too() -> None:
    column = pd.Series(["a", "\ud83d"], dtype=object, index=[3, 5])
    assert table(text=column).digest() != table(text=["a", "?"]).digest()


def test_options_are_read_from_any_kind_of_row() -> None:
    row = {"index": "1", "B": 2.0, "A": "one", "C": np.nan, "D": " ", "question": "?"}
    assert options_of(row) == options_of(pd.Series(row)) == {"A": "one", "B": "2"}


def test_a_table_in_the_place_of_a_fetched_one_is_its_own(tmp_path: Path) -> None:
    file = write_table(tmp_path / "X.tsv", {"index": [0], "prompt": ["a"]})
    assert origin_of(file) is None
    note_origin(file, "XDataset", "https://me:secret@example.org/X.tsv")
    assert origin_of(file) == "XDataset"
    assert "secret" not in (tmp_path / "X.tsv.origin.json").read_text()
    write_table(file, {"index": [0, 1], "prompt": ["a", "b"]})
    assert origin_of(file) is None
    (tmp_path / "X.tsv.origin.json").write_text("[]")
    assert origin_of(file) is None


@pytest.mark.parametrize(
    ("cell", "is_image"),
    [
        (png_base64("red"), True),
        (f"['{png_base64('red')}', '{png_base64('blue')}']", True),
        ([png_base64("red")], True),
        (f"data:image/png;base64,{png_base64('red')}", True),
        ("a red circle " * 20, False),
        ("7", False),
        (7, False),
        (None, False),
        ([], False),
    ],
)
def test_which_cells_hold_images(cell: object, is_image: bool) -> None:
    assert holds_image(cell) is is_image


def test_cells_are_those_of_the_row_in_any_order() -> None:
    n = 600
    frame = pd.DataFrame(
        {
            "index": range(n),
            "text": pd.Series([f"t{i}" if i % 7 else None for i in range(n)], dtype="string"),
            "usual": [f"u{i}" if i % 5 else None for i in range(n)],
            "whole": range(n),
            "part": [i / 2 if i % 3 else None for i in range(n)],
        }
    )
    table = table_of("mine", frame, "Mine")
    for number in (0, 599, 3, 300, 255, 256, 7, 511, 512):
        line = dict(table.line(number).items())
        cells = table.cells(number)
        assert [(name, type(cell), repr(cell)) for name, cell in cells.items()] == [
            (name, type(cell), repr(cell)) for name, cell in line.items()
        ]
