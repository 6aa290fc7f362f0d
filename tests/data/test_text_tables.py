"""A table that is read without pandas is the one that pandas reads; whatever could differ is left to pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from polymeter.data.tables import read_texts
from polymeter.data.text_tables import TextTable, read_text_table
from polymeter.formats.table.base import TextBaseDataset

CELLS = "a,b\tNA\tNone\t1.50\tTRUE\t x \té✓\t#c\t\t1_0\t\u2028\t\x0b-\t0x1"


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.tsv"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return file


def as_pandas_reads(file: Path) -> Any:
    return TextBaseDataset._with_index(read_texts(file), str(file))


@pytest.mark.parametrize(
    "indices", [["0", "1", "2"], ["-3", "12", "7"], ["b1", "2", "3.0"], ["row_1", "True", "inf"], ["b", "1e5", "007"]]
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_plain_table_is_the_one_that_pandas_reads(tmp_path: Path, indices: list[str], end: str) -> None:
    names = ["question", "index", *(f"c{number}" for number in range(CELLS.count("\t") + 1))]
    lines = ["\t".join(names), *(f"what?\t{index}\t{CELLS}" for index in indices)]
    file = written(tmp_path, "\n".join(lines) + end)
    table = read_text_table(file)
    assert table is not None
    expected = as_pandas_reads(file)
    pd.testing.assert_frame_equal(table.frame(), expected)
    assert table["index"] == [str(index) for index in expected["index"]] == indices
    table.index_by_text()
    assert list(table.frame()["index"]) == indices


@pytest.mark.parametrize(
    "text",
    [
        'index\tquestion\n1\t"quoted"\n',
        "index\tquestion\r\n1\ta\r\n",
        "\ufeffindex\tquestion\n1\ta\n",
        "index\tquestion\n1\n",
        "index\tquestion\n1\ta\tb\n",
        "index\tquestion\n\n1\ta\n",
        "index\tquestion\n 1\ta\n",
        "question\tindex\n\t1\n",
        "index\tquestion\tquestion\n1\ta\tb\n",
        "index\t\n1\ta\n",
        "index\tquestion\n",
        "index\tquestion\n01\ta\n",
        "index\tquestion\n1.0\ta\n",
        "index\tquestion\nTrue\ta\nFalse\tb\n",
        "index\tquestion\n1\ta\n1\tb\n",
        "index\tquestion\n1\ta\n\tb\n",
        "question\n1\n",
        "index\tquestion\n1\t\udcff\n",
    ],
)
def test_what_pandas_may_read_otherwise_is_left_to_it(tmp_path: Path, text: str) -> None:
    assert read_text_table(written(tmp_path, text)) is None


def test_rows_are_mappings(tmp_path: Path) -> None:
    table = read_text_table(written(tmp_path, "index\tquestion\n1\ta\n2\tb\n3\tc\n"))
    assert isinstance(table, TextTable)
    assert list(table.rows(1, 5)) == [{"index": "2", "question": "b"}, {"index": "3", "question": "c"}]
    assert len(table) == 3
    assert "question" in table
    assert table.get("hint", ()) == ()
