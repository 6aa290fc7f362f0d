"""Rows as authors get them are those that pandas gives, also after an author's code has changed the frame."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from polymeter.tasks.table.rows import TableRows, table_of

N = 600


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "index": range(N),
            "question": [f"question {number}" for number in range(N)],
            "answer": range(N),
            "share": [np.nan if number % 3 else 1.5 for number in range(N)],
            "is_short": [number % 2 == 0 for number in range(N)],
            "image": pd.Series([[f"{number}.png", "b.png"] for number in range(N)], dtype=object),
            "day": pd.date_range("2020-01-01", periods=N),
            "hint": [None if number % 2 else "hint" for number in range(N)],
            "category": pd.Categorical(["a", "b"] * (N // 2)),
        }
    )


@pytest.fixture
def table() -> TableRows:
    return table_of("mine", frame(), "Mine")


@pytest.mark.parametrize("number", [0, 5, 255, 256, N - 1])
def test_a_row_is_the_one_that_pandas_gives(table: TableRows, number: int) -> None:
    row, expected = table.line(number), table.data.iloc[number]
    pd.testing.assert_series_equal(row, expected)
    assert (row.name, type(row.name)) == (expected.name, type(expected.name))
    assert [type(row[name]) for name in row.index] == [type(expected[name]) for name in expected.index]


def test_every_row_has_its_own_cells(table: TableRows) -> None:
    assert [table.line(number)["question"] for number in (0, 599, 1, 300, 0)] == [
        f"question {number}" for number in (0, 599, 1, 300, 0)
    ]


def test_a_row_is_its_owners_to_change(table: TableRows) -> None:
    row = table.line(5)
    row["answer"] = 99
    row["more"] = "x"
    assert table.line(5)["answer"] == 5
    assert "more" not in table.line(5)
    assert table.data.at[5, "answer"] == 5


def _set_cell(data: pd.DataFrame) -> None:
    data.at[5, "answer"] = 77


def _set_text(data: pd.DataFrame) -> None:
    data.iloc[5, 1] = "another"


def _set_many(data: pd.DataFrame) -> None:
    data.loc[data["answer"] < 10, "question"] = "another"


def _set_column(data: pd.DataFrame) -> None:
    data["answer"] = 3


def _add_column(data: pd.DataFrame) -> None:
    data["more"] = 3


def _rename(data: pd.DataFrame) -> None:
    data.columns = pd.Index([str(name).upper() for name in data.columns])


def _relabel(data: pd.DataFrame) -> None:
    data.index = data.index + 10


@pytest.mark.parametrize("change", [_set_cell, _set_text, _set_many, _set_column, _add_column, _rename, _relabel])
def test_a_changed_frame_gives_changed_rows(table: TableRows, change: Callable[[pd.DataFrame], None]) -> None:
    before = table.line(5)
    change(table.data)
    pd.testing.assert_series_equal(table.line(5), table.data.iloc[5])
    assert before["question"] == "question 5"


def test_labels_that_come_twice_are_no_obstacle() -> None:
    data = frame()
    data.index = pd.Index([0] * N)
    table = table_of("mine", data, "Mine")
    pd.testing.assert_series_equal(table.line(7), data.iloc[7])
