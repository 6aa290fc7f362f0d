"""A run whose model acts is killed before any transaction of its journal. It resumes, with the same results: no
question is asked twice, no pure act is enacted twice, and an act outside that may have happened is never repeated.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from polymeter.store.journal import Journal
from tests.run.acting.acting_task import lines_of, write_task

ROOT = Path(__file__).parents[3]
EFFECTS = ("pure", "local", "outside")
UNKNOWN = "nobody knows whether it happened"


def run_child(folder: Path, file: Path, occurrence: int = 0) -> int:
    command = [
        sys.executable,
        "-m",
        "tests.run.acting.kill_child",
        str(folder),
        str(file),
        str(folder.parent / "asked"),
    ]
    done = subprocess.run(
        [*command, str(occurrence)],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def results_of(folder: Path) -> list[object]:
    results = json.loads((folder / "results.json").read_text())
    (task,) = results["tasks"].values()
    return [(one["metric"], one["value"], one["n"]) for one in task["results"]]


def journaled_acts(folder: Path, effect: str) -> int:
    """The number of acts whose observations the journal has, without openings."""
    with closing(Journal(folder / "journal.db")) as journal:
        bodies = [json.loads(body) for _, body in journal.observations(f"acting_{effect}")]
    return sum(not body["outputs"][0]["observation"].get("tools") for body in bodies if body["outputs"])


def kept_in(run: Path, effect: str) -> tuple[int, int]:
    """How many answers of the model, and observations of calls, a journal has."""
    if not (run / "journal.db").exists():
        return 0, 0
    with closing(Journal(run / "journal.db")) as journal:
        answers = len(list(journal.all_answers()))
    return answers, journaled_acts(run, effect)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    found = {}
    for effect in EFFECTS:
        folder = tmp_path_factory.mktemp(effect)
        assert run_child(folder / "run", write_task(folder / "task", effect, 1)) == 0
        assert len(lines_of(folder / "asked")) == 6
        assert len(lines_of(folder / "task" / "acts.log")) == 5
        found[effect] = results_of(folder / "run")
        assert found[effect] == [("exact_match", 1.0, 1), ("turns", 6.0, 1), ("calls", 5.0, 1)]
    return found


def killed(tmp_path: Path, whole: dict[str, list[object]], effect: str, occurrence: int) -> bool:
    """Kill a run and resume it; return whether it was killed."""
    run, file = tmp_path / "run", write_task(tmp_path / "task", effect, 1)
    if run_child(run, file, occurrence) == 0:
        return False
    asked, acted = len(lines_of(tmp_path / "asked")), len(lines_of(tmp_path / "task" / "acts.log"))
    answers, observed = kept_in(run, effect)
    assert run_child(run, file) == 0
    asked_again = len(lines_of(tmp_path / "asked")) - asked
    enacted = Counter(lines_of(tmp_path / "task" / "acts.log"))
    samples = [json.loads(line) for line in (run / "samples" / f"acting_{effect}.jsonl").read_text().splitlines()]
    if effect == "outside" and samples[0]["status"] == "error":
        assert UNKNOWN in samples[0]["error"]["message"]
        assert set(enacted.values()) <= {1}
        return True
    assert results_of(run) == whole[effect]
    assert asked_again == 6 - answers
    if effect == "pure":
        assert sum(enacted.values()) - acted == 5 - observed
    if effect == "outside":
        assert set(enacted.values()) == {1}
    return True


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("occurrence", [4, 9])
def test_a_killed_episode_is_resumed(
    tmp_path: Path, whole: dict[str, list[object]], effect: str, occurrence: int
) -> None:
    assert killed(tmp_path, whole, effect, occurrence)


@pytest.mark.slow
@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_at_transactions_of_all_kinds(tmp_path: Path, whole: dict[str, list[object]], effect: str) -> None:
    # Each kill starts two processes: every effect is killed at every fifth transaction, and each at others.
    for occurrence in range(1 + EFFECTS.index(effect), 100, 5):
        if not killed(tmp_path / str(occurrence), whole, effect, occurrence):
            break
    assert occurrence > 12
