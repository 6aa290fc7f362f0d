"""``--parity`` on every command line that runs, scores or shows prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.cli.main import main

pytestmark = pytest.mark.needs_system("lmms_eval")
TASK = """\
task: t
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
description: About.
doc_to_text: "{{q}}"
doc_to_target: a
"""
RUN = ["run", "--model", "mock", "--tasks", "t.yaml", "--output", "out"]
OF_LMMS_EVAL = ["lmms-eval", "--model", "mock", "--tasks", "t", "--include_path", ".", "--output_path", "out"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"q": "x", "a": "1"}\n')
    (tmp_path / "t.yaml").write_text(TASK)


@pytest.mark.parametrize("words", [RUN, OF_LMMS_EVAL], ids=["run", "lmms-eval"])
def test_a_run_takes_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--parity", "lmms-eval"]) == 0
    assert "parity: lmms-eval 0.7.2" in capsys.readouterr().out


@pytest.mark.parametrize("words", [RUN, OF_LMMS_EVAL, ["check", "t.yaml"]], ids=["run", "lmms-eval", "check"])
def test_an_unknown_system_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--parity", "lmms-evil"]) == 2
    assert "'lmms-eval'" in capsys.readouterr().err


def test_scoring_again_takes_it_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--parity", "lmms-eval"]) == 0
    capsys.readouterr()
    assert main(["score", "out", "--output", "again"]) == 0
    assert "parity: lmms-eval 0.7.2" in capsys.readouterr().out
    assert main(["score", "out", "--output", "ours", "--parity", "none"]) == 1
    assert "parity" not in capsys.readouterr().out


def test_prompts_are_shown_at_parity(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t.yaml", "--prompts", "1"]) == 0
    assert "About.x" in capsys.readouterr().out
    assert main(["check", "t.yaml", "--prompts", "1", "--parity", "lmms-eval"]) == 0
    assert "About." not in capsys.readouterr().out
