"""Endpoints that act as told, a clock that only sleeping turns, and lanes to endpoints that are closed afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from polymeter.core.model import AsyncModel, ModelTraits
from polymeter.core.request import Request, Response
from polymeter.run.dispatch.endpoint.dispatcher import EndpointDispatcher
from polymeter.run.dispatch.prefetch import Prefetcher
from polymeter.run.schedule.running_samples import PendingRequest
from polymeter.store.media import MediaStore
from tests.helpers.heard import Heard
from tests.helpers.tasks import ask

WAIT_S = 10


class Endpoint(AsyncModel):
    """Answers as told: ``act(request, number of the try)`` gives a text, an error to raise, or something to await."""

    def __init__(self, act: Callable[[Request, int], Any]) -> None:
        self.traits = ModelTraits(family="test")
        self.act = act
        self.tried: list[str] = []
        self.n_tries: dict[str, int] = {}
        self.in_flight = self.most_in_flight = 0
        self.is_closed = False

    @property
    def identity(self) -> dict[str, Any]:
        return {"backend": "test"}

    async def respond(self, request: Request) -> Response:
        name = request.text
        self.tried.append(name)
        self.n_tries[name] = self.n_tries.get(name, 0) + 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            done = self.act(request, self.n_tries[name])
            if isinstance(done, Awaitable):
                done = await done
            if isinstance(done, BaseException):
                raise done
            return Response.of_text(done)
        finally:
            self.in_flight -= 1

    async def aclose(self) -> None:
        self.is_closed = True


class Probed(Endpoint):
    """An endpoint with a small request of its own, which ``probes`` answers; by default as requests are."""

    n_probes = 0
    probes: Callable[[], Any] | None = None

    @property
    def place(self) -> str:
        return "at home"

    async def probe(self) -> bool:
        self.n_probes += 1
        done = self.probes() if self.probes else self.act(ask("q of a probe"), 1)
        if isinstance(done, BaseException):
            raise done
        return True


class Preparing(Endpoint):
    """An endpoint whose requests are prepared."""

    def __init__(self, act: Callable[[Request, int], Any], make: Callable[[Request], Any]) -> None:
        super().__init__(act)
        self.make = make
        self.prepared: list[str] = []
        self.threads: set[str] = set()
        self.given: list[Any] = []

    def prepare(self, request: Request) -> Any:
        self.prepared.append(request.text)
        self.threads.add(threading.current_thread().name)
        return self.make(request)

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        self.given.append(prepared)
        return await self.respond(request)


class Time:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


class Lanes:
    """Makes lanes, and closes them."""

    def __init__(self, folder: Path) -> None:
        self.media = MediaStore(folder)
        self.prefetcher = Prefetcher(self.media, 2, self.media.folder / "fetched")
        self.made: list[EndpointDispatcher] = []
        self.done: list[PendingRequest] = []
        self.done_on: set[str] = set()
        self.changed = threading.Condition()

    def make(self, model: AsyncModel, concurrency: int | None, **options: Any) -> EndpointDispatcher:
        """``on_gone`` and its like are called with events of that kind; other options are the dispatcher's own."""
        heard = {name[3:]: options.pop(name) for name in list(options) if name.startswith("on_")}
        settings = {"max_retries": 5, "timeout_s": 60.0, **options}
        events = Heard(answered=self.take, **heard)
        lane = EndpointDispatcher(model, concurrency, self.prefetcher, events, **settings)
        self.made.append(lane)
        return lane

    def take(self, done: list[PendingRequest]) -> None:
        with self.changed:
            self.done_on.add(threading.current_thread().name)
            self.done.extend(done)
            self.changed.notify_all()

    def wait(self, n: int) -> dict[str, Response]:
        """Wait for so many answers; gives them by question."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.done) >= n, WAIT_S), f"{len(self.done)} of {n} answered"
        return {one.request.text: one.response for one in self.done if one.response is not None}


def asked(n: int, **more: Any) -> list[PendingRequest]:
    return [PendingRequest(None, "model", ask(f"q{number}", **more), "", 0, 0) for number in range(n)]  # type: ignore[arg-type]


def fine(request: Request, n_tries: int) -> str:
    return request.text.replace("q", "a")


def until(lane: EndpointDispatcher, is_so: Callable[[], bool]) -> None:
    """Wait until something is so, and then until the loop has done what follows from it."""
    for _ in range(1000):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.002), lane._loop).result(WAIT_S)
        if is_so():
            break
    for _ in range(5):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.002), lane._loop).result(WAIT_S)
