"""``--on-end``: the command runs however a run ends, knows how, and changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import PlanError, StorageError
from polymeter.models.mock import MockBatch
from polymeter.run.execution import Execution
from tests.cli.kit import CAPITALS, Typing

NOTE = """\
import json, os, sys
told = {name: os.environ["POLYMETER_" + name] for name in ("RUN", "STATUS", "EXIT_CODE")}
with open(sys.argv[1], "a") as file:
    file.write(json.dumps({**told, "stdin": json.load(sys.stdin)}) + "\\n")
print("noted")
"""
RUN = ["run", "--model", "mock", "--tasks", "capitals.yaml", "-q", "-o", "runs/a"]


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write(
        {"capitals.yaml": CAPITALS, "capitals.csv": "country,capital\nFrance,Paris\nPeru,Lima\n", "note.py": NOTE}
    )
    return typing


def on_end(more: str = "") -> list[str]:
    return ["--on-end", f"{sys.executable} note.py notes.jsonl{more}"]


def notes() -> list[dict[str, Any]]:
    place = Path("notes.jsonl")
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def test_it_runs_when_a_run_has_succeeded(typing: Typing) -> None:
    words = [sys.executable, "-m", "polymeter", *RUN, "--model-args", "mode=gold", *on_end(), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    (note,) = notes()
    assert (note["RUN"], note["STATUS"], note["EXIT_CODE"]) == (str(Path("runs/a").resolve()), "complete", "0")
    assert note["stdin"] == json.loads(done.stdout)
    assert note["stdin"]["results"]["tasks"]["capitals"]["results"][0]["value"] == 1.0
    assert done.stderr == "noted\n"


def test_it_runs_after_each_checkpoint_that_is_tracked(typing: Typing) -> None:
    typing.write({f"out/step-{step}/answers.json": '{"0": "Paris"}' for step in (1, 2)})
    words = "track out --tasks capitals.yaml --model mock --settle 0 -q --model-args answers={checkpoint}/answers.json"
    assert main([*words.split(), *on_end()]) == 0
    assert main([*words.split(), *on_end()]) == 0
    assert [Path(note["RUN"]).name for note in notes()] == ["1", "2"]


def test_it_knows_of_failed_samples_and_missed_thresholds(typing: Typing) -> None:
    assert main([*RUN, "--model-args", "failure=permanent", *on_end()]) == 1
    assert main([*RUN[:-1], "runs/b", "--fail-under", "capitals.exact_match=0.5", *on_end()]) == 3
    assert [(note["STATUS"], note["EXIT_CODE"]) for note in notes()] == [("complete", "1"), ("complete", "3")]


def test_it_runs_when_a_run_was_interrupted_or_stopped(typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: MockBatch, requests: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MockBatch, "respond", interrupted)
        assert main([*RUN, *on_end()]) == 130
    (note,) = notes()
    assert (note["STATUS"], note["EXIT_CODE"], note["stdin"]["results"]["status"]) == ("interrupted", "130", "partial")
    assert main(["resume", "runs/a", "-q", *on_end()]) == 0
    assert main(["resume", "runs/a", "-q", *on_end()]) == 0  # which has nothing left to do
    assert [note["STATUS"] for note in notes()] == ["interrupted", "complete", "complete"]
    assert main([*RUN[:-1], "runs/b", "--model-args", "failure=permanent", "--max-errors", "1", *on_end()]) == 1
    assert notes()[-1]["STATUS"] == "stopped"


def test_it_runs_when_an_error_ends_a_run_that_has_begun(typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Execution) -> None:
        raise StorageError("The disk is full.", where="runs/a")

    monkeypatch.setattr(Execution, "execute", fails)
    assert main([*RUN, *on_end()]) == 2
    (note,) = notes()
    assert (note["STATUS"], note["EXIT_CODE"], note["stdin"]["reason"]) == ("failed", "2", "The disk is full.")


def test_it_does_not_run_for_a_run_that_never_began(typing: Typing) -> None:
    assert main([*RUN, "--num-fewshot", "-1", *on_end()]) == 2
    assert main(["run", "--model", "mock", "--tasks", "nowhere", *on_end()]) == 2
    assert notes() == []


def test_its_failure_is_told_and_changes_nothing(typing: Typing, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*RUN, "--model-args", "mode=gold", "--on-end", "exit 7"]) == 0
    assert "The command of --on-end ended with 7. The run is unchanged." in caplog.text
    assert polymeter.open_run("runs/a").value("capitals", "exact_match") == 1.0


def test_it_is_no_part_of_the_run(typing: Typing) -> None:
    assert main([*RUN, *on_end()]) == 0
    assert main([*RUN, "--on-end", "true"]) == 0  # goes on with the same run
    manifest = json.loads(Path("runs/a/run.json").read_text())
    assert "on_end" not in json.dumps([manifest["identity"], manifest["options"]])


def test_score_and_python_take_it(typing: Typing) -> None:
    assert main([*RUN, "--model-args", "mode=gold"]) == 0
    assert main(["score", "runs/a", "-q", *on_end()]) == 0
    assert notes()[-1]["RUN"] == str(Path("runs/a-rescored").resolve())
    command = on_end()[1]
    polymeter.evaluate("mock", "capitals.yaml", output="runs/python", on_end=command)
    polymeter.resume("runs/python", on_end=command)
    assert [Path(note["RUN"]).name for note in notes()] == ["a-rescored", "python", "python"]
    with pytest.raises(PlanError):
        polymeter.evaluate("mock", "nowhere", on_end=command)
    assert len(notes()) == 3
