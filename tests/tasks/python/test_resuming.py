"""Runs of benchmarks in Python that are killed, continued, scored again, and computed by other processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage

import polymeter
from tests.tasks.python.kit import Recorder, results_of, written

_KILLED = """
    import os
    import signal
    from pathlib import Path

    import polymeter

    ARMED = Path(__file__).with_name("armed")


    @polymeter.scorer
    def right(answer, reference, row):
        if row["n"] == 7 and ARMED.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return answer == reference


    @polymeter.task(rows=[{"n": n, "answer": "mock"} for n in range(12)], reference="answer", scorers=right, id="n")
    def numbers(row):
        first = yield f"Say {row['n']}."
        second = yield "Again."
        return second
"""
_SEEING = """
    import polymeter


    @polymeter.scorer
    def right(answer, reference):
        return answer == reference


    @polymeter.task(rows=[{"image": "a.png", "answer": "OK"}, {"image": "b.png", "answer": "no"}], reference="answer",
                    scorers=right)
    def colours(row):
        return [polymeter.Image(row["image"]), "Which colour?"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, colour in (("a", "red"), ("b", "blue")):
        PILImage.new("RGB", (8, 8), colour).save(f"{name}.png")
    return tmp_path


def _samples(run: Path, task: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "samples" / f"{task}.jsonl").read_text().splitlines()]


def test_a_run_that_was_killed_is_continued_to_the_same_scores(folder: Path) -> None:
    written(folder, _KILLED)
    command = [sys.executable, "-m", "polymeter", "run", "--model", "mock", "--model-args", "batch_size=2"]
    command += ["--tasks", "bench.py", "--output"]
    (folder / "armed").touch()
    killed = subprocess.run([*command, "killed"], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    (folder / "armed").unlink()
    resumed = polymeter.resume("killed")
    whole = polymeter.evaluate("mock", tasks="bench.py", output="whole", model_args={"batch_size": 2})
    assert resumed.is_complete
    assert results_of(resumed, "numbers") == results_of(whole, "numbers") == {"right": 1.0}
    kept = ("id", "scores", "answer", "status")
    one, other = (
        [{key: sample[key] for key in kept} for sample in _samples(run.folder.path, "numbers")]
        for run in (resumed, whole)
    )
    assert one == other
    assert [sample["id"] for sample in one] == [str(n) for n in range(12)]


def test_a_scorer_that_was_edited_scores_the_stored_answers(folder: Path) -> None:
    written(folder, _SEEING)
    model = Recorder()
    before = polymeter.evaluate(model, tasks="bench.py", output="run")
    assert results_of(before, "colours") == {"right": 0.0}
    written(folder, _SEEING.replace("answer == reference", "answer.lower() == reference.lower()"))
    again = polymeter.score("run", output="again")
    assert results_of(again, "colours") == {"right": 0.5}
    # The same holds where the run itself is continued: its images are known by their content.
    continued = polymeter.evaluate(model, tasks="bench.py", output="run")
    assert results_of(continued, "colours") == {"right": 0.5}
    assert len(model.requests) == 2


def test_a_prompt_that_was_edited_is_asked_anew(folder: Path) -> None:
    written(folder, _SEEING)
    model = Recorder()
    polymeter.evaluate(model, tasks="bench.py", output="run")
    written(folder, _SEEING.replace("Which colour?", "What colour?"))
    polymeter.evaluate(model, tasks="bench.py", output="run")
    assert [request.text for request in model.requests] == ["Which colour?"] * 2 + ["What colour?"] * 2


@pytest.mark.slow
def test_other_processes_open_the_task_from_its_file(folder: Path) -> None:
    written(folder, _KILLED)
    run = polymeter.evaluate("mock", tasks="bench.py::numbers", replicas=2, model_args={"mode": "gold"}, output="run")
    assert results_of(run, "numbers") == {"right": 1.0}


def test_a_spec_is_plain_data_that_another_process_can_compile(folder: Path) -> None:
    import pickle

    from polymeter.extend import ModelTraits, OpenContext
    from polymeter.run.plan.selection import build_catalog, format_of, select

    file = written(folder, _KILLED)
    (spec,) = select([f"{file}::numbers"], build_catalog([file], None)).tasks
    assert pickle.loads(pickle.dumps(spec)) == spec
    code = (
        "import pickle, sys; from polymeter.run.plan.selection import format_of;"
        "from polymeter.extend import ModelTraits, OpenContext;"
        "spec = pickle.load(sys.stdin.buffer);"
        "task = format_of(spec).compile(spec, ModelTraits(family='x'), OpenContext());"
        "print(task.fingerprint, task.score_digest, len(task.samples))"
    )
    other = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(spec), capture_output=True, check=True)
    task = format_of(spec).compile(spec, ModelTraits(family="x"), OpenContext())
    assert other.stdout.decode().split() == [task.fingerprint, task.score_digest, "12"]
