"""``polymeter ulmeval`` as a user runs it, killed on the way and run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.data.formats import load
from tests.e2e.kit import polymeter
from tests.helpers.painting import PROMPTS, WORDS, drawn, studio

pytestmark = pytest.mark.needs_system("ulmeval")

PAIR = ("--data", "shades", "--model", "Painter", *WORDS)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return studio(tmp_path, monkeypatch)


@pytest.mark.parametrize("mode", ["all", "infer"])
def test_a_command_that_is_killed_goes_on_where_it_stopped(mode: str, here: Path) -> None:
    killed = polymeter("ulmeval", *PAIR, "--mode", mode, cwd=here, env={"DIES_AT": "2"})
    assert killed.returncode == 9
    assert len(drawn(here)) == 2
    again = polymeter("ulmeval", *PAIR, "--mode", mode, cwd=here)
    assert again.returncode == 0, again.stderr
    assert sorted(drawn(here)) == sorted(PROMPTS)
    assert len(load(here / "outputs/Painter/Painter_shades.pkl")) == 4


def test_answers_of_a_killed_command_are_scored_as_they_are(here: Path) -> None:
    polymeter("ulmeval", *PAIR, "--mode", "infer", cwd=here, env={"DIES_AT": "3"})
    scored = polymeter("ulmeval", *PAIR, "--mode", "eval", cwd=here)
    assert scored.returncode == 1
    assert "That run did not end" in scored.stderr
    assert "of 4 samples" in scored.stdout
    whole = polymeter("ulmeval", *PAIR, cwd=here)
    assert whole.returncode == 0
    assert "scored   4 samples" in whole.stdout
    assert sorted(drawn(here)) == sorted(PROMPTS)


def test_the_embedded_model_draws_the_embedded_benchmark(here: Path) -> None:
    words = ("--data", "demo_t2i", "--model", "shapes", "--limit", "4", "--num-generations", "2")
    done = polymeter("ulmeval", *words, cwd=here)
    assert done.returncode == 0, done.stderr
    table = load(here / "outputs/shapes/shapes_demo_t2i.pkl")
    assert [len(images) for images in table["prediction"]] == [2] * 4
