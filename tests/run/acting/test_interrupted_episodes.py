"""A run whose model acts loses everything from some transaction of its journal on, as after a kill, and is continued.

Whatever was lost, it ends with the same results. No question is asked twice whose answer was kept, no pure act is
enacted twice whose observation was kept, and an act outside is never enacted twice.
"""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PolymeterError
from polymeter.report.table import footnotes
from polymeter.store import journal_writer
from tests.run.acting.acting_task import asking_model, lines_of, write_task
from tests.run.acting.test_killed_episodes import EFFECTS, UNKNOWN, kept_in, results_of

WHOLE = [("exact_match", 1.0, 1), ("turns", 6.0, 1), ("calls", 5.0, 1)]


class Lossy:
    """A journal that keeps its first transactions alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_kept: float = float("inf")
        self.n = 0
        insert = journal_writer.JournalWriter._insert

        def lossy(writer: Any, db: Any, batch: Any) -> None:
            self.n += 1
            if self.n > self.n_kept:
                raise OSError("the process is gone")
            insert(writer, db, batch)

        monkeypatch.setattr(journal_writer.JournalWriter, "_insert", lossy)
        monkeypatch.setattr(journal_writer, "_MAX_AT_ONCE", 1)  # a busy machine hands over many rows at once

    def run(self, folder: Path, file: Path, n_kept: float) -> bool:
        """Run or continue; return whether the journal kept all."""
        self.n, self.n_kept = 0, n_kept
        try:
            polymeter.evaluate(asking_model(folder.parent / "asked"), [str(file)], output=folder)
        except PolymeterError:
            return False
        finally:
            self.n_kept = float("inf")
        return self.n <= n_kept


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> Lossy:
    return Lossy(monkeypatch)


def status_of(run: Path, effect: str) -> tuple[str, str]:
    (line,) = (run / "samples" / f"acting_{effect}.jsonl").read_text().splitlines()
    sample = json.loads(line)
    return sample["status"], (sample["error"] or {}).get("message", "")


def continued(folder: Path, effect: str, journal: Lossy, n_kept: float = float("inf")) -> bool:
    """Continue a run, and check what it asks and enacts by what its journal has; return whether it was ended."""
    asked, acted = len(lines_of(folder / "asked")), lines_of(folder / "task" / "acts.log")
    answers, observed = kept_in(folder / "run", effect)
    is_whole = journal.run(folder / "run", folder / "task" / f"{effect}.yaml", n_kept)
    asked_again, acted_again = (
        len(lines_of(folder / "asked")) - asked,
        lines_of(folder / "task" / "acts.log")[len(acted) :],
    )
    assert asked_again <= 6 - answers
    if effect == "outside":
        assert not set(acted) & set(acted_again)
    if effect == "pure":
        assert len(acted_again) <= 5 - observed
    if not is_whole:
        return False
    status, why = status_of(folder / "run", effect)
    if effect == "outside" and status == "error":
        assert UNKNOWN in why
        return True
    assert results_of(folder / "run") == WHOLE
    assert asked_again == 6 - answers
    if effect == "pure":
        assert len(acted_again) == 5 - observed
    return True


@pytest.mark.parametrize("effect", EFFECTS)
def test_lost_from_the_middle_on(tmp_path: Path, journal: Lossy, effect: str) -> None:
    file = write_task(tmp_path / "task", effect, 1)
    assert not journal.run(tmp_path / "run", file, 9)
    assert continued(tmp_path, effect, journal)


def test_an_environment_that_differs_begins_its_sample_anew(tmp_path: Path, journal: Lossy) -> None:
    file = write_task(tmp_path / "task", "local", 1)
    assert not journal.run(tmp_path / "run", file, 9)
    observed = kept_in(tmp_path / "run", "local")[1]
    assert 1 <= observed < 5
    (tmp_path / "task" / "shift").write_text("1")
    n_asked = len(lines_of(tmp_path / "asked"))
    assert journal.run(tmp_path / "run", file, float("inf"))
    assert results_of(tmp_path / "run") == WHOLE
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["tasks"]["acting_local"]["n_restarted"] == 1
    assert "1 sample began anew" in " ".join(footnotes(results))
    # The first answer is kept, because its question is the same; all later questions show other observations.
    assert len(lines_of(tmp_path / "asked")) - n_asked == 5
    assert kept_in(tmp_path / "run", "local")[1] == observed + 5  # what was set aside is kept
    before = (tmp_path / "run" / "results.json").read_bytes()
    polymeter.score(tmp_path / "run", output=tmp_path / "again")
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    assert again["tasks"]["acting_local"]["results"] == json.loads(before)["tasks"]["acting_local"]["results"]
    assert polymeter.verify(tmp_path / "run").is_sound


@pytest.mark.slow
@pytest.mark.parametrize("effect", EFFECTS)
def test_lost_from_any_transaction_on(tmp_path: Path, journal: Lossy, effect: str) -> None:
    for n_kept in itertools.count(1):
        folder = tmp_path / str(n_kept)
        file = write_task(folder / "task", effect, 1)
        if journal.run(folder / "run", file, n_kept):
            break
        assert continued(folder, effect, journal)
    assert n_kept > 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_lost_again_and_again(tmp_path: Path, journal: Lossy, seed: int) -> None:
    drawn = random.Random(seed)
    effect = drawn.choice(EFFECTS)
    file = write_task(tmp_path / "task", effect, 1)
    is_whole = journal.run(tmp_path / "run", file, drawn.randrange(1, 8))
    while not is_whole:
        is_whole = continued(tmp_path, effect, journal, drawn.randrange(1, 8))
