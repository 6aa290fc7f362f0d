"""A run whose model acted is scored again without the environment, and a sample holds what its window needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from tests.run.acting.acting_task import asking_model, lines_of, write_task
from tests.run.acting.test_killed_episodes import EFFECTS, results_of


@pytest.mark.parametrize("effect", EFFECTS)
def test_scored_without_the_code_of_its_environment(tmp_path: Path, effect: str) -> None:
    file = write_task(tmp_path / "task", effect, 2)
    polymeter.evaluate(asking_model(tmp_path / "asked"), [str(file)], output=tmp_path / "run")
    acted = lines_of(tmp_path / "task" / "acts.log")
    (tmp_path / "task" / "acts.py").unlink()
    polymeter.score(tmp_path / "run", output=tmp_path / "again")
    assert (
        results_of(tmp_path / "again")
        == results_of(tmp_path / "run")
        == [
            ("exact_match", 1.0, 2),
            ("turns", 6.0, 2),
            ("calls", 5.0, 2),
        ]
    )
    assert lines_of(tmp_path / "task" / "acts.log") == acted
    (session,) = json.loads((tmp_path / "run" / "run.json").read_text())["sessions"]
    assert session["acting"]["acts"] == 2 * 6  # each with its opening
    entry = json.loads((tmp_path / "again" / "run.json").read_text())["tasks"][0]["environment"]
    assert entry == json.loads((tmp_path / "run" / "run.json").read_text())["tasks"][0]["environment"]
    assert entry["effect"] == effect


def test_repeats_are_episodes_of_their_own(tmp_path: Path) -> None:
    file = write_task(tmp_path / "task", "local", 3)
    model = asking_model(tmp_path / "asked")
    polymeter.evaluate(model, [str(file)], output=tmp_path / "run", repeats=2, max_environments=2)
    assert len(lines_of(tmp_path / "task" / "acts.log")) == 3 * 2 * 5
    results = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["acting_local"]["results"]
    assert {one["value"] for one in results if one["metric"] == "exact_match"} == {1.0}
