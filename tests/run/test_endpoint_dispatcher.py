"""The lane to an endpoint: nothing is lost, nothing piles up, and nobody sends when they should not."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image as Pictures

from polymeter.core.content import Image
from polymeter.core.errors import DataError, ModelError
from polymeter.core.request import Request
from polymeter.core.settings.repeats import repeats_of
from polymeter.run.dispatch.endpoint.concurrency import START
from tests.helpers.endpoint_lanes import WAIT_S, Endpoint, Lanes, Preparing, Time, asked, fine, until

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


def test_answers_of_a_moment_leave_together(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    take = lanes.take
    monkeypatch.setattr(lanes, "take", lambda done: (together.append(len(done)), take(done)))
    gate = asyncio.Event()

    async def hold(request: Request) -> str:
        await gate.wait()
        return "fine"

    model = Endpoint(lambda request, n_tries: hold(request))
    lane = lanes.make(model, 40)
    lane.add(asked(40))
    until(lane, lambda: model.in_flight == 40)
    lane._loop.call_soon_threadsafe(gate.set)
    lanes.wait(40)
    assert together == [40], "the last of them waits for nobody"


def test_text_is_prepared_several_at_a_time(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    hops: list[int] = []
    real = lanes.prefetcher.prepare_each

    def counted(requests: Any, make: Any, ready: Any) -> None:
        hops.append(len(requests))
        real(requests, make, ready)

    monkeypatch.setattr(lanes.prefetcher, "prepare_each", counted)
    lanes.make(Preparing(fine, lambda request: request.text), 16).add(asked(100))
    lanes.wait(100)
    assert sum(hops) == 100
    assert len(hops) <= 25


@pytest.mark.parametrize(("n_in_flight", "most"), [(8, 1), (64, 4)])
def test_a_few_images_share_a_thread_hop_where_many_are_in_flight(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch, n_in_flight: int, most: int
) -> None:
    hops: list[int] = []
    real = lanes.prefetcher.prepare_each

    def counted(requests: Any, make: Any, ready: Any) -> None:
        hops.append(len(requests))
        real(requests, make, ready)

    monkeypatch.setattr(lanes.prefetcher, "prepare_each", counted)
    lane = lanes.make(Preparing(fine, lambda request: request.text), n_in_flight)
    lane.add(asked(100, image=picture()))
    lanes.wait(100)
    assert sum(hops) == 100
    assert max(hops) == most


def test_repeats_with_media_share_a_thread_hop(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    hops: list[list[str]] = []
    real = lanes.prefetcher.prepare_each

    def counted(requests: Any, make: Any, ready: Any) -> None:
        hops.append([request.text for request in requests])
        real(requests, make, ready)

    monkeypatch.setattr(lanes.prefetcher, "prepare_each", counted)
    lane = lanes.make(Preparing(fine, lambda request: request.text), 8)
    questions = asked(2, image=picture())
    repeats = [replace(one, request=repeat) for one in questions for repeat in repeats_of(one.request, (1, 2, 3))]
    lane.add(repeats)
    lanes.wait(6)
    assert hops == [["q0"] * 3, ["q1"] * 3]


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


def test_rate_limits_use_up_no_tries_while_others_are_answered(lanes: Lanes) -> None:
    time = Time()

    def act(request: Request, n_tries: int) -> Any:
        return ModelError("slow down", kind="rate_limit") if n_tries <= 8 and request.text == "q0" else "fine"

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
    assert model.n_tries["q0"] == 9


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


# --- closing ----------------------------------------------------------------------------------------------------------


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
