"""The lane to a model on this machine: where a run is broken off, and how many images are drawn at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.parts import Text
from polymeter.core.request import Generate, GenerateImage, Message, Output, Request, Response
from polymeter.engine.batch_dispatcher import BatchDispatcher
from polymeter.engine.dispatchers import Listener
from polymeter.engine.running_samples import PendingRequest
from polymeter.models.mock import MockBatch


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

    listener = Listener(done, told.append, told.append, told.append, told.append)
    lane = BatchDispatcher(model, 1, prefetcher, listener, max_retries=0, is_cut=True)
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
    lane = BatchDispatcher(
        model, told, at_once(), Listener(done, print, print, print, print), max_retries=0, is_cut=True
    )
    lane.add([asked(ask) for _ in range(150)])
    lane.poke(is_quiet=True)
    assert is_over.wait(30)
    lane.close()
    assert (max(sizes), sum(sizes)) == (largest, 150)
