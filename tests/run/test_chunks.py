"""Samples go through hooks in chunks: few hops of threads, few entries to the lock, and the same results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.role_client import RoleClient
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.guests import door
from polymeter.models.mock import MockBatch
from polymeter.run.schedule import rollouts
from polymeter.run.schedule.running_samples import RunningTask
from tests.helpers.tasks import DocSamples, ListTask, answer_of, ask, docs, run_tasks


class CountedSamples(DocSamples):
    """Counts the slices that are read."""

    n_slices = 0

    def __getitem__(self, index: Any) -> Any:
        self.n_slices += isinstance(index, slice)
        return super().__getitem__(index)


def drawing(sample: Sample) -> RolloutSteps:
    """A hook that draws before it asks and after it was answered."""
    first = random.random()
    yield ask(f"{sample.doc['question']} {first}", sample)
    return random.random()


def drawn(sample: Sample, played: Rollout, client: RoleClient) -> Score:
    return Score({("drawn", "none"): played.returned + random.random()})


def guest_task(n: int) -> ListTask:
    return ListTask(docs(n), play=drawing, score=drawn, is_guest=True)


def running_task(**settings: Any) -> RunningTask:
    return RunningTask(ListTask(docs(1), is_guest=True).as_task(), 1, range(1), "digest", **settings)


def test_a_thousand_rows_with_hooks_enter_the_lock_by_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[None] = []
    acquire = door._acquire

    def counted() -> None:
        entries.append(None)
        acquire()

    monkeypatch.setattr(door, "_acquire", counted)
    task = guest_task(1000)
    samples = task.samples = CountedSamples("list", docs(1000))
    run_tasks([task], MockBatch(answer_of), tmp_path / "run")
    assert len(entries) < 150, "three hooks of each row, in chunks of 16 and more"
    assert samples.n_slices < 70


@pytest.mark.parametrize("longest_s", [0.0, 1000.0])
def test_what_hooks_draw_does_not_depend_on_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest_s: float
) -> None:
    values = _drawn_values(tmp_path / "usual")
    monkeypatch.setattr(rollouts, "LONGEST_CHUNK_S", longest_s)
    assert _drawn_values(tmp_path / "other") == values
    assert _drawn_values(tmp_path / "beside", score_workers=3) == values


def test_a_chunk_that_takes_long_lets_its_first_requests_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollouts, "LONGEST_CHUNK_S", 0.0)
    sizes: list[int] = []
    advance = rollouts.RolloutWorker.advance

    def watched(self: Any, running: Sequence[Any], *more: Any) -> rollouts.ChunkProgress:
        progressed = advance(self, running, *more)
        sizes.append(len(running) - len(progressed.left))
        return progressed

    monkeypatch.setattr(rollouts.RolloutWorker, "advance", watched)
    run_tasks([guest_task(40)], MockBatch(answer_of), tmp_path / "run")
    assert set(sizes) == {1}


def test_waiting_for_the_interpreter_does_not_make_chunks_smaller() -> None:
    task = running_task(fast_chunk=256)
    for _ in range(10):
        task.learn(256, wall_s=0.08, cpu_s=0.02)
    assert task.chunk == 256


def test_hooks_that_compute_or_sleep_make_chunks_smaller() -> None:
    computing, sleeping = running_task(fast_chunk=256), running_task(fast_chunk=256)
    for _ in range(10):
        computing.learn(100, wall_s=1.0, cpu_s=1.0)
        sleeping.learn(100, wall_s=100.0, cpu_s=0.0)
    assert computing.chunk <= 3
    assert sleeping.chunk == 1


def _drawn_values(folder: Path, **options: Any) -> list[Any]:
    outcome = run_tasks([guest_task(100)], MockBatch(answer_of), folder, **options)
    text = next((folder / "samples").glob("*.jsonl")).read_text(encoding="utf-8")
    assert outcome.status == "complete"
    return [line.split(',"doc"')[0] for line in text.splitlines()]
