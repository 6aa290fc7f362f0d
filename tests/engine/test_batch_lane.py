"""The lane to a model on this machine, where a run is broken off."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.parts import Text
from polymeter.core.request import Generate, Message, Request, Response
from polymeter.engine.batch_lane import BatchLane
from polymeter.engine.lanes import Listener
from polymeter.engine.player import Asked


class Endless(BatchModel):
    """Computes until somebody breaks it off."""

    traits = ModelTraits("endless", asks={"generate": True})

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


def test_closing_breaks_off_what_is_computed_and_frees_the_model() -> None:
    told: list[Any] = []
    model = Endless()
    prefetcher: Any = SimpleNamespace(prepare=lambda requests, ready: ready([None] * len(requests)))
    is_loaded = threading.Event()

    def done(answered: list[Asked]) -> None:
        told.append(answered)
        is_loaded.set()

    listener = Listener(done, told.append, told.append)
    lane = BatchLane(model, 1, prefetcher, listener, max_retries=0, is_cut=True)
    request = Request((Message("user", (Text("Hi"),)),), Generate())
    play: Any = SimpleNamespace(task=SimpleNamespace(task=SimpleNamespace()))
    lane.add([Asked(play, "model", request, "", 0, 0)])
    lane.poke(is_quiet=True)
    assert is_loaded.wait(30)
    lane.poke(is_quiet=True)
    assert model.has_begun.wait(30)
    lane.close()
    assert model.ended_by == [KeyboardInterrupt]
    assert model.closed_on == ["polymeter-model"]
    assert told == [[]], "only that the model is loaded"
