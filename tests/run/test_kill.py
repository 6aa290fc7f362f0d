"""A run killed at any instant resumes and ends with the same results, and never asks again for what it had sealed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from polymeter.store.journal import Journal

ROOT = Path(__file__).parents[2]
INSTANTS = [
    ("before_answers", 1),
    ("before_answers", 9),
    ("after_answers", 3),
    ("after_answers", 20),
    ("before_end", 5),
    ("after_end", 5),
    ("before_transaction", 6),
    ("mid_transaction", 7),
    ("mid_transaction", 40),
    ("before_reduce", 1),
    ("before_samples", 1),
    ("mid_results", 1),
]


def run_child(folder: Path, log: Path, instant: str = "none", occurrence: int = 1, workers: int = 4) -> int:
    command = [
        sys.executable,
        "-m",
        "tests.run.kill_child",
        str(folder),
        str(log),
        instant,
        str(occurrence),
        str(workers),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    assert run_child(folder / "run", folder / "log", workers=1) == 0
    return (folder / "run" / "results.json").read_bytes()


@pytest.mark.parametrize(("instant", "occurrence"), INSTANTS)
def test_killed_and_resumed(tmp_path: Path, uninterrupted: bytes, instant: str, occurrence: int) -> None:
    run, log = tmp_path / "run", tmp_path / "log"
    assert run_child(run, log, instant, occurrence, workers=8) == -signal.SIGKILL
    sealed, answered = state_of(run)
    before = asked(log)
    log.unlink(missing_ok=True)
    assert run_child(run, log, workers=1) == 0
    after = asked(log)
    assert (run / "results.json").read_bytes() == uninterrupted
    for index in sealed:
        assert not {f"q{index}", f"a{index}+", f"judge {index}"} & after.keys()
    for question in answered:
        assert question not in after
    assert all(count == 1 for count in before.values())
    assert all(count == 1 for count in after.values())


def test_killed_twice_and_resumed(tmp_path: Path, uninterrupted: bytes) -> None:
    run, log = tmp_path / "run", tmp_path / "log"
    assert run_child(run, log, "after_end", 4) == -signal.SIGKILL
    assert run_child(run, log, "mid_transaction", 12) == -signal.SIGKILL
    assert run_child(run, log) == 0
    assert (run / "results.json").read_bytes() == uninterrupted
    lines = (run / "samples" / "list.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in lines] == list(range(60))


def asked(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def state_of(run: Path) -> tuple[list[int], set[str]]:
    """Sealed samples, and all questions whose answers are in the journal."""
    journal = Journal(run / "journal.db")
    sealed = [index for (index,) in journal._db.execute("SELECT sample FROM samples WHERE seal IS NOT NULL")]
    questions = {
        json.loads(request)["messages"][0]["parts"][0]["text"] for _, _, _, request, _ in journal.exchanges("list")
    }
    journal.close()
    return sealed, questions
