"""Runs of a version that cut answers before it stored them are read by the rules of this one, and ask nothing again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polymeter import compare, evaluate, resume, score
from polymeter.core.task import RolloutSteps, Sample
from polymeter.models.mock import MockBatch
from polymeter.run.schedule.journal_lookup import ASKS_OTHERWISE, CUT_AWAY
from tests.helpers.tasks import ListTask, ask, docs, run_tasks
from tests.reading.old.make_runs import HERE, OLD

VALUES = {"0": CUT_AWAY, "1": 1.0, "2": CUT_AWAY, "3": CUT_AWAY, "4": CUT_AWAY, "5": 0.0}
"""What the samples of the task of thoughts come to: a score, or why there is none."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what the runs were made of, and the runs."""
    shutil.copytree(OLD / "inputs", tmp_path, dirs_exist_ok=True)
    for name in ("finished", "killed"):
        with tarfile.open(OLD / f"{name}.tar.gz") as archive:
            archive.extractall(tmp_path, filter="data")
        manifest = tmp_path / name / "run.json"
        manifest.write_text(manifest.read_text(encoding="utf-8").replace(HERE, str(tmp_path)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers(run: Path) -> set[tuple[Any, ...]]:
    with closing(sqlite3.connect(run / "journal.db")) as db:
        return set(db.execute("SELECT task, sample, role, model, fingerprint, occurrence, body FROM responses"))


def samples(run: Path, task: str) -> dict[str, Any]:
    """For each sample its score, or why it has none."""
    found = {}
    for line in (run / "samples" / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        is_scored = sample["status"] == "ok"
        found[sample["id"]] = sample["scores"][0]["value"] if is_scored else sample["error"]["message"]
        assert sample["status"] in ("ok", "unscored")
    return found


def notes(run: Path) -> str:
    return " ".join(json.loads((run / "results.json").read_text(encoding="utf-8"))["notes"])


def manifest_of(run: Path) -> Any:
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


def age(run: Path) -> None:
    """Make a run one of a version that recorded no rules."""
    manifest = manifest_of(run)
    for record in (manifest, *manifest["sessions"]):
        del record["rules"]
    with closing(sqlite3.connect(run / "journal.db")) as db, db:
        db.execute("UPDATE samples SET seal=NULL, checksum=NULL")
    (run / "run.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_a_finished_run_is_scored_again_from_its_answers(here: Path) -> None:
    score(here / "finished", output=here / "again")
    assert answers(here / "again") == answers(here / "finished")
    assert samples(here / "again", "thoughts") == VALUES
    assert samples(here / "again", "rounds")["0"] == CUT_AWAY
    assert set(samples(here / "again", "pixels")) == set("0123")
    assert "read answers by different rules (version 1 and version 2)" in notes(here / "again")
    assert "sent media by different rules" not in notes(here / "again"), "nothing was sent"
    assert manifest_of(here / "again")["rules"] == {"reading": 2, "media": 1}


def test_a_finished_run_that_is_resumed_stays_as_it_is(here: Path) -> None:
    before = answers(here / "finished")
    assert resume(here / "finished").value("thoughts", "exact_match") == pytest.approx(1 / 6)
    assert answers(here / "finished") == before


def test_a_killed_run_goes_on_and_reports_the_mixture(here: Path) -> None:
    before = answers(here / "killed")
    resume(here / "killed")
    assert before < answers(here / "killed")
    assert samples(here / "killed", "thoughts") == VALUES
    assert "read answers by different rules (version 1 and version 2)" in notes(here / "killed")
    mixed = "The model was sent media by different rules: 3 samples by version 1 and 1 sample by version 2."
    assert mixed in notes(here / "killed")
    once_more = answers(here / "killed")
    resume(here / "killed")
    assert answers(here / "killed") == once_more, "what cannot be read is not asked for the next time either"
    assert samples(here / "killed", "thoughts") == VALUES


def test_two_runs_that_were_read_by_different_rules_are_reported(here: Path) -> None:
    args = {"answers": "answers.json", "answer": "Paris"}
    evaluate("mock", ["thoughts.yaml", "pixels.tsv", "rounds.yaml"], model_args=args, output=here / "new")
    assert manifest_of(here / "new")["rules"] == {"reading": 2, "media": 2}
    told = " ".join(compare(here / "finished", here / "new", allow=["prompts", "samples"]).others[0].warnings)
    assert "read by different rules, version 1 and version 2" in told
    assert "polymeter score RUN reads the stored answers again" in told


def test_a_next_question_that_would_be_another_one_is_not_asked(tmp_path: Path) -> None:
    """The rollout asks again with what it read: before, with the reasoning in it."""

    def play(sample: Sample) -> RolloutSteps:
        first = yield ask(sample.doc["question"], sample)
        yield ask(f"You said: {first.text}", sample)

    def before(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample)
        yield ask(f"You said: <think>hm</think> {sample.doc['answer']}", sample)

    asked: list[str] = []

    def said(request: Any) -> str:
        asked.append(request.text)
        return "yes" if "said" in request.text else f"<think>hm</think> {request.text.replace('q', 'a')}"

    def go(run: Path, rollout: Any) -> dict[str, Any]:
        model = MockBatch(said, identity={"name": "m"})
        run_tasks([ListTask(docs(2), play=rollout)], model, run)
        return samples(run, "list")

    go(tmp_path / "run", before)
    age(tmp_path / "run")
    n_asked = len(asked)
    for _ in range(2):
        assert go(tmp_path / "run", play) == {"0": ASKS_OTHERWISE, "1": ASKS_OTHERWISE}
    assert len(asked) == n_asked


def test_a_question_that_only_the_new_reading_asks_is_not_asked(tmp_path: Path) -> None:
    """A sample that had ended after one question."""

    def before(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample)

    def now(sample: Sample) -> RolloutSteps:
        first = yield ask(sample.doc["question"], sample)
        if "<think>" not in first.text:
            yield ask("Are you sure?", sample)

    asked: list[str] = []

    def said(request: Any) -> str:
        asked.append(request.text)
        return "<think>hm</think> a"

    model = MockBatch(said, identity={"name": "m"})
    run_tasks([ListTask(docs(1), play=before)], model, tmp_path / "run")
    age(tmp_path / "run")
    run_tasks([ListTask(docs(1), play=now)], model, tmp_path / "run")
    assert samples(tmp_path / "run", "list") == {"0": ASKS_OTHERWISE}
    assert asked == ["q0"]
