"""Cells of plain tables are shown, offered and compared as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate
from polymeter.core.errors import PlanError
from polymeter.tasks.table.rows import choices_of

CELLS = [
    ("1969-07-20", "a date is text"),
    ("2024-01", "a month is text"),
    ("20:17:40", "a time is text"),
    ("007", "leading zeros stay"),
    ("1.10", "zeros at the end stay"),
    ("1e5", "an exponent stays"),
    ("-0.0", "the sign of zero stays"),
    ("18446744073709551616", "whole numbers of any size keep all digits"),
    ("true", "true is not True"),
    ("TRUE", "TRUE is not True"),
    ("NA", "a word is a word"),
    ("None", "a word is a word"),
    ("nan", "a word is a word"),
    ("6", "6 is 6"),
]


def table(folder: Path, columns: list[str], *rows: list[str]) -> Path:
    text = "".join("\t".join(row) + "\n" for row in (columns, *rows))
    (folder / "t.tsv").write_text(text)
    return folder / "t.tsv"


def sample_of(file: Path, **options: Any) -> Any:
    run = evaluate("mock", str(file), output=file.parent / "run", **options)
    return next(iter(run.samples()))


@pytest.mark.parametrize(("cell", "why"), CELLS)
def test_a_cell_in_a_prompt_and_as_the_answer(tmp_path: Path, cell: str, why: str) -> None:
    # The row below leaves cells empty, which makes pandas read numbers as fractions.
    file = table(tmp_path, ["index", "question", "answer", "n"], ["0", cell, cell, "1"], ["1", "more", "7", ""])
    sample = sample_of(file, model_args={"answer": cell})
    assert cell in sample.prompt, why
    assert (sample.target, sample.scores["exact_match"]) == (cell, 1.0), why


@pytest.mark.parametrize(("cell", "why"), CELLS)
def test_a_cell_as_an_option(tmp_path: Path, cell: str, why: str) -> None:
    file = table(tmp_path, ["index", "question", "A", "B", "answer"], ["0", "?", cell, "other", "A"])
    assert f"A. {cell}\n" in sample_of(file).prompt, why


@pytest.mark.parametrize(
    ("cells", "shown", "hidden"),
    [
        (["cat", "", "dog", ""], ["A. cat\n", "C. dog\n"], ["B.", "D.", "None", "nan"]),
        (["", "cat", "dog", ""], ["B. cat\n", "C. dog\n"], ["A.", "D.", "None", "nan"]),
        (["6", "", "8", "9"], ["A. 6\n", "C. 8\n", "D. 9\n"], ["B.", "8.0"]),
    ],
)
def test_an_empty_option_is_none_and_the_others_keep_their_letters(
    tmp_path: Path, cells: list[str], shown: list[str], hidden: list[str]
) -> None:
    file = table(tmp_path, ["index", "question", "A", "B", "C", "D", "answer"], ["0", "?", *cells, "C"])
    sample = sample_of(file, model_args={"answer": "C"})
    assert all(text in sample.prompt for text in shown)
    assert not any(text in sample.prompt for text in hidden)
    assert sample.scores["acc"] == 1.0


@pytest.mark.parametrize("cell", ["", "  "])
@pytest.mark.parametrize("answer", ["B", "b"])
def test_an_empty_option_is_refused_as_the_answer(tmp_path: Path, answer: str, cell: str) -> None:
    rows = ["0", "?", "cat", "dog", "A"], ["1", "?", "cat", cell, answer]
    file = table(tmp_path, ["index", "question", "A", "B", "answer"], *rows)
    with pytest.raises(PlanError, match="The answer 'B' of row 1 names an option that is empty"):
        sample_of(file)
    assert not list(tmp_path.glob("run/**/journal*")), "nothing was asked"


def test_a_letter_that_is_the_text_of_an_option_is_no_empty_option(tmp_path: Path) -> None:
    file = table(tmp_path, ["index", "question", "A", "B", "C", "answer"], ["0", "?", "C", "cat", "", "C"])
    assert sample_of(file, model_args={"answer": "A"}).scores["acc"] == 1.0


def test_a_wrapper_gets_options_in_their_places() -> None:
    assert choices_of({"A": "cat", "B": None, "C": "dog", "D": ""}) == ["cat", "", "dog"]
    assert choices_of({"question": "?"}) is None
