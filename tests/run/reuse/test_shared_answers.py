"""Runs that share answers: how many, and what a comparison may claim of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.request import Request
from polymeter.core.task import RolloutSteps, Sample
from polymeter.models.mock import MockBatch
from tests.helpers.tasks import ListTask, ask, docs, run_tasks


def sampled(sample: Sample) -> RolloutSteps:
    yield ask(sample.doc["question"], sample, temperature=1.0, seed=sample.index)


class Drawing:
    """Answers rightly in some draws."""

    def __init__(self, right: int) -> None:
        self.right = right

    def __call__(self, request: Request) -> str:
        number = int(request.text[1:])
        return f"a{number}" if number % self.right == 0 else "no"


def run(folder: Path, right: int, n: int = 60, **options: Any) -> None:
    model = MockBatch(Drawing(right), identity={"m": 1}, reads_rows=False)
    run_tasks([ListTask(docs(n), play=sampled)], model, folder, **options)


def line_of(first: Path, second: Path, **options: Any) -> tuple[Any, tuple[str, ...]]:
    (other,) = polymeter.compare(first, second, **options).others
    (line,) = [one for one in other.scores if one.is_main]
    return line, other.warnings


def test_independent_runs_say_nothing_of_copies(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    run(tmp_path / "b", 3)
    line, warnings = line_of(tmp_path / "a", tmp_path / "b")
    assert (line.n_copies, line.p_value is None) == (0, False)
    assert not [text for text in warnings if "share" in text]


def test_a_run_of_copies_is_tested_by_nothing(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    run(tmp_path / "b", 3, reuse=(tmp_path / "a",))
    line, warnings = line_of(tmp_path / "a", tmp_path / "b")
    assert (line.n, line.n_copies, line.difference) == (60, 60, 0.0)
    assert (line.p_value, line.interval, line.stderr, line.detectable) == (None, None, None, None)
    assert line.no_interval == "all answers are the same ones in both runs"
    assert "list: the runs share the answers of 60 of 60 samples" in " ".join(warnings)
    document = polymeter.compare(tmp_path / "a", tmp_path / "b").document()
    assert document["others"][0]["scores"][0]["verdict"] == "untested"


def test_copies_of_a_third_run_are_found(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    for name in ("b", "c"):
        run(tmp_path / name, 3, reuse=(tmp_path / "a",))
    assert line_of(tmp_path / "b", tmp_path / "c")[0].n_copies == 60


def test_only_samples_that_can_differ_are_tested(tmp_path: Path) -> None:
    """The test and the interval are those of the other samples alone; the means are those of all."""
    run(tmp_path / "a", 2, n=40)
    run(tmp_path / "b", 3, reuse=(tmp_path / "a",))
    run(tmp_path / "c", 2)
    line, warnings = line_of(tmp_path / "b", tmp_path / "c")
    assert line.n_copies == 0, "c asked anew"
    run(tmp_path / "d", 2, reuse=(tmp_path / "a",))
    mixed, warnings = line_of(tmp_path / "b", tmp_path / "d")
    assert (mixed.n, mixed.n_copies) == (60, 40)
    assert "share the answers of 40 of 60 samples" in " ".join(warnings)
    assert "40 samples cannot differ and are left out of the test" in " ".join(warnings)
    rest = tmp_path / "rest"
    rest.mkdir()
    for name, right in (("b", 3), ("d", 2)):
        model = MockBatch(Drawing(right), identity={"m": 1}, reads_rows=False)
        run_tasks([ListTask(docs(60)[40:], play=sampled)], model, rest / name)
    alone, _ = line_of(rest / "b", rest / "d")
    assert mixed.p_value == pytest.approx(alone.p_value)
    assert mixed.difference == pytest.approx(alone.difference * 20 / 60)
    assert mixed.interval == pytest.approx([end * 20 / 60 for end in alone.interval])
    assert mixed.stderr == pytest.approx(alone.stderr * 20 / 60)
    assert mixed.detectable == pytest.approx(alone.detectable)
    assert (mixed.wins, mixed.losses) == (alone.wins, alone.losses)


def test_unpaired_runs_that_share_answers_are_not_independent(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    run(tmp_path / "b", 3, reuse=(tmp_path / "a",))
    _, warnings = line_of(tmp_path / "a", tmp_path / "b", unpaired=True)
    assert "They are not independent, as --unpaired assumes" in " ".join(warnings)


def test_a_run_scored_again_otherwise_is_compared_as_before(tmp_path: Path) -> None:
    """The same answers and another way to score: the difference is one of scoring, and every pair counts."""
    run(tmp_path / "a", 2)
    model = MockBatch(Drawing(2), identity={"m": 1}, reads_rows=False)
    lenient = ListTask(docs(60), play=sampled, source="v1", score=None)
    lenient.score_digest = "score:lenient"
    lenient.as_task()
    run_tasks([lenient], model, tmp_path / "b", reuse=(tmp_path / "a",))
    line, warnings = line_of(tmp_path / "a", tmp_path / "b", allow=["task"])
    assert line.n_copies == 0
    assert "Only the scoring can differ there" in " ".join(warnings)


def test_power_is_not_estimated_from_copies(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    run(tmp_path / "b", 3, reuse=(tmp_path / "a",))
    with pytest.raises(PlanError, match="all answers are the same ones in both runs"):
        polymeter.power(tmp_path / "a", tmp_path / "b")


def test_a_leaderboard_of_runs_says_that_they_share(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    run(tmp_path / "b", 3, reuse=(tmp_path / "a",))
    board = polymeter.leaderboard(tmp_path / "a", tmp_path / "b", every=True)
    assert "may share answers" in " ".join(board.notes)
    assert "60 answers taken from other runs" in " ".join(board.notes)
