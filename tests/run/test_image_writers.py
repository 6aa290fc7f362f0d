"""Answers with images are written down on several threads, beside the model, and never more than can be held."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Text
from polymeter.core.request import GenerateImage, Message, Origin, Output, Request, Response
from polymeter.core.task import Score
from polymeter.models.mock import MockBatch
from polymeter.run.dispatch import image_writers
from polymeter.run.dispatch.image_writers import ImageWriters, sizes_of_images
from polymeter.run.schedule.recorder import Recorder
from polymeter.store.media import MediaStore
from tests.helpers.tasks import ListTask, docs, run_tasks

WAIT_S = 30


def answers(number: int) -> list[Any]:
    return [SimpleNamespace(response=None) for _ in range(number)]


def test_one_batch_is_written_on_all_threads() -> None:
    meeting = threading.Barrier(3)
    names: set[str] = set()

    def done(share: Any) -> None:
        meeting.wait(WAIT_S)
        names.add(threading.current_thread().name + str(threading.get_ident()))

    writers = ImageWriters(done, n_threads=3)
    writers.put(answers(3))
    writers.drain(WAIT_S)
    writers.close()
    assert len(names) == 3


def test_batches_of_one_are_written_side_by_side() -> None:
    meeting = threading.Barrier(2)
    writers = ImageWriters(lambda share: meeting.wait(WAIT_S), n_threads=2)
    for _ in range(6):
        writers.put(answers(1))
    writers.drain(WAIT_S)
    writers.close()
    assert not meeting.broken


def test_who_hands_over_waits_until_a_thread_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    may_write, has_to_wait = threading.Semaphore(0), threading.Event()
    handed_over: list[int] = []

    def done(share: list[Any]) -> None:
        assert may_write.acquire(timeout=WAIT_S)

    writers = ImageWriters(done, n_threads=2)
    wait_for = writers._changed.wait_for

    def noting(predicate: Any, timeout: float | None = None) -> bool:
        if not predicate():
            has_to_wait.set()
        return wait_for(predicate, timeout)

    monkeypatch.setattr(writers._changed, "wait_for", noting)

    def model() -> None:
        for number in range(3):
            writers.put(answers(4))
            handed_over.append(number)

    thread = threading.Thread(target=model)
    thread.start()
    assert has_to_wait.wait(WAIT_S)
    assert handed_over == [0], "the second batch waits for the first"
    may_write.release(6)
    thread.join(WAIT_S)
    assert handed_over == [0, 1, 2]
    writers.drain(WAIT_S)
    writers.close()


def test_a_share_that_fails_leaves_room_for_the_next() -> None:
    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:

        def done(share: Any) -> None:
            raise ValueError("no")

        writers = ImageWriters(done, n_threads=1)
        for _ in range(3):
            writers.put(answers(1))
        writers.drain(WAIT_S)
        writers.close()
    finally:
        threading.excepthook = hook


def test_a_machine_with_many_cores_leaves_most_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_writers, "available_cores", lambda: 64)
    meeting = threading.Barrier(4)
    names: set[int] = set()

    def done(share: Any) -> None:
        meeting.wait(WAIT_S)
        names.add(threading.get_ident())

    writers = ImageWriters(done)
    writers.put(answers(16))
    writers.drain(WAIT_S)
    writers.close()
    assert len(names) == 4


def test_sizes_are_those_of_all_images() -> None:
    one: Any = SimpleNamespace(
        response=Response((Output(images=(pil.new("L", (3, 4)), pil.new("L", (5, 6)))), Output(text="x")))
    )
    assert sizes_of_images([one, SimpleNamespace(response=None)]) == [(3, 4), (5, 6)]  # type: ignore[list-item]


def paint(sample: Any) -> Any:
    request = Request((Message("user", (Text(sample.id),)),), GenerateImage(), Origin(sample.task, sample.id))
    response = yield request
    return response.outputs[0].images[0].size


def painter(batch_size: int) -> MockBatch:
    return MockBatch(
        lambda request: Response((Output(images=(pil.new("RGB", (8, 8), (int(request.text), 0, 0)),)),)),
        identity={"backend": "painter"},
        batch_size=batch_size,
    )


def test_an_image_is_journaled_after_its_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read from the journal while images are written refers to files that exist."""
    run = tmp_path / "run"
    seen: list[int] = []
    record = Recorder.answers

    def checking(self: Recorder, answered: Any) -> None:
        record(self, answered)
        self._writer.flush()
        with sqlite3.connect(run / "journal.db") as journal:
            bodies = [body for (body,) in journal.execute("SELECT body FROM responses")]
        files = {path.name for path in (run / "media").rglob("*.png")}
        named = [name for name in files if any(name in body for body in bodies)]
        seen.append(len(bodies))
        assert len(named) == len(bodies), "an answer names a file that is not there"

    monkeypatch.setattr(Recorder, "answers", checking)
    task = ListTask(docs(12), play=paint, score=lambda *_: Score({("m", "none"): 1.0}))
    outcome = run_tasks([task], painter(4), run)
    assert outcome.results["tasks"]["list"]["n_scored"] == 12
    assert max(seen) == 12


def test_equal_pixels_are_one_file_whoever_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    keep = MediaStore.keep_generated

    def noting(self: MediaStore, image: Any) -> Any:
        threads.add(threading.get_ident())
        return keep(self, image)

    monkeypatch.setattr(MediaStore, "keep_generated", noting)
    model = MockBatch(
        lambda _: Response((Output(images=(pil.new("RGB", (64, 64), "red"),)),)),
        identity={"backend": "painter"},
        batch_size=8,
    )
    task = ListTask(docs(24), play=paint, score=lambda *_: Score({("m", "none"): 1.0}))
    run_tasks([task], model, tmp_path / "run")
    assert len([path for path in (tmp_path / "run" / "media").rglob("*") if path.is_file()]) == 1
    assert threading.get_ident() not in threads
