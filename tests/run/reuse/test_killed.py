"""A run that reuses answers, killed at any instant, resumes with them: it never asks what it or the other run has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polymeter.store.journal import Journal
from tests.helpers.reused import counts

ROOT = Path(__file__).parents[3]
N_ROWS, N_KNOWN = 30, 20
INSTANTS = [
    ("before_answers", 1),
    ("after_answers", 2),
    ("after_answers", 5),
    ("before_end", 3),
    ("after_end", 3),
    ("mid_transaction", 6),
    ("mid_transaction", 25),
    ("before_samples", 1),
    ("mid_results", 1),
]


def child(folder: Path, other: Path | None, log: Path, n_rows: int, instant: str = "none", occurrence: int = 1) -> int:
    words = [folder, other or "none", log, n_rows, instant, occurrence]
    command = [sys.executable, "-m", "tests.run.reuse.reusing_child", *map(str, words)]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run of some of the rows, and the results of an uninterrupted run of all."""
    folder = tmp_path_factory.mktemp("runs")
    assert child(folder / "known", None, folder / "log", N_KNOWN) == 0
    assert child(folder / "whole", None, folder / "log", N_ROWS) == 0
    return folder / "known", results(folder / "whole")


def results(run: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((run / "results.json").read_text())
    return document["tasks"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("instant", "occurrence"), INSTANTS)
def test_killed_and_resumed(tmp_path: Path, runs: tuple[Path, dict[str, Any]], instant: str, occurrence: int) -> None:
    known, whole = runs
    run, log = tmp_path / "run", tmp_path / "log"
    assert child(run, known, log, N_ROWS, instant, occurrence) == -signal.SIGKILL
    before = asked(log)
    answered = n_answers(run)
    log.unlink(missing_ok=True)
    assert child(run, known, log, N_ROWS) == 0
    after = asked(log)
    questions = {text for n in range(N_KNOWN) for text in (f"q{n}", f"a{n}+")}
    assert not questions & (before | after).keys(), "the other run has their answers"
    assert all(n == 1 for n in (*before.values(), *after.values()))
    assert sum(after.values()) <= 2 * N_ROWS - answered
    assert results(run) == whole
    with closing(Journal(run / "journal.db")) as journal:
        bodies = [body for *_, body in journal.all_answers()]
    assert len(bodies) == 2 * N_ROWS
    assert sum(b'"reused"' in body for body in bodies) == 2 * N_KNOWN
    (usage,) = json.loads((run / "run.json").read_text())["usage_by_role"]["model"].values()
    assert (usage["requests"], usage["reused"]) == (2 * (N_ROWS - N_KNOWN), 2 * N_KNOWN)
    assert counts(run)[0] == 2 * N_KNOWN


def asked(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def n_answers(run: Path) -> int:
    with closing(Journal(run / "journal.db")) as journal:
        return len([*journal.all_answers()])
