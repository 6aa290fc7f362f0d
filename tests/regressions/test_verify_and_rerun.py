"""``polymeter verify`` finds what was changed in a run folder; ``polymeter rerun`` finds what a run depends on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.regressions.copies import command, here, run

__all__ = ["here"]


@pytest.fixture
def done(here: Path) -> Path:
    """A finished run."""
    ended = run(here, "--model", "mock", "--model-args", "mode=gold")
    assert ended.returncode == 0, ended.stderr
    return here


def verified(here: Path, name: str = "run") -> tuple[int, str]:
    said = command("verify", name, "--quiet", cwd=here)
    assert "Traceback" not in said.stderr
    return said.returncode, said.stdout


def test_verify_finds_nothing_wrong_with_a_run_that_nobody_touched(done: Path) -> None:
    before = {path: path.read_bytes() for path in (done / "run").rglob("*") if path.is_file()}
    said = command("verify", "run", cwd=done)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "nothing is wrong" in said.stdout
    assert {path: path.read_bytes() for path in before} == before, "the run folder stays as it is"


def test_verify_finds_a_changed_row(done: Path) -> None:
    with closing(sqlite3.connect(done / "run" / "journal.db")) as db, db:
        db.execute("UPDATE responses SET body=replace(body, 'word7', 'w0rd7') WHERE sample=7")
    code, said = verified(done)
    assert code == 1
    assert "1 answer not matching its checksum" in said


def test_verify_finds_a_changed_score_although_it_has_a_checksum_of_its_own(done: Path) -> None:
    """A row that is consistent with its checksum is still compared with the results."""
    results = json.loads((done / "run" / "results.json").read_text())
    results["tasks"]["copies"]["results"][0]["value"] = 0.5
    (done / "run" / "results.json").write_text(json.dumps(results))
    code, said = verified(done)
    assert code == 1
    assert "results.json: task 'copies' differs from its rows reduced again" in said
    assert "0.5" in said


def test_verify_finds_a_changed_line_of_samples(done: Path) -> None:
    path = done / "run" / "samples" / "copies.jsonl"
    path.write_text(path.read_text().replace("word3", "werd3"))
    code, said = verified(done)
    assert code == 1
    assert "samples/copies.jsonl, line 4, differs" in said


def test_verify_finds_changed_and_missing_media(tmp_path: Path) -> None:
    made = command("run", "--model", "shapes", "--tasks", "demo_t2i", "--limit", "2", "--output", "run", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert verified(tmp_path) == (0, "")
    first, second = sorted((tmp_path / "run" / "media").rglob("*.png"))[:2]
    shutil.copyfile(first, second)
    first.unlink()
    code, said = verified(tmp_path)
    assert code == 1
    assert f"{second.name} does not match its name" in said
    assert f"{first.name} of an answer is missing" in said


def test_verify_says_what_it_could_not_check(done: Path) -> None:
    (done / "copies.yaml").unlink()
    code, said = verified(done)
    assert code == 1
    assert "not checked" in said


@pytest.mark.control
def test_verify_of_a_folder_without_a_run_is_an_error(tmp_path: Path) -> None:
    assert command("verify", "run", cwd=tmp_path).returncode == 2


def test_a_run_is_run_again_from_its_manifest_without_a_difference(done: Path) -> None:
    said = command("rerun", "run", "--output", "again", cwd=done)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "no difference" in said.stdout
    assert (done / "again" / "results.json").read_text() == (done / "run" / "results.json").read_text()


def test_rerun_shows_the_first_answer_that_differs(here: Path) -> None:
    (here / "model.py").write_text(MODEL)
    (here / "answer.txt").write_text("one")
    words = ("--import", "model.py", "--model", "from_file")
    assert run(here, *words).returncode == 0
    (here / "answer.txt").write_text("two")
    said = command("rerun", "run", cwd=here)
    assert said.returncode == 1, said.stderr
    assert "answer of task 'copies', sample '0'" in said.stdout
    assert "'one'" in said.stdout
    assert "'two'" in said.stdout
    assert (here / "run-rerun" / "run.json").exists()


def test_rerun_shows_the_first_request_that_differs_and_what_changed(done: Path) -> None:
    yaml = done / "copies.yaml"
    yaml.write_text(yaml.read_text().replace("Repeat: ", "Say: "))
    said = command("rerun", "run", cwd=done)
    assert said.returncode == 1
    assert "The sources of task 'copies' changed" in said.stdout
    assert "request of task 'copies', sample '0'" in said.stdout


def test_a_manifest_that_does_not_say_enough_cannot_be_run_again(done: Path) -> None:
    path = done / "run" / "run.json"
    manifest = json.loads(path.read_text())
    manifest["model"]["spec"] = None
    path.write_text(json.dumps(manifest))
    said = command("rerun", "run", cwd=done)
    assert said.returncode == 2
    assert "Python object" in said.stderr


MODEL = """\
from pathlib import Path
from polymeter import BatchModel, ModelTraits, Response, register_model


@register_model("from_file")
class FromFile(BatchModel):
    traits = ModelTraits(family="from_file")
    identity = {"backend": "from_file"}

    def respond(self, requests):
        return [Response.of_text(Path("answer.txt").read_text()) for _ in requests]
"""
