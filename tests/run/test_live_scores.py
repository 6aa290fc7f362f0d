"""The means of a run that is going on."""

from __future__ import annotations

import math
from typing import Any

import pytest

import polymeter
from polymeter.core.records.progress import Silence
from polymeter.core.task import Score
from polymeter.run.schedule.live_scores import LiveScores


class Task:
    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"task{number}"


def scored(**values: Any) -> Score:
    return Score({(metric, "none"): value for metric, value in values.items()})


def test_a_task_shows_the_mean_of_its_first_number() -> None:
    scores, one, other, texts = LiveScores(), Task(1), Task(2), Task(3)
    assert scores.read() == []
    for value in (1.0, 0.0, math.nan, True, "no number"):
        scores.add(one, scored(pair=(1, 2), acc=value if one else 0, f1=0.5) if value == 1.0 else scored(acc=value))
    scores.add(other, scored(cer=0.25))
    scores.add(texts, scored(submission={"id": 1}))
    scores.add(texts, scored(submission={"id": 2}))
    read = [(score.task, score.metric, score.mean, score.n) for score in scores.read()]
    assert read == [("task1", "acc", pytest.approx(2 / 3), 3), ("task2", "cer", 0.25, 1)]


def test_a_run_tells_its_progress_the_scores(tmp_path) -> None:
    class Watching(Silence):
        def watch(self, scores) -> None:
            self.read = scores

    progress = Watching()
    result = polymeter.evaluate("mock", "demo_signs", limit=4, output=tmp_path / "run", progress=progress)
    (score,) = progress.read()
    assert (score.task, score.metric, score.n) == ("demo_signs", "anls", 4)
    assert score.mean == pytest.approx(result.value("demo_signs", "anls"))
