"""Tables without a class in VLMEvalKit's command: its files, and its table of accuracies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from polymeter.cli.main import main
from tests.helpers.toy_datasets import png_base64, write_table

CHOICE = {"A": ["mock"] * 4, "B": ["x"] * 4, "answer": list("AABB")}
COMMON = {"index": [1, 2, 3, 4], "question": ["q"] * 4}
GROUPS = {"split": ["val", "val", "test", "test"], "category": ["c", "d", "c", "d"], "l2-category": ["k"] * 4}
ROTATED = {**COMMON, "index": [1, 1_000_001, 2, 1_000_002], **CHOICE}


def begin_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder, with its tables below ``data`` and the formats that files have by default."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LMUData", str(folder / "data"))
    monkeypatch.delenv("PRED_FORMAT", raising=False)
    monkeypatch.delenv("EVAL_FORMAT", raising=False)


@pytest.mark.parametrize(
    ("columns", "table", "primary", "why"),
    [
        (
            {**COMMON, **CHOICE, **GROUPS},
            {"split": ["test", "val"], "Overall": [0.0, 1.0], "k": [0.0, 1.0], "c": [0.0, 1.0], "d": [0.0, 1.0]},
            "split=test|Overall",
            "multiple choice: a row for each split, a column for each category",
        ),
        (
            ROTATED,
            {"split": ["none", "none"], "Overall": [0.5, 0.5], "protocol": ["circular", "plain"]},
            "split=none|protocol=circular|Overall",
            "with rotations of each question",
        ),
        (
            {**COMMON, "answer": ["mock", "mock", "x", "y"], "category": ["c", "c", "c", "d"]},
            {"Overall": [50.0], "c": [200 / 3], "d": [0.0]},
            "Overall",
            "open answers, in percent",
        ),
        ({**COMMON, "answer": ["yes", "no", "no", "no"]}, {"Overall": [0.0]}, "Overall", "yes or no"),
    ],
)
def test_a_table(
    columns: dict[str, Any],
    table: dict[str, Any],
    primary: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin_in(tmp_path, monkeypatch)
    write_table(tmp_path / "data" / "mine.tsv", columns)
    assert main(["vlmeval", "--data", "mine", "--model", "mock", "--judge", "exact_matching"]) == 0
    predictions = pd.read_excel("outputs/mock/mock_mine.xlsx")
    assert list(predictions["index"]) == columns["index"], why
    assert list(predictions["prediction"]) == ["mock"] * 4
    written = pd.read_csv("outputs/mock/mock_mine_acc.csv").to_dict("list")
    assert written.keys() == table.keys(), why
    assert all(written[name] == pytest.approx(cells) for name, cells in table.items())
    (entry,) = dict(json.loads(Path("outputs/mock/status.json").read_text())["datasets"]).values()
    assert (entry["prediction_file"], entry["primary_metric"]) == ("mock_mine.xlsx", primary)


def test_a_format_that_is_unknown_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    monkeypatch.setenv("PRED_FORMAT", "docx")
    write_table(tmp_path / "data" / "mine.tsv", {**COMMON, **CHOICE})
    assert main(["vlmeval", "--data", "mine", "--model", "mock"]) == 2
    assert "PRED_FORMAT" in capsys.readouterr().err
    assert not Path("outputs").exists()


@pytest.mark.parametrize(
    ("base", "columns", "table", "primary"),
    [
        (
            "image_mcq import ImageMCQDataset",
            {**CHOICE, **GROUPS},
            {"split": ["test", "val"], "Overall": [0.0, 1.0], "k": [0.0, 1.0], "c": [0.0, 1.0], "d": [0.0, 1.0]},
            "split=test|Overall",
        ),
        ("image_vqa import ImageVQADataset", {"answer": ["mock", "x", "y", "z"]}, {"Overall": [25.0]}, "Overall"),
        ("image_yorn import ImageYORNDataset", {"answer": ["yes", "no", "no", "no"]}, {"Overall": [0.0]}, "Overall"),
    ],
)
def test_a_class_that_inherits_its_scoring_has_the_same_files(
    base: str,
    columns: dict[str, Any],
    table: dict[str, Any],
    primary: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin_in(tmp_path, monkeypatch)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = {**COMMON, **columns, "image": [png_base64("red")] * 4}
    write_table(tmp_path / "data" / "mine.tsv", rows)
    name = base.rpartition(" ")[2]
    Path("own.py").write_text(
        f"from vlmeval.dataset.{base}\n\n\n"
        f"class Own({name}):\n    DATASET_URL = {{'mine': ''}}\n    DATASET_MD5 = {{}}\n"
    )
    words = ["vlmeval", "--include-path", "own.py", "--data", "mine", "--model", "mock", "--judge", "exact_matching"]
    assert main(words) == 0
    written = pd.read_csv("outputs/mock/mock_mine_acc.csv").to_dict("list")
    assert written.keys() == table.keys()
    assert all(written[name] == pytest.approx(cells) for name, cells in table.items())
    (entry,) = dict(json.loads(Path("outputs/mock/status.json").read_text())["datasets"]).values()
    assert (entry.get("primary_metric"), entry.get("skip_reason")) == (primary, None)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"index": [1], "question": ["q"], "A": ["x"], "B": ["y"]}, "no column 'answer'"),
        ({"question": ["q"], "answer": ["x"]}, "no column 'index'"),
        ({"index": [1], "Question": ["q"], "answer": ["x"]}, "Rename 'Question' to 'question'?"),
    ],
)
def test_a_table_that_makes_no_benchmark_says_why_once_it_is_named(
    columns: dict[str, Any],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    write_table(tmp_path / "data" / "mine.tsv", columns)
    assert main(["vlmeval", "--data", "mine", "--model", "mock"]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert f"{tmp_path / 'data' / 'mine.tsv'}:1" in said
    assert main(["tasks"]) == 0
    assert "mine" not in capsys.readouterr().out


def test_an_unknown_dataset_says_where_classes_and_tables_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path))
    assert main(["vlmeval", "--data", "MMBench_DEV_EN", "--model", "mock"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--include-path names a checkout" in said


@pytest.mark.parametrize(
    ("name", "code"),
    [("CustomMCQDataset", 0), ("TextMCQDataset", 0), ("ImageMCQDataset", 2), ("CustomTextMCQDataset", 0)],
)
def test_a_configuration_may_name_the_class_of_a_table(
    name: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_images = name == "CustomMCQDataset"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    images = {"image": [png_base64("red")] * 4} if has_images else {}
    write_table(tmp_path / "data" / "mine.tsv", {**COMMON, **CHOICE, **images})
    config = {"model": {"mock": {}}, "data": {"mine": {"class": name, "dataset": "mine"}}}
    Path("config.json").write_text(json.dumps(config))
    assert main(["vlmeval", "--config", "config.json", "--judge", "exact_matching"]) == code
    if code:
        assert "'mine' is not a dataset of the class 'ImageMCQDataset'." in " ".join(capsys.readouterr().err.split())


def test_the_table_of_accuracies_has_the_format_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    monkeypatch.setenv("EVAL_FORMAT", "json")
    write_table(tmp_path / "data" / "mine.tsv", {**COMMON, **CHOICE})
    assert main(["vlmeval", "--data", "mine", "--model", "mock", "--judge", "exact_matching"]) == 0
    assert json.loads(Path("outputs/mock/mock_mine_acc.json").read_text()) == [{"split": "none", "Overall": 0.5}]
    assert not Path("outputs/mock/mock_mine_acc.csv").exists()
