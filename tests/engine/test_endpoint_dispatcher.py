"""The lane to an endpoint: nothing is lost, nothing piles up, and nobody sends when they should not."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

from polymeter.core.errors import DataError, ModelError
from polymeter.core.model import AsyncModel, ModelTraits
from polymeter.core.parts import Image
from polymeter.core.request import Error, Request, Response
from polymeter.engine.breaker import MOST_PROBES
from polymeter.engine.concurrency import START
from polymeter.engine.endpoint_dispatcher import EndpointDispatcher
from polymeter.engine.endpoint_watch import PATIENCE_S
from polymeter.engine.prefetch import Prefetcher
from polymeter.engine.running_samples import PendingRequest
from polymeter.store.media import MediaStore
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
        settings = {"max_retries": 5, "timeout_s": 60.0, **options}
        lane = EndpointDispatcher(model, concurrency, self.prefetcher, self.take, **settings)
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


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[Lanes]:
    made = Lanes(tmp_path)
    yield made
    for lane in made.made:
        lane.close()
    made.prefetcher.close()


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


# --- answers ----------------------------------------------------------------------------------------------------------


def test_every_request_is_answered_once_and_off_the_event_loop(lanes: Lanes) -> None:
    model = Endpoint(fine)
    lane = lanes.make(model, 8)
    for start in range(0, 300, 7):
        lane.add(asked(300)[start : start + 7])
    answers = lanes.wait(300)
    assert {name: response.text for name, response in answers.items()} == {f"q{n}": f"a{n}" for n in range(300)}
    assert len(model.tried) == 300
    assert model.most_in_flight <= 8
    assert lanes.done_on == {"polymeter-answers"}


def test_a_model_prepares_each_request_once_on_a_decoding_thread(lanes: Lanes) -> None:
    def act(request: Request, n_tries: int) -> Any:
        return ModelError("busy", kind="transient") if n_tries < 3 else "fine"

    model = Preparing(act, lambda request: ("body of", request.text))
    time = Time()
    lanes.make(model, 4, sleep=time.sleep, clock=time.clock).add(asked(30))
    assert all(response.text == "fine" for response in lanes.wait(30).values())
    assert sorted(model.prepared) == sorted(f"q{n}" for n in range(30))
    assert model.threads <= {"polymeter-decode"}
    assert sorted(model.given) == sorted([("body of", f"q{n}") for n in range(30)] * 3)


@pytest.mark.parametrize("has_images", [False, True])
def test_little_is_prepared_ahead_however_much_waits(lanes: Lanes, has_images: bool) -> None:
    gate = asyncio.Event()
    model = Preparing(lambda request, n_tries: gate.wait(), lambda request: request.text)
    lane = lanes.make(model, 6)
    lane.add(asked(500, image=picture()) if has_images else asked(500))
    until(lane, lambda: model.in_flight == 6 and len(model.prepared) >= 6 + 6 + 4)
    assert model.in_flight == 6
    assert len(model.prepared) == 6 + 6 + 4
    assert len(asyncio.all_tasks(lane._loop)) == 6, "no task waits in a queue"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ModelError("too long"), "permanent", "too long"),
        (DataError("no such video"), "data", "no such video"),
        (KeyError("role"), "permanent", "Preparing the request raised KeyError"),
    ],
)
def test_what_cannot_be_prepared_is_never_sent(lanes: Lanes, error: Exception, kind: str, said: str) -> None:
    def make(request: Request) -> str:
        if request.text == "q1":
            raise error
        return request.text

    model = Preparing(fine, make)
    lanes.make(model, 2).add(asked(4))
    answers = lanes.wait(4)
    failed = answers.pop("q1").error
    assert failed is not None
    assert failed.kind == kind
    assert said in failed.message
    assert "q1" not in model.tried
    assert all(response.error is None for response in answers.values())


# --- retries ----------------------------------------------------------------------------------------------------------


def test_what_will_not_pass_is_not_tried_again(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: ModelError("no such model"))
    lanes.make(model, 2).add(asked(3))
    assert {response.error.kind for response in lanes.wait(3).values() if response.error} == {"permanent"}
    assert len(model.tried) == 3


def test_tries_are_counted_and_waits_grow(lanes: Lanes) -> None:
    time = Time()
    model = Endpoint(lambda request, n_tries: ModelError("busy", kind="transient"))
    lanes.make(model, 1, max_retries=3, sleep=time.sleep, clock=time.clock).add(asked(1))
    error = lanes.wait(1)["q0"].error
    assert error is not None
    assert error.message == "busy"
    assert len(model.tried) == 4
    assert len(time.slept) == 3
    assert 0.1 <= time.slept[0] <= 0.2
    assert 0.9 <= time.slept[2] <= 1.8


def test_one_that_sleeps_holds_no_slot_and_comes_back_before_new_work(lanes: Lanes) -> None:
    is_awake = asyncio.Event()
    holds_q5 = asyncio.Event()

    async def sleep(seconds: float) -> None:
        await is_awake.wait()

    async def hold(request: Request) -> str:
        is_awake.set()
        await holds_q5.wait()
        return "fine"

    def act(request: Request, n_tries: int) -> Any:
        if request.text == "q0" and n_tries == 1:
            return ModelError("busy", kind="transient")
        return hold(request) if request.text == "q5" else "fine"

    model = Endpoint(act)
    lane = lanes.make(model, 1, sleep=sleep)
    lane.add(asked(12))
    lanes.wait(4)
    until(lane, lambda: len(model.tried) == 6)
    assert model.tried == ["q0", "q1", "q2", "q3", "q4", "q5"], "the others went on meanwhile"
    lane._loop.call_soon_threadsafe(holds_q5.set)
    lanes.wait(12)
    assert model.tried[6] == "q0", "and it came before those that had not been sent"


def test_no_new_work_while_many_sleep(lanes: Lanes) -> None:
    async def sleep(seconds: float) -> None:
        await asyncio.Event().wait()

    model = Endpoint(lambda request, n_tries: ModelError("slow down", kind="rate_limit"))
    lane = lanes.make(model, 4, sleep=sleep)
    lane.add(asked(500))
    until(lane, lambda: len(model.tried) >= 16)
    assert 16 <= len(model.tried) < 16 + 4


def test_an_endpoint_that_went_away_is_not_stormed(lanes: Lanes) -> None:
    time = Time()
    model = Endpoint(lambda request, n_tries: ModelError("connection refused", kind="transient"))
    gone: list[str] = []
    lane = lanes.make(model, 32, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(100))
    until(lane, lambda: bool(gone))
    assert lanes.done == [], "who was not answered has not failed"
    assert len(model.tried) <= 2 * 32 + MOST_PROBES
    assert gone[0].startswith("the model cannot be asked any more: ")
    assert "tries in a row brought nothing in" in gone[0]
    assert gone[0].endswith("connection refused")
    assert len(gone) == 1


def test_an_endpoint_that_comes_back_loses_nothing(lanes: Lanes) -> None:
    time, said = Time(), list[str]()

    def act(request: Request, n_tries: int) -> Any:
        return ModelError("HTTP 503", kind="transient") if 3.0 < time.now < 60.0 else "fine"

    model = Probed(act)

    async def tick() -> str:
        await time.sleep(0.1)
        return "fine"

    model.act = lambda request, n_tries: act(request, n_tries) if time.now > 3.0 else tick()
    lane = lanes.make(model, 4, sleep=time.sleep, clock=time.clock, on_wait=said.append, name="the judge")
    lane.add(asked(300))
    assert {response.text for response in lanes.wait(300).values()} == {"fine"}
    assert 60.0 < time.now < 200.0
    assert any(text.startswith("the judge (at home) gave no answer to ") for text in said)
    assert said[-1] == ""


def test_requests_that_fail_for_their_own_reasons_do_not_end_the_run(lanes: Lanes) -> None:
    """A small request is answered all the time, so each of them uses up its tries."""
    time = Time()
    model = Probed(lambda request, n_tries: ModelError("HTTP 500", kind="transient"))
    model.probes = lambda: None
    lane = lanes.make(model, 4, max_retries=2, sleep=time.sleep, clock=time.clock)
    lane.add(asked(12))
    assert {response.error.kind for response in lanes.wait(12).values() if response.error} == {"transient"}
    assert set(model.n_tries.values()) <= {3, 4}, "one more where it was held while the endpoint was probed"


def test_the_last_requests_of_a_run_may_all_fail(lanes: Lanes) -> None:
    time = Time()
    model = Endpoint(lambda request, n_tries: ModelError("HTTP 500", kind="transient"))
    lanes.make(model, 1, sleep=time.sleep, clock=time.clock).add(asked(1))
    assert lanes.wait(1)["q0"].error is not None
    assert len(model.tried) == 6


@pytest.mark.parametrize("kind", ["permanent", "transient"])
def test_an_error_that_concerns_everyone_ends_the_run_at_once(lanes: Lanes, kind: Any) -> None:
    model = Endpoint(lambda request, n_tries: ModelError("HTTP 401: bad key", kind=kind, scope="endpoint"))
    gone: list[str] = []
    lane = lanes.make(model, 4, on_gone=gone.append)
    lane.add(asked(100))
    until(lane, lambda: bool(gone))
    assert gone == ["the model cannot be asked any more: it refuses every request: HTTP 401: bad key"]
    assert len(model.tried) == 4
    assert lanes.done == []


def test_where_it_is_unclear_a_small_request_tells_whom_an_error_concerns(lanes: Lanes) -> None:
    def act(request: Request, n_tries: int) -> Any:
        return ModelError("HTTP 403: no", scope="unclear") if request.text == "q1" else "fine"

    model = Probed(act)
    lane = lanes.make(model, 1)
    lane.add(asked(4))
    answers = lanes.wait(4)
    assert [name for name, response in answers.items() if response.error] == ["q1"]
    assert model.n_probes == 1

    shut = Probed(lambda request, n_tries: ModelError("HTTP 403: no", scope="unclear"))
    shut.probes = lambda: ModelError("HTTP 403: no", scope="unclear")
    gone: list[str] = []
    lane = lanes.make(shut, 1, on_gone=gone.append)
    lane.add(asked(4))
    until(lane, lambda: bool(gone))
    assert len(shut.tried) == 1


def test_rate_limits_use_up_no_tries_while_others_are_answered(lanes: Lanes) -> None:
    time = Time()

    def act(request: Request, n_tries: int) -> Any:
        return ModelError("slow down", kind="rate_limit") if n_tries <= 12 and request.text == "q0" else "fine"

    model = Endpoint(act)
    lane = lanes.make(model, 2, max_retries=2, sleep=time.sleep, clock=time.clock)
    lane.add([])  # its loop runs from the first requests on

    async def one_at_a_time() -> None:
        for one in asked(200):
            lane._take([one])
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(one_at_a_time(), lane._loop).result(WAIT_S)
    lanes.wait(199)
    answers = lanes.wait(200)
    assert answers["q0"].error is None
    assert model.n_tries["q0"] == 13


def test_an_endpoint_that_only_limits_is_given_up_in_the_end(lanes: Lanes) -> None:
    time = Time()
    model = Endpoint(lambda request, n_tries: ModelError("slow down", kind="rate_limit"))
    gone: list[str] = []
    lane = lanes.make(model, 2, max_retries=2, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(3))
    until(lane, lambda: bool(gone))
    assert "it has answered with nothing but rate limits for" in gone[0]
    assert time.now > PATIENCE_S
    assert lanes.done == []


def test_without_retries_rate_limits_are_not_retried_either(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: ModelError("slow down", kind="rate_limit"))
    lanes.make(model, 2, max_retries=0).add(asked(3))
    lanes.wait(3)
    assert len(model.tried) == 3


def test_retry_after_holds_everyone(lanes: Lanes) -> None:
    time = Time()
    sent_at: list[float] = []

    def act(request: Request, n_tries: int) -> Any:
        sent_at.append(time.now)
        if request.text == "q3" and n_tries == 1:
            return ModelError("slow down", kind="rate_limit", retry_after_s=30.0)
        return "fine"

    lane = lanes.make(Endpoint(act), 1, sleep=time.sleep, clock=time.clock)
    lane.add(asked(10))
    lanes.wait(10)
    assert sent_at[:4] == [0.0] * 4
    assert min(sent_at[4:]) >= 30.0
    assert lane.history()["concurrency"]["paused_s"] == 30.0


def test_retry_after_is_honoured_no_longer_than_the_limit_and_told_once(lanes: Lanes) -> None:
    time, said = Time(), list[str]()

    def act(request: Request, n_tries: int) -> Any:
        return ModelError("later", kind="rate_limit", retry_after_s=1e6) if n_tries == 1 else "fine"

    lane = lanes.make(Endpoint(act), 4, longest_wait_s=40.0, sleep=time.sleep, clock=time.clock, on_wait=said.append)
    lane.add(asked(4))
    lanes.wait(4)
    assert 40.0 <= time.now <= 80.0
    told = "40 s for the model, which asked for 1,000,000 s; more than 40 s is not waited"
    assert [text for text in said if text] == [told]
    assert said[-1] == ""


# --- deadlines, and odd models ----------------------------------------------------------------------------------------


def test_a_try_that_hangs_ends_at_its_deadline_and_is_tried_again(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: asyncio.Event().wait() if n_tries == 1 else "fine")
    time = Time()
    lane = lanes.make(model, 4, timeout_s=0.02, sleep=time.sleep)
    lane.add(asked(6))
    assert all(response.text == "fine" for response in lanes.wait(6).values())
    assert lane.history()["concurrency"]["timeouts"] == 6


def test_one_that_always_hangs_says_so(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: asyncio.Event().wait())
    lanes.make(model, 4, timeout_s=0.01, max_retries=0).add(asked(1))
    error = lanes.wait(1)["q0"].error
    assert error is not None
    assert error.message == "No answer within 0.01 s."
    assert error.retryable


def test_a_model_that_cancels_itself_loses_nothing(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: asyncio.CancelledError() if n_tries == 1 else "fine")
    time = Time()
    lanes.make(model, 2, sleep=time.sleep).add(asked(3))
    assert all(response.text == "fine" for response in lanes.wait(3).values())


def test_a_model_that_raises_anything_fails_its_request_only(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: ZeroDivisionError("oops") if request.text == "q1" else "fine")
    lanes.make(model, 2).add(asked(3))
    answers = lanes.wait(3)
    assert [response.error is None for _, response in sorted(answers.items())] == [True, False, True]
    assert answers["q1"].error == Error("permanent", answers["q1"].error.message)  # type: ignore[union-attr]


def test_closing_ends_what_is_in_flight(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: asyncio.Event().wait())
    lane = lanes.make(model, 4)
    lane.add(asked(20))
    until(lane, lambda: model.in_flight == 4)
    lane.close()
    lanes.made.remove(lane)
    assert model.is_closed
    assert model.in_flight == 0
    assert not lanes.done


# --- the limit --------------------------------------------------------------------------------------------------------


def test_a_limit_that_is_found_grows_and_asks_for_more_samples(lanes: Lanes) -> None:
    model = Endpoint(lambda request, n_tries: asyncio.sleep(0.001, "fine"))
    lane = lanes.make(model, None, clock=lambda: 0.0)  # every answer is as quick, however busy this machine is
    before = lane.keeps_busy, lane.floor
    assert before == (2 * START, START)
    lane.add(asked(600))
    lanes.wait(600)
    summary = lane.history()["concurrency"]
    assert summary["limit"] > START
    assert lane.keeps_busy == 2 * summary["limit"]
    assert lane.floor == summary["limit"]
    assert summary["most_in_flight"] <= max(limit for _, limit, _ in summary["history"])


def test_the_history_counts_what_went_wrong(lanes: Lanes) -> None:
    kinds = {"q1": "rate_limit", "q2": "transient"}

    def act(request: Request, n_tries: int) -> Any:
        kind: Any = kinds.get(request.text)
        return ModelError("passing", kind=kind) if kind and n_tries == 1 else "fine"

    time = Time()
    lane = lanes.make(Endpoint(act), 3, sleep=time.sleep, clock=time.clock)
    lane.add(asked(5))
    lanes.wait(5)
    summary = lane.history()["concurrency"]
    assert (summary["rate_limits"], summary["failures"], summary["retries"], summary["timeouts"]) == (1, 1, 2, 0)
    assert summary["history"] == [[0.0, 3, "told"]]


# --- media ------------------------------------------------------------------------------------------------------------


def picture(width: int = 40) -> bytes:
    buffer = io.BytesIO()
    Pictures.new("RGB", (width, 30), "teal").save(buffer, format="JPEG")
    return buffer.getvalue()


def test_images_are_looked_at_and_never_decoded(lanes: Lanes) -> None:
    shown = asked(1, image=Image(picture()))
    lanes.make(Endpoint(fine), 2).add(shown)
    lanes.wait(1)
    (image,) = shown[0].request.images()
    assert image.note is not None
    assert (image.note["width"], image.note["height"]) == (40, 30)
    assert lanes.media.load(image.note["file"]).size == (40, 30)
    assert not image.is_decoded


def test_what_is_no_image_fails_before_it_is_sent(lanes: Lanes) -> None:
    model = Endpoint(fine)
    lanes.make(model, 2).add(asked(1, image=b"no image"))
    error = lanes.wait(1)["q0"].error
    assert error is not None
    assert error.kind == "data"
    assert not model.tried


def test_an_image_elsewhere_is_left_for_the_endpoint_to_fetch(lanes: Lanes) -> None:
    lanes.make(Endpoint(fine), 2).add(asked(1, image=Image("https://example.org/cat.jpg")))
    assert lanes.wait(1)["q0"].text == "a0"
