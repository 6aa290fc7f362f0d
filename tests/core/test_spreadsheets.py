"""CSV for spreadsheets: texts stay in their cells and are never computed."""

from __future__ import annotations

import csv
import io
from typing import Any

import pandas as pd
import pytest

from polymeter.core.text.spreadsheets import csv_lines, is_formula

TEXTS = [
    *(
        "plain",
        "",
        " a ",
        'say "x"',
        "a,b",
        "a;b",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "a\rb",
        "end\r",
        "end\n",
        "a\r=1+1",
        '"\r"',
    ),
    *("a\u2028b", "ünï", "'quoted'", "a=b", "x -1", "-5", "+3.5", "-.5e3", "-1e-7"),
]


@pytest.mark.parametrize("is_all_quoted", [False, True])
def test_every_text_comes_back(is_all_quoted: bool) -> None:
    rows = [["name", "text"], *([str(n), text] for n, text in enumerate(TEXTS))]
    written = "".join(csv_lines(rows, is_all_quoted=is_all_quoted))
    assert list(csv.reader(io.StringIO(written, newline=""))) == rows
    frame = pd.read_csv(io.StringIO(written, newline=""), dtype=str, keep_default_na=False)
    assert frame["text"].tolist() == TEXTS


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("=1+1", "a formula"),
        ("+1+1", "a sum"),
        ("-1+1", "a difference"),
        ("-cmd|' /C calc'!A0", "a call of another program"),
        ("@SUM(A1)", "a function in the notation of Lotus"),
        ("\tx", "a tab, which is skipped"),
        ("\rx", "a line break, which is skipped"),
        ("  =1+1", "blanks are skipped"),
        ("\n\u00a0\u3000=1+1", "blanks of any script, and lines"),
        ("\ufeff=1+1", "a byte-order mark is skipped"),
        ("＝1+1", "a full-width sign is one"),
        ("＋1", "a full-width sign is one"),
        ("－1", "a full-width sign is one"),
        ("＠SUM(A1)", "a full-width sign is one"),
        ("-", "a sign alone"),
        ("-5 apples", "more than a number"),
        ("-1\n=2", "a number is all of the cell"),
    ],
)
def test_a_formula_gets_an_apostrophe(cell: str, why: str) -> None:
    assert is_formula(cell), why
    (written,) = csv.reader(io.StringIO("".join(csv_lines([[cell]])), newline=""))
    assert written == [f"'{cell}"]


@pytest.mark.parametrize(
    ("cell", "written"),
    [(-0.25, "-0.25"), (-3, "-3"), ("-3", "-3"), ("+1e5", "+1e5"), (None, ""), (True, "True"), ("a=1", "a=1")],
)
def test_a_number_stays_a_number(cell: Any, written: str) -> None:
    assert [*csv_lines([["x", cell]])] == [f"x,{written}\n"]
