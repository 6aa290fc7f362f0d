"""The way to a model on this machine: breaking a run off, how many images are drawn at once, what is decoded ahead."""

from __future__ import annotations

import io
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core import content as parts
from polymeter.core.content import Image, Text
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.request import Generate, GenerateImage, Message, Output, Request, Response
from polymeter.core.task import Score
from polymeter.models.mock import MockBatch
from polymeter.run.dispatch.batch.dispatcher import BatchDispatcher
from polymeter.run.schedule.running_samples import PendingRequest
from tests.helpers.heard import Heard
from tests.helpers.tasks import ListTask, ask, docs, run_tasks


class Endless(BatchModel):
    """Computes until somebody breaks it off."""

    traits = ModelTraits("endless", requests={"generate": True})

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.ended_by: list[type[BaseException]] = []
        self.closed_on: list[str] = []

    @property
    def identity(self) -> dict[str, Any]:
        return {}

    def respond(self, requests: list[Request]) -> list[Response]:
        self.has_begun.set()
        try:
            while True:
                len(requests)
        except BaseException as error:
            self.ended_by.append(type(error))
            raise

    def close(self) -> None:
        self.closed_on.append(threading.current_thread().name)


def at_once() -> Any:
    """A prefetcher that has nothing to do."""
    return SimpleNamespace(prepare=lambda requests, ready: ready([None] * len(requests)))


def asked(ask: Generate | GenerateImage) -> PendingRequest:
    play: Any = SimpleNamespace(task=SimpleNamespace(task=SimpleNamespace(batch_size=None)))
    return PendingRequest(play, "model", Request((Message("user", (Text("Hi"),)),), ask), "", 0, 0)


def test_closing_breaks_off_what_is_computed_and_frees_the_model() -> None:
    told: list[Any] = []
    model = Endless()
    prefetcher = at_once()
    is_loaded = threading.Event()

    def done(answered: list[PendingRequest]) -> None:
        told.append(answered)
        is_loaded.set()

    events = Heard(answered=done, failed=told.append, note=told.append, waiting=told.append, gone=told.append)
    lane = BatchDispatcher(model, 1, prefetcher, events, max_retries=0)
    lane.add([asked(Generate())])
    lane.poke(is_quiet=True)
    assert is_loaded.wait(30)
    lane.poke(is_quiet=True)
    assert model.has_begun.wait(30)
    lane.close()
    assert model.ended_by == [KeyboardInterrupt]
    assert model.closed_on == ["polymeter-model"]
    assert told == [[]], "only that the model is loaded"


@pytest.mark.parametrize(
    ("ask", "told", "largest"),
    [
        (Generate(), None, 150),
        (GenerateImage(), None, 16),
        (GenerateImage(size=(256, 256)), None, 64),
        (GenerateImage(size=(2048, 2048)), None, 4),
        (GenerateImage(), 100, 100),
    ],
)
def test_a_model_that_wants_everything_that_is_ready_draws_a_bounded_number(
    ask: Generate | GenerateImage, told: int | None, largest: int
) -> None:
    sizes: list[int] = []
    left = [150]
    is_over = threading.Event()
    picture = pil.new("RGB", (2, 2))

    class Eager(MockBatch):
        def respond(self, requests: Any) -> list[Response]:
            sizes.append(len(requests))
            return super().respond(requests)

    def done(answered: list[PendingRequest]) -> None:
        left[0] -= len(answered)
        lane.poke(is_quiet=True)
        if not left[0]:
            is_over.set()

    model = Eager(lambda request: Response((Output("x", images=(picture,)),)))
    lane = BatchDispatcher(model, told, at_once(), Heard(answered=done), max_retries=0)
    lane.add([asked(ask) for _ in range(150)])
    lane.poke(is_quiet=True)
    assert is_over.wait(30)
    lane.close()
    assert (max(sizes), sum(sizes)) == (largest, 150)


class Refilling(MockBatch):
    """Takes four batches in a call, and can compute so many requests at a time."""

    def __init__(self, *, fitting: int = 99) -> None:
        super().__init__(lambda request: Response((Output("x", images=(pil.new("RGB", (2, 2)),)),)))
        self._fitting = fitting
        self.calls: list[tuple[int, int | None]] = []

    def batches_at_once(self, request: Request) -> int:
        return 4 if isinstance(request.parameters, Generate) else 1

    def respond(self, requests: Any) -> list[Response]:
        self.calls.append((len(requests), self.at_once))
        if min(len(requests), self.at_once or 0) > self._fitting:
            raise MemoryError
        return super().respond(requests)


def answered_all(model: BatchModel, told: Any, ask: Any, n_requests: int) -> tuple[BatchDispatcher, list[str]]:
    """A lane that has answered so many requests, and what it noted."""
    notes: list[str] = []
    left = [n_requests]
    is_over = threading.Event()

    def done(answered: list[PendingRequest]) -> None:
        assert all(one.response is not None and one.response.error is None for one in answered)
        left[0] -= len(answered)
        lane.poke(is_quiet=True)
        if not left[0]:
            is_over.set()

    events = Heard(answered=done, note=notes.append)
    lane = BatchDispatcher(model, told, at_once(), events, max_retries=0)
    lane.add([asked(ask) for _ in range(n_requests)])
    lane.poke(is_quiet=True)
    assert is_over.wait(30)
    lane.close()
    return lane, notes


