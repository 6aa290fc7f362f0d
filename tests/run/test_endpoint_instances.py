"""One model at several addresses: the others take over, and each is counted for itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import ModelError, PlanError
from polymeter.core.guest_context import guest_context, guest_context_with
from polymeter.core.model import AsyncModel
from polymeter.core.request import Request
from tests.helpers.endpoint_lanes import WAIT_S, Endpoint, Lanes, Probed, Time, asked, fine, until


class Several(Endpoint):
    """One model at several addresses, each of which acts by itself."""

    def __init__(self, *instances: Endpoint) -> None:
        super().__init__(fine)
        for number, one in enumerate(instances):
            one.address = f"http://server-{number}/v1"
        self._instances = instances

    @property
    def instances(self) -> tuple[AsyncModel, ...]:
        return self._instances


def busy(request: Request, n_tries: int) -> ModelError:
    return ModelError("Connection refused.", kind="transient")


def refusing(request: Request, n_tries: int) -> ModelError:
    return ModelError("Bad key.", scope="endpoint")


def addresses_of(lane: Any) -> dict[str, dict[str, Any]]:
    return {one["address"]: one for one in lane.history()["addresses"]}


def test_all_addresses_answer_and_the_whole_is_never_asked(lanes: Lanes) -> None:
    model = Several(Endpoint(fine), Endpoint(fine), Endpoint(fine))
    lane = lanes.make(model, 4)
    lane.add(asked(300))
    answers = lanes.wait(300)
    assert {name: response.text for name, response in answers.items()} == {f"q{n}": f"a{n}" for n in range(300)}
    assert model.tried == []
    counts = [len(one.tried) for one in model._instances]
    assert sum(counts) == 300, "none is asked twice"
    assert all(count >= 60 for count in counts), counts
    assert [one["requests"] for one in lane.history()["addresses"]] == counts
    assert sum(one["share"] for one in lane.history()["addresses"]) == pytest.approx(1, abs=1e-3)


def test_the_limit_holds_for_each_address(lanes: Lanes) -> None:
    gates = [asyncio.Event(), asyncio.Event()]

    def behind(gate: asyncio.Event) -> Callable[[Request, int], Any]:
        async def hold() -> str:
            await gate.wait()
            return "fine"

        return lambda request, n_tries: hold()

    model = Several(*(Endpoint(behind(gate)) for gate in gates))
    lane = lanes.make(model, 5)
    lane.add(asked(40))
    until(lane, lambda: all(one.in_flight == 5 for one in model._instances))
    assert lane.floor == 10
    for gate in gates:
        lane._loop.call_soon_threadsafe(gate.set)
    lanes.wait(40)
    assert [one.most_in_flight for one in model._instances] == [5, 5]
    assert lane.history()["concurrency"]["most_in_flight"] == 10


def test_an_address_that_is_down_loses_nothing_and_fails_nobody(lanes: Lanes) -> None:
    notes: list[str] = []
    gone: list[str] = []
    time = Time()
    model = Several(Probed(fine), Probed(busy))
    lane = lanes.make(
        model, 4, on_note=notes.append, on_gone=gone.append, sleep=time.sleep, clock=time.clock, max_retries=1
    )
    lane.add(asked(200))
    answers = lanes.wait(200)
    assert {response.text for response in answers.values()} == {f"a{n}" for n in range(200)}
    assert gone == []
    up, down = addresses_of(lane).values()
    assert (up["requests"], up["failures"], up["share"]) == (200, 0, 1.0)
    assert down["requests"] == 0
    assert 5 <= down["failures"] <= 12, "then nobody is sent there but probes"


def test_an_address_that_stays_down_is_told_once_and_the_run_goes_on(lanes: Lanes) -> None:
    notes: list[str] = []
    time = Time()
    release = asyncio.Event()

    async def held() -> str:
        await release.wait()
        return "late"

    def slow(request: Request, n_tries: int) -> Any:
        return held() if request.text == "q0" else fine(request, n_tries)

    model = Several(Probed(slow), Probed(busy))
    lane = lanes.make(model, 4, on_note=notes.append, sleep=time.sleep, clock=time.clock)
    lane.add(asked(60))
    until(lane, lambda: bool(notes))
    lane._loop.call_soon_threadsafe(release.set)
    assert len(lanes.wait(60)) == 60
    assert len(notes) == 1
    assert "cannot be asked any more" in notes[0]
    assert notes[0].endswith("The other address takes over.")
    assert addresses_of(lane)["http://server-1/v1"]["is_gone"]


def test_an_address_that_refuses_everybody_hands_its_requests_to_the_others(lanes: Lanes) -> None:
    notes: list[str] = []
    model = Several(Endpoint(refusing), Endpoint(fine))
    lane = lanes.make(model, 4, on_note=notes.append)
    lane.add(asked(50))
    answers = lanes.wait(50)
    assert all(response.error is None for response in answers.values())
    assert len(notes) == 1
    assert "Bad key" in notes[0]


def test_the_run_ends_only_when_all_are_gone(lanes: Lanes) -> None:
    notes: list[str] = []
    gone: list[str] = []
    is_gone = threading.Event()

    def last(reason: str) -> None:
        gone.append(reason)
        is_gone.set()

    lane = lanes.make(Several(Endpoint(refusing), Endpoint(refusing)), 4, on_note=notes.append, on_gone=last)
    lane.add(asked(20))
    assert is_gone.wait(WAIT_S)
    assert (len(notes), len(gone)) == (1, 1)
    assert lanes.done == [], "what was not answered is asked again when the run goes on"


def test_a_failure_that_every_address_has_is_the_request_s(lanes: Lanes) -> None:
    def picky(request: Request, n_tries: int) -> Any:
        return ModelError("busy", kind="transient") if request.text == "q3" else fine(request, n_tries)

    time = Time()
    model = Several(Endpoint(picky), Endpoint(picky))
    lane = lanes.make(model, 4, sleep=time.sleep, clock=time.clock, max_retries=2)
    lane.add(asked(30))
    answers = lanes.wait(30)
    assert answers["q3"].error is not None
    assert sum(response.error is not None for response in answers.values()) == 1
    assert {one.n_tries.get("q3", 0) > 0 for one in model._instances} == {True}


def test_a_dead_server_is_not_waited_for(lanes: Lanes) -> None:
    class Dead(Probed):
        is_dead = True
        last_words = "It said: out of memory."

    gone: list[str] = []
    is_gone = threading.Event()
    time = Time()
    model = Dead(busy)
    lane = lanes.make(
        model, 2, on_gone=lambda reason: (gone.append(reason), is_gone.set()), sleep=time.sleep, clock=time.clock
    )
    lane.add(asked(10))
    assert is_gone.wait(WAIT_S)
    assert "its server has ended. It said: out of memory." in gone[0]
    assert time.slept == [], "neither a retry nor a probe was waited for"


def test_waits_are_told_only_if_nobody_answers(lanes: Lanes) -> None:
    waits: list[str] = []
    time = Time()
    model = Several(Probed(fine), Probed(busy))
    lane = lanes.make(model, 4, on_waiting=waits.append, sleep=time.sleep, clock=time.clock)
    lane.add(asked(100))
    lanes.wait(100)
    assert [text for text in waits if text] == []


# --- loading ----------------------------------------------------------------------------------------------------------


class Started(Endpoint):
    """A model that has addresses only once it is loaded."""

    def __init__(self, load: Callable[[], None]) -> None:
        super().__init__(fine)
        self._do = load
        self._ready: tuple[AsyncModel, ...] = ()
        self.interrupted = threading.Event()
        self.loads: list[str] = []

    @property
    def instances(self) -> tuple[AsyncModel, ...]:
        return self._ready

    def load(self) -> None:
        self.loads.append(threading.current_thread().name)
        self._do()
        self._ready = (Endpoint(fine), Endpoint(fine))

    def interrupt(self) -> None:
        self.interrupted.set()


def test_a_model_is_loaded_by_the_first_request_and_not_before(lanes: Lanes) -> None:
    model = Started(lambda: None)
    lane = lanes.make(model, 4)
    assert model.loads == []
    assert lane.history() == {}
    assert lane.keeps_busy == 16
    lane.add(asked(20))
    assert len(lanes.wait(20)) == 20
    assert model.loads == ["polymeter-endpoint"]
    assert lane.floor == 8


def test_a_model_is_loaded_with_the_settings_of_the_run(lanes: Lanes, tmp_path: Path) -> None:
    seen: list[Path | None] = []
    with guest_context_with(cache_dir=tmp_path):
        lane = lanes.make(Started(lambda: seen.append(guest_context().cache_dir)), 4)
    lane.add(asked(2))
    lanes.wait(2)
    assert seen == [tmp_path]


def test_a_model_that_nobody_asks_is_never_loaded(lanes: Lanes) -> None:
    model = Started(lambda: None)
    lanes.make(model, 4).close()
    lanes.made.clear()
    assert model.loads == []
    assert model.is_closed


def test_a_server_that_cannot_be_started_ends_the_run_resumably(lanes: Lanes) -> None:
    def fail() -> None:
        raise ModelError("The server ended with exit code 1.", scope="endpoint")

    gone: list[str] = []
    is_gone = threading.Event()
    lane = lanes.make(Started(fail), 4, on_gone=lambda reason: (gone.append(reason), is_gone.set()))
    lane.add(asked(3))
    assert is_gone.wait(WAIT_S)
    assert gone == ["the model cannot be started: The server ended with exit code 1."]


def test_an_error_of_the_author_s_is_passed_on_as_one(lanes: Lanes) -> None:
    def fail() -> None:
        raise KeyError("weights")

    failed: list[BaseException] = []
    has_failed = threading.Event()
    lane = lanes.make(Started(fail), 4, on_failed=lambda error: (failed.append(error), has_failed.set()))
    lane.add(asked(3))
    assert has_failed.wait(WAIT_S)
    assert isinstance(failed[0], PlanError)
    assert "Starting the model" in str(failed[0])


def test_closing_interrupts_a_model_that_is_being_loaded(lanes: Lanes) -> None:
    began = threading.Event()

    def wait() -> None:
        began.set()
        assert model.interrupted.wait(WAIT_S)
        raise ModelError("Interrupted.")

    model = Started(wait)
    lane = lanes.make(model, 4)
    lane.add(asked(3))
    assert began.wait(WAIT_S)
    lane.close()
    lanes.made.clear()
    assert model.is_closed
