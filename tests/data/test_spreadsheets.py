"""Excel files as data of tasks: the first sheet as the CSV that a spreadsheet program would save."""

from __future__ import annotations

import builtins
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.data import Opening, know_written, make_rows, open_splits, rows_from_files
from polymeter.data.opening.spreadsheets import csv_text
from polymeter.data.source import Source


def workbook(file: Path, rows: Sequence[Sequence[Any]], *more: Sequence[Sequence[Any]]) -> Path:
    """An Excel file with a sheet for each list of rows."""
    book = openpyxl.Workbook()
    for cells in rows:
        book.active.append(list(cells))
    for sheet_rows in more:
        sheet = book.create_sheet()
        for cells in sheet_rows:
            sheet.append(list(cells))
    book.save(file)
    return file


def read(file: Path, path: str = "excel", **kwargs: Any) -> list[dict[str, Any]]:
    """The rows of a task that names the file as its data."""
    source = Source(path, None, {"data_files": {"test": file.name}, **kwargs}, file.parent)
    cache = file.parent / "cache"
    dataset = open_splits(source, ["test"], cache_dir=cache)["test"]
    rows = make_rows(dataset, what="rows", cache_dir=cache)
    know_written(rows, dataset, Opening(source, "test", {}, cache))
    return rows.docs(0, len(rows))


@pytest.mark.parametrize("path", ["excel", "csv"])
def test_the_first_sheet_is_read(tmp_path: Path, path: str) -> None:
    file = workbook(tmp_path / "a b.xlsx", [["question", "answer"], ["Wie, „so“?\nJa", "x"]], [["other"], ["y"]])
    assert read(file, path) == [{"question": "Wie, „so“?\nJa", "answer": "x"}]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("007", "007"),
        (7, "7"),
        (7.0, "7"),
        (0.5, "0.5"),
        (1e300, "1e+300"),
        (True, "TRUE"),
        (datetime.datetime.fromisoformat("2024-01-31"), "2024-01-31"),
        (datetime.date(2024, 1, 31), "2024-01-31"),
        (datetime.datetime.fromisoformat("2024-01-31 20:17"), "2024-01-31 20:17:00"),
        (datetime.time(20, 17), "20:17:00"),
        ("NA", "NA"),
        ("-x", "-x"),
    ],
)
def test_cells_are_written_as_a_csv_has_them(tmp_path: Path, cell: Any, text: str) -> None:
    file = workbook(tmp_path / "t.xlsx", [["a", "b"], [cell, "x"]])
    assert csv_text(file) == f'"a","b"\n"{text}","x"\n'
    assert str(read(file)[0]["a"]) == text


def test_empty_rows_and_columns_are_left_out(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", [["a", None, "b"], [None] * 3, ["x", None, None], [1, None, 2, None]])
    assert csv_text(file) == '"a","b"\n"x",\n"1","2"\n'
    assert [row["b"] for row in read(file)] == [None, 2]


def test_rows_of_which_no_type_fits_a_column_are_read_one_by_one(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", [["a"], ["x"], [1]])
    rows = rows_from_files(Source("excel", None, {"data_files": {"test": file.name}}, tmp_path), ["test"], {})
    assert rows is not None
    assert rows["test"].docs(0, 2) == [{"a": "x"}, {"a": "1"}]


def test_settings_of_text_files_do_not_count(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", [["a", "b"], ["x", "y"]])
    assert read(file, sep=";", encoding="cp1252") == [{"a": "x", "b": "y"}]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "has an empty first sheet"),
        ([["a", "b"]], "has column names and no rows"),
        ([["a", "a"], [1, 2]], "has two columns 'a'"),
    ],
)
def test_a_sheet_without_rows_is_refused(tmp_path: Path, rows: list[list[Any]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read(workbook(tmp_path / "t.xlsx", rows))


def test_what_is_no_excel_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match=r"t\.xlsx cannot be read as an Excel file: File is not a zip file") as refused:
        read(tmp_path / "t.xlsx")
    assert "Save it again as .xlsx" in refused.value.hint


def test_the_extra_is_named_where_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = workbook(tmp_path / "t.xlsx", [["a"], ["x"]])
    import_as_usual = builtins.__import__

    def without_openpyxl(name: str, *rest: Any, **named: Any) -> Any:
        if name == "openpyxl":
            raise ModuleNotFoundError(name)
        return import_as_usual(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_openpyxl)
    with pytest.raises(PlanError, match=r"'openpyxl', needed by the Excel file t\.xlsx") as refused:
        read(file)
    assert "excel" in refused.value.hint
