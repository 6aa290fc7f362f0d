"""A run as VLMEvalKit's tables: predictions, what each sample scored, the scores; no text becomes a formula."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import polymeter
from polymeter.core.request import Output, Request, Response
from polymeter.models.mock import MockBatch
from tests.helpers.export_kit import make_run, one, write_tasks

pytestmark = pytest.mark.needs_system("ulmeval")


def table(path: Path) -> list[dict[str, Any]]:
    head, *rows = openpyxl.load_workbook(path).active.iter_rows()
    return [{str(name.value): cell.value for name, cell in zip(head, row, strict=True)} for row in rows]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("vlm"))
    return polymeter.export(run, "vlmevalkit", output=run.parent / "out", media="copy").folder


def test_predictions(exported: Path) -> None:
    rows = table(one(exported, "*_capitals.xlsx"))
    assert rows[1] == {
        "index": 1,
        "country": "Japan",
        "capital": "Tokyo",
        "region": "Asia",
        "question": "What is the capital of Japan?",
        "answer": "Tokyo",
        "prediction": "Kyoto",
    }
    assert [row["index"] for row in rows] == [0, 1, 3]
    scored = table(one(exported, "*_capitals_result.xlsx"))
    assert [row["exact_match"] for row in scored] == [1, 0, 1]
    signs = table(one(exported, "*_demo_signs.xlsx"))[0]
    assert (exported / signs["image_path"]).is_file()


def test_a_text_that_begins_like_a_formula_stays_a_text(exported: Path) -> None:
    (cell,) = (
        cell
        for row in openpyxl.load_workbook(one(exported, "*_capitals.xlsx")).active.iter_rows(min_row=2)
        for cell in row[-1:]
        if str(cell.value).startswith("=")
    )
    assert (cell.value, cell.data_type, cell.quotePrefix) == ("=1+2, Kathmandu", "s", True)


def test_scores(exported: Path) -> None:
    value = polymeter.open_run(exported.parent / "run").value("capitals", "exact_match")
    with one(exported, "*_capitals_acc.csv").open(newline="") as file:
        assert [*csv.reader(file)] == [["split", "Overall"], ["none", str(value)]]
    with one(exported, "*_choice_score.csv").open(newline="") as file:
        assert [(row["metric"], row["category"], row["n"]) for row in csv.DictReader(file)] == [
            ("acc", "Overall", "4"),
            ("acc_norm", "Overall", "4"),
        ]


@pytest.mark.parametrize("long", ["a" * 40_000, "a\x07b"])
def test_what_fits_into_no_cell_makes_a_json_file(tmp_path: Path, long: str) -> None:
    def answer(request: Request) -> Response:
        return Response((Output(text=long, finish_reason="stop"),))

    polymeter.evaluate(
        MockBatch(answer), "capitals", include_paths=[write_tasks(tmp_path / "mine")], output=tmp_path / "run"
    )
    done = polymeter.export(tmp_path / "run", "vlmevalkit", tasks="capitals")
    file = one(done.folder, "*_capitals.json")
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert [row["prediction"] for row in rows] == [long] * 4
    assert f"so {file.name} is JSON (PRED_FORMAT=json)" in done.left_out
    assert not [*done.folder.rglob("*.xlsx")]