@pytest.mark.parametrize(
    ("told", "ask", "calls"),
    [
        (8, Generate(), [(32, 8), (32, 8), (6, 8)]),
        (1, Generate(), [(1, 1)] * 70),
        (8, GenerateImage(), [*[(8, None)] * 8, (6, None)]),
    ],
)
def test_a_model_that_refills_its_batch_gets_several_in_one_call(
    told: int, ask: Generate | GenerateImage, calls: list[tuple[int, int | None]]
) -> None:
    model = Refilling()
    lane, _ = answered_all(model, told, ask, 70)
    assert model.calls == calls
    assert lane.history()["batch_size"]["largest"] == told


def test_a_size_that_is_still_sought_is_tried_batch_by_batch() -> None:
    model = Refilling()
    answered_all(model, "auto", Generate(), 40)
    assert model.calls[0] == (2, 2)  # and not four batches, of which a larger one would be seen to pay only much later


def test_running_out_of_memory_halves_what_is_computed_at_a_time() -> None:
    model = Refilling(fitting=4)
    lane, notes = answered_all(model, 8, Generate(), 40)
    assert model.calls[:2] == [(32, 8), (16, 4)]
    assert notes == ["A batch of 8 did not fit into memory: continuing with 4."]
    assert lane.history()["batch_size"] == {"largest": 4, "ran_out_of_memory": True}


class ByHand:
    """A prefetcher whose decoding the test does."""

    def __init__(self) -> None:
        self.prepared: list[tuple[list[Any], Any]] = []

    def prepare(self, requests: Any, ready: Any) -> None:
        self.prepared.append((list(requests), ready))

    def decode(self, number: int) -> None:
        requests, ready = self.prepared[number]
        ready([None] * len(requests))


def shown(*parts: Any) -> PendingRequest:
    one = asked(Generate())
    one.request = Request((Message("user", parts),), Generate())
    return one


def loaded(model: BatchModel, batch_size: int | None, prefetcher: Any) -> BatchDispatcher:
    is_loaded = threading.Event()
    events = Heard(answered=lambda _: is_loaded.set())
    lane = BatchDispatcher(model, batch_size, prefetcher, events, max_retries=0)
    lane.add([shown(Text("first"))])
    lane.poke(is_quiet=False)
    assert is_loaded.wait(30)
    return lane


def test_small_batches_are_decoded_side_by_side_and_texts_wait_for_better_neighbours() -> None:
    pictures, texts = ByHand(), ByHand()
    model = MockBatch(lambda request: "x")
    with closing(loaded(model, 1, pictures)) as lane:
        lane.add([shown(Image(pil.new("RGB", (2, 2)))) for _ in range(8)])
        lane.poke(is_quiet=True)
        assert [len(requests) for requests, _ in pictures.prepared] == [1, 1, 1]
    with closing(loaded(model, 1, texts)) as lane:
        lane.add([shown(Text("more")) for _ in range(8)])
        lane.poke(is_quiet=True)
        assert len(texts.prepared) == 1


def test_the_next_batch_is_decoded_as_soon_as_one_is_computed() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def answer(request: Request) -> str:
        begun.set()
        assert may_end.wait(30)
        return "x"

    prefetcher = ByHand()
    with closing(loaded(MockBatch(answer), 4, prefetcher)) as lane:
        lane.add([shown(Image(pil.new("RGB", (2, 2)))) for _ in range(12)])
        lane.poke(is_quiet=False)
        assert len(prefetcher.prepared) == 1, "four are enough for two threads"
        prefetcher.decode(0)
        assert begun.wait(30)
        assert len(prefetcher.prepared) == 2, "nobody had to ask for it"
        may_end.set()


@pytest.mark.parametrize(("n_seen", "image_bytes", "n_images", "most"), [
    (0, 4 * 2**20, 1, 1),
    (5, 4 * 2**20, 1, 8),
    (5, 1.2 * 2**20, 1, 32),
    (5, 1.2 * 2**20, 4, 8),
    (5, 500 * 2**20, 1, 1),
])  # fmt: skip
def test_a_model_that_wants_everything_is_shown_half_of_what_is_held(
    n_seen: int, image_bytes: float, n_images: int, most: int
) -> None:
    prefetcher = ByHand()
    with closing(loaded(MockBatch(lambda request: "x"), None, prefetcher)) as lane:
        requests = [shown(*[Image(pil.new("RGB", (2, 2)))] * n_images) for _ in range(most)]
        for one in requests:
            one.running.task = SimpleNamespace(
                task=one.running.task.task, n_images=n_seen, image_bytes=image_bytes, name="t"
            )
        lane.add(requests[:-1])
        lane.poke(is_quiet=False)
        n_prepared = len(prefetcher.prepared)
        lane.add(requests[-1:])
        lane.poke(is_quiet=False)
        assert n_prepared == 0
        assert [len(chosen) for chosen, _ in prefetcher.prepared] == [most]


def test_both_threads_decode_for_a_model_of_batches_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = threading.Barrier(2)
    decode = parts._decode

    def together(*given: Any) -> Any:
        meeting.wait(30)
        return decode(*given)

    monkeypatch.setattr(parts, "_decode", together)

    def play(sample: Any) -> Any:
        yield ask("?", sample, image=_jpeg(sample.index))

    model = MockBatch(lambda request: "x", batch_size=1)
    task = ListTask(docs(6), play=play, score=lambda *_: Score({("m", "none"): 1.0}))
    outcome = run_tasks([task], model, tmp_path / "run")
    assert outcome.results["tasks"]["list"]["n_scored"] == 6
    assert model.batches == [1] * 6


def _jpeg(number: int) -> bytes:
    buffer = io.BytesIO()
    pil.new("RGB", (16, 16), (number, 0, 0)).save(buffer, "JPEG")
    return buffer.getvalue()
