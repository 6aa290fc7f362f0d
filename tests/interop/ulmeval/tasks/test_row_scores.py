"""Intervals of numbers that an ``evaluate`` returns, from the scores of rows that it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polymeter.data.formats import dump
from polymeter.data.tables.exact import keeping_exact
from polymeter.interop.ulmeval.tasks.results.row_scores import estimated, row_scores
from tests.helpers.toy_datasets import run_toy, write_table

FRAME = pd.DataFrame({"index": [3, 1, 2], "answer": ["A", "B", "C"], "prediction": ["A", "B", "D"]})


def columns_of(folder: Path, table: pd.DataFrame) -> list[list[float]]:
    with keeping_exact(folder):
        dump(table, folder / "result.xlsx")
        return [column.tolist() for column in row_scores(folder.glob("*.xlsx"), FRAME)]


def test_columns_of_a_written_table_are_in_the_order_of_the_predictions(tmp_path: Path) -> None:
    written = pd.DataFrame({"index": [1, 2, 3], "hit": [1, 0, 1], "log": ["a", "b", "c"], "answer": [1.0, 2.0, 3.0]})
    assert columns_of(tmp_path, written) == [[1.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"index": [1, 2], "hit": [1, 0]}),
        pd.DataFrame({"index": [1, 2, 4], "hit": [1, 0, 1]}),
        pd.DataFrame({"index": [1, 2, 2], "hit": [1, 0, 1]}),
        pd.DataFrame({"hit": [1, 0, 1]}),
        pd.DataFrame({"index": [1, 2, 3], "hit": [1, 0, np.nan]}),
    ],
    ids=["fewer rows", "another row", "a row twice", "no index", "a row without a score"],
)
def test_a_table_that_does_not_score_every_row_has_no_columns(tmp_path: Path, table: pd.DataFrame) -> None:
    assert columns_of(tmp_path, table) == []


@pytest.mark.parametrize(
    ("value", "rows", "is_mean"),
    [
        (2 / 3, None, True),
        (200 / 3, None, True),
        (66.67, None, True),
        (66.7, None, False),  # too many means are rounded to it
        (0.5, {1, 2}, True),
        (0.5, None, False),
        (0.66, None, False),
    ],
)
def test_scores_are_those_of_a_number_only_if_it_is_their_mean(
    value: float, rows: set[int] | None, is_mean: bool
) -> None:
    found = estimated(value, rows, [np.array([1.0, 1.0, 0.0])])
    assert (found is not None) is is_mean


def test_the_interval_of_a_class_that_writes_hits_is_that_of_their_mean(tmp_path: Path) -> None:
    """The numbers of whole and part; a number that is no mean has none."""
    file = tmp_path / "vlmeval/dataset/toy.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import pandas as pd\nfrom vlmeval.smp import *\nfrom .text_base import TextBaseDataset\n\n\n"
        "class Toy(TextBaseDataset):\n    TYPE = 'QA'\n    DATASET_URL = {'Toy': ''}\n    DATASET_MD5 = {}\n\n"
        "    @classmethod\n    def evaluate(cls, eval_file, **judge_kwargs):\n"
        "        data = load(eval_file)\n"
        "        data['hit'] = [int(i) % 3 == 0 for i in data['index']]\n"
        "        dump(data, eval_file.replace('.xlsx', '_result.xlsx'))\n"
        "        parts = data.groupby('kind')['hit'].mean()\n"
        "        return {'Overall': data['hit'].mean() * 100, 'odd': 12.5, **{k: v * 100 for k, v in parts.items()}}\n"
    )
    from polymeter.tasks.table.files.roots import LMUDataRoot

    kinds = ["plain" if number % 2 else "hard" for number in range(60)]
    write_table(Path(LMUDataRoot()) / "Toy.tsv", {"index": range(60), "question": range(60), "kind": kinds})
    run = run_toy(file, tmp_path / "run")
    found = {one["metric"]: one for one in run.results["tasks"]["Toy"]["results"]}
    assert found["Overall"]["value"] == pytest.approx(100 / 3)
    low, high = found["Overall"]["interval"]
    assert 0 < low < 100 / 3 < high < 100
    assert found["Overall"]["stderr"] == pytest.approx(100 * np.std([1, 0, 0] * 20, ddof=1) / np.sqrt(60))
    assert found["hard"]["n"] == 30
    assert found["hard"]["interval"] is not None
    assert found["odd"]["interval"] is None
