"""A run that an error ends after it has begun says so: its status is ``failed``, with the reason."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import polymeter as polymeter_module
from tests.helpers.openai_stub import OpenAIStub, Received, chat
from tests.regressions.endpoints import Ended, polymeter, resume, run, task_folder

QUESTIONS = [f"question {number}" for number in range(4)]
UNFIT = "cannot answer task 'said', which asks for loglikelihood"


def has_failed(ended: Ended, why: str) -> None:
    assert ended.code == 2, ended.said
    assert why in ended.said
    assert "polymeter resume" not in ended.said
    manifest = ended.manifest
    assert manifest["status"] == "failed"
    assert manifest["ended"]
    session = manifest["sessions"][-1]
    assert session["status"] == "failed"
    assert session["ended"]
    assert why in session["reason"]


def test_a_model_that_turns_out_to_be_unfit(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS, choices=True)
    with OpenAIStub(lambda received: chat("A")) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url)
        has_failed(ended, UNFIT)
        assert [session["status"] for session in ended.manifest["sessions"]] == ["failed"]
        again = resume(ended)
        has_failed(again, UNFIT)
        assert [session["status"] for session in again.manifest["sessions"]] == ["failed", "failed"]
    found = polymeter_module.open_run(ended.folder)
    assert (found.status, found.exit_code, found.is_complete) == ("failed", 2, False)
    assert UNFIT in found.reason
    shown = polymeter("show", str(ended.folder), folder=ended.folder).said
    assert "status   failed" in shown
    assert f"reason   Model 'openai:m' {UNFIT}" in shown
    written = polymeter("report", str(ended.folder), folder=ended.folder)
    assert "PARTIAL: this run failed" in written.said
    assert "Partial: the run failed" in (ended.folder / "report.html").read_text()


def test_what_is_told_at_the_end_agrees_with_the_folder(tmp_path: Path) -> None:
    tasks, heard = task_folder(tmp_path / "tasks", QUESTIONS, choices=True), tmp_path / "heard.json"
    with OpenAIStub(lambda received: chat("A")) as stub:
        on_end = ("--on-end", f"cat > {heard}")
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *on_end)
    told = json.loads(heard.read_text())
    assert (told["status"], told["exit_code"]) == (ended.manifest["status"], ended.code) == ("failed", 2)
    assert told["reason"] in ended.manifest["sessions"][-1]["reason"]


@pytest.mark.control
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_journal_that_cannot_be_read_at_the_end(
    tmp_path: Path, is_interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file takes its place while the model answers."""
    tasks, output = task_folder(tmp_path / "tasks", QUESTIONS), tmp_path / "run"
    monkeypatch.setenv("NO_PROXY", "*")

    def respond(received: Received) -> Any:
        if "question 2" in str(received.body):
            (tmp_path / "other").write_bytes(b"garbage" * 1000)
            os.replace(tmp_path / "other", output / "journal.db")
            for ending in ("-wal", "-shm"):
                (output / f"journal.db{ending}").unlink(missing_ok=True)
            if is_interrupted:
                os.kill(os.getpid(), signal.SIGINT)
        return chat("right")

    options = {"include_paths": tasks, "output": output, "concurrency": 1}
    with OpenAIStub(respond) as stub, suppress(polymeter_module.PolymeterError):
        polymeter_module.evaluate("openai:m", "said", model_args={"base_url": stub.base_url}, **options)
    manifest = json.loads((output / "run.json").read_text())
    # An interruption may come before the answer is written, so that nothing is known to be lost.
    assert manifest["status"] in (["stopped", "interrupted"] if is_interrupted else ["stopped"])
    assert manifest["sessions"][-1]["status"] == manifest["status"]
    assert manifest["ended"]


def test_the_usage_of_a_failed_run_holds_its_last_answers(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS, choices=True)
    with OpenAIStub(lambda received: {**chat("A"), "usage": {"prompt_tokens": 7, "completion_tokens": 1}}) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url)
    has_failed(ended, UNFIT)
    with closing(sqlite3.connect(ended.folder / "journal.db")) as db:
        n_answers, n_failed = (
            db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("responses", "failed_tries")
        )
    kept = ended.manifest["usage_by_role"]["model"]["openai:m"]
    assert [kept["requests"], kept["failed"]] == [n_answers, n_failed]
    assert n_failed


_WRAPPER = """\
from polymeter.extend import BatchModel, ModelTraits, Response, register_model


@register_model("heavy")
class Heavy(BatchModel):
    traits = ModelTraits(family="heavy")
    identity = {"backend": "heavy"}

    def load(self):
        raise RuntimeError("the weights are torn")

    def respond(self, requests):
        return [Response.of_text("right") for _ in requests]
"""


def test_a_model_that_cannot_be_loaded(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS)
    (tmp_path / "heavy.py").write_text(_WRAPPER)
    ended = run("heavy", tasks, tmp_path / "run", "--import", str(tmp_path / "heavy.py"))
    has_failed(ended, "the weights are torn")


@pytest.mark.control
def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS)
    ended = run("openai:m", tasks, tmp_path / "run", "--base-url", "http://127.0.0.1:9/v1")
    assert ended.code == 2
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.control
def test_one_that_goes_on_with_what_it_needs_completes(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS)
    (tmp_path / "heavy.py").write_text(_WRAPPER)
    ended = run("heavy", tasks, tmp_path / "run", "--import", str(tmp_path / "heavy.py"))
    assert ended.code == 2
    (tmp_path / "heavy.py").write_text(_WRAPPER.replace('raise RuntimeError("the weights are torn")', "pass"))
    again = resume(ended)
    assert again.code == 0, again.said
    assert again.task["statuses"] == {"ok": 4}
