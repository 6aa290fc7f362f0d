"""Utilities of ``vlmutil``: rotated tables, failures in files, missing scores; and the numbers of a status file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from polymeter.cli.main import main
from polymeter.core.errors import DataError, PlanError
from polymeter.interop.ulmeval.vlmevalkit.circular import write_circular
from polymeter.interop.ulmeval.vlmevalkit.levels import LEVELS
from polymeter.interop.ulmeval.vlmevalkit.scanning import missing, scan
from polymeter.interop.ulmeval.vlmevalkit.status import flat_metrics, primary_metric

ROWS = [
    {"index": 0, "question": "q0", "A": "red", "B": "green", "C": "blue", "answer": "B", "image": "x" * 80},
    {"index": 1, "question": "q1", "A": "yes", "B": "no", "C": None, "answer": "A", "image": "y" * 80},
    {"index": 2, "question": "q2", "A": "A", "B": "both A and B", "C": None, "answer": "A", "image": "z" * 80},
    {"index": 3, "question": "q3", "A": "one", "B": "two", "C": None, "answer": "two", "image": "z" * 80},
]


def table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "mine.tsv"
    pd.DataFrame(rows).to_csv(file, sep="\t", index=False)
    return file


def test_every_question_is_asked_in_every_rotation(tmp_path: Path) -> None:
    made = write_circular(table(tmp_path, ROWS))
    assert made.file == tmp_path / "mine_circular.tsv"
    assert (made.n_rows, made.n_written, made.by_choices) == (4, 7, {0: 2, 2: 1, 3: 1})
    rows = pd.read_csv(made.file, sep="\t").set_index("index")
    assert list(rows.loc[1_000_000, ["A", "B", "C", "answer", "g_index"]]) == ["green", "blue", "red", "A", 0]
    assert list(rows.loc[2_000_000, ["A", "B", "C", "answer"]]) == ["blue", "red", "green", "C"]
    assert rows.loc[1_000_000, "image"] == "0"
    assert rows.loc[0, "image"] == "x" * 80
    assert list(rows.loc[1_000_001, ["A", "B", "answer"]]) == ["no", "yes", "B"]
    assert sorted(rows.index) == [0, 1, 2, 3, 1_000_000, 1_000_001, 2_000_000]


def test_large_indices_get_a_larger_offset(tmp_path: Path) -> None:
    rows = pd.read_csv(write_circular(table(tmp_path, [{**ROWS[1], "index": 1_500_000}])).file, sep="\t")
    assert list(rows["index"]) == [1_500_000, 11_500_000]
    assert list(rows["g_index"]) == [1_500_000] * 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**ROWS[0], "B": None}], "Row 0 of mine.tsv has a gap among its choices"),
        ([ROWS[0], ROWS[0]], "has the index 0 more than once"),
        ([{**ROWS[0], "index": "a"}], "is not a whole number"),
        ([{"index": 1, "answer": "x"}], "has no column 'A'"),
    ],
)
def test_tables_that_cannot_be_rotated(rows: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        write_circular(table(tmp_path, rows))


def test_the_commands_of_both_tools_rotate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = table(tmp_path, ROWS[:2])
    for tool in ("ulmeval", "vlmeval"):
        assert main([tool, "circular", str(file)]) == 0
        assert "mine_circular.tsv: 5 rows of 2 rows" in capsys.readouterr().out
    assert main(["vlmeval", "circular", str(tmp_path / "none.tsv")]) == 2
    assert "There is no table" in capsys.readouterr().err


def answers(folder: Path, model: str, dataset: str, texts: list[str]) -> None:
    (folder / model).mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame({"index": range(len(texts)), "prediction": texts})
    frame.to_csv(folder / model / f"{model}_{dataset}.tsv", sep="\t", index=False)


def test_failed_answers_and_judgements_are_counted(tmp_path: Path) -> None:
    answers(tmp_path, "m", "MMVet", ["fine", "Failed to obtain answer via API.", "Failed to obtain answer: no"])
    answers(tmp_path, "m", "OCRBench", ["fine"])
    judged = pd.DataFrame({"index": [0, 1], "score": [0, 1], "log": ["All 5 retries failed.\n", "Succeed"]})
    judged.to_csv(tmp_path / "m" / "m_MMVet_gpt-4-turbo.tsv", sep="\t", index=False)
    assert list(scan(tmp_path, (), ())) == [
        "m on MMVet: 2 of 3 answers failed",
        "m on MMVet: 1 of 2 judgements failed (m_MMVet_gpt-4-turbo.tsv)",
    ]
    assert list(scan(tmp_path, ("m",), ("OCRBench", "POPE"))) == ["m on POPE: there are no answers"]
    with pytest.raises(PlanError, match="no model 'n'"):
        list(scan(tmp_path, ("n",), ()))


def test_missing_scores_are_listed(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for name in ("m_MMBench_DEV_EN_acc.csv", "m_MMBench_TEST_EN_acc.csv", "m_POPE_score.csv"):
        (tmp_path / "m" / name).write_text("")
    lacking = [dataset for _, dataset in missing(tmp_path, LEVELS["l2"])]
    assert "MMBench" not in lacking
    assert "POPE" not in lacking
    assert "MMBench_CN" in lacking
    assert len(lacking) == len(LEVELS["l2"]) - 2


def test_lists_and_reports_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs" / "m").mkdir(parents=True)
    assert main(["vlmeval", "dlist", "l1"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["MMVet", "MMMU_DEV_VAL"]
    assert main(["vlmeval", "mlist", "4.37.0", "large"]) == 0
    assert capsys.readouterr().out.split() == ["emu2_chat", "InternVL2-76B"]
    assert main(["vlmeval", "missing", "l3"]) == 1
    assert "6 scores missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mlist", "4.37"], "Did you mean"),
        (["dlist", "l9"], "no level or folder 'l9'"),
        (["missing"], "missing takes a level or a dataset"),
        (["missing", "MMVett"], "Did you mean 'MMVet'"),
        (["run", "l2", "hf"], "polymeter vlmeval missing l2"),
        (["check", "x"], "polymeter run --model SPEC"),
        (["merge_pkl", "x"], "nothing to merge"),
        (["evl"], "Did you mean 'eval'"),
        (["eval"], "eval takes a prediction file"),
        (["eval", "m_none.xlsx"], "ends with no dataset that is known"),
        (["--data", "MMStar", "--model", "GPT4oo", "--judge", "mock"], "no"),
    ],
)
def test_mistakes_are_explained(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vlmeval", *words]) == 2
    assert message in capsys.readouterr().err


def test_numbers_of_a_status_file() -> None:
    frame = {"split": ["dev", "test"], "Overall": ["0.5", 0.75], "x": [1, None]}
    metrics = flat_metrics(frame)
    assert metrics == {"split=dev|Overall": 0.5, "split=dev|x": 1.0, "split=test|Overall": 0.75}
    assert primary_metric(metrics) == "split=test|Overall"
    assert flat_metrics({"a": {"b": "3"}, "c": [1], "d": [1, 2], "e": "text", "f": True}) == {
        "a|b": 3.0,
        "c": 1.0,
        "d|0": 1.0,
        "d|1": 2.0,
    }
    assert primary_metric({}) is None
    assert primary_metric({"x": 1, "score": 2, "my_acc": 3}) == "my_acc"
    json.dumps(metrics)
