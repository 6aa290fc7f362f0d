"""One request that is always refused while others are answered: it fails alone, and holds nobody up."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from polymeter.core.errors import ModelError
from polymeter.core.options import LONGEST_WAIT_S
from polymeter.core.request import Error, Request, Response
from polymeter.run.dispatch.endpoint.watch import PATIENCE_S
from polymeter.run.schedule.running_samples import PendingRequest
from tests.helpers.endpoint_lanes import Endpoint, Lanes, Probed, Time, asked, fine, until
from tests.helpers.tasks import ask
from tests.run.test_endpoint_instances import Several


def limited(retry_after_s: float | None = None) -> ModelError:
    return ModelError("HTTP 429: not you", kind="rate_limit", retry_after_s=retry_after_s)


def picky(*refused: str, retry_after_s: float | None = None) -> Callable[[Request, int], Any]:
    def act(request: Request, n_tries: int) -> Any:
        return limited(retry_after_s) if request.text in refused else "fine"

    return act


@pytest.mark.parametrize("concurrency", [1, 2, 8])
@pytest.mark.parametrize("retry_after_s", [None, 4.0])
@pytest.mark.parametrize("refused", ["q0", "q7", "q19"])
def test_it_fails_alone(lanes: Lanes, concurrency: int, retry_after_s: float | None, refused: str) -> None:
    time, gone = Time(), list[str]()
    model = Probed(picky(refused, retry_after_s=retry_after_s))
    lane = lanes.make(model, concurrency, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(20))
    answers = lanes.wait(20)
    assert {name for name, response in answers.items() if response.error is not None} == {refused}
    error = answers[refused].error
    assert error is not None
    assert (error.kind, error.message) == ("rate_limit", "HTTP 429: not you")
    assert gone == []
    assert LONGEST_WAIT_S <= time.now <= LONGEST_WAIT_S + 300, "time passes only while it sleeps"
    assert model.n_tries[refused] <= 40


def test_its_waits_hold_nobody_else(lanes: Lanes) -> None:
    """The first two might concern everyone: nobody was answered in between."""
    time = Time()
    model = Probed(lambda request, n_tries: "fine")
    refuse = picky("q0", retry_after_s=20.0)
    model.act = lambda request, n_tries: "fine" if len(model.n_tries) == 100 else refuse(request, n_tries)
    lane = lanes.make(model, 1, sleep=time.sleep, clock=time.clock)
    lane.add(asked(100))
    lanes.wait(100)
    assert model.n_tries["q0"] > 3
    assert lane.history()["concurrency"]["paused_s"] <= 40.0
    assert lane.history()["concurrency"]["cuts"] == 0


def test_many_of_them_do_not_keep_others_from_being_asked(lanes: Lanes) -> None:
    time, gone = Time(), list[str]()
    refused = {f"q{n}" for n in range(40)}
    model = Probed(picky(*refused))
    lane = lanes.make(model, 4, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(100))
    answers = lanes.wait(100)
    assert {name for name, response in answers.items() if response.error is not None} == refused
    assert gone == []


def test_an_endpoint_that_limits_everyone_for_a_minute_loses_nothing(lanes: Lanes) -> None:
    """A small request finds room all the time."""
    time = Time()

    def act(request: Request, n_tries: int) -> Any:
        return limited() if 0 < time.now < 59 or n_tries == 1 else "fine"

    model = Probed(act)
    model.probes = lambda: None
    lane = lanes.make(model, 8, sleep=time.sleep, clock=time.clock)
    lane.add(asked(60))
    assert {response.text for response in lanes.wait(60).values()} == {"fine"}


def test_one_that_limits_a_small_request_too_is_given_up_and_fails_nobody(lanes: Lanes) -> None:
    time, gone = Time(), list[str]()
    model = Probed(lambda request, n_tries: limited() if time.now > 1 or request.text == "q0" else "fine")
    lane = lanes.make(model, 2, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(1))
    until(lane, lambda: bool(gone))
    assert "it has answered with nothing but rate limits for" in gone[0]
    assert time.now > PATIENCE_S
    assert lanes.done == []


def test_without_a_small_request_the_answers_to_others_tell(lanes: Lanes) -> None:
    time, gone = Time(), list[str]()
    lane = lanes.make(Endpoint(picky("q0")), 2, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(20))
    answers = lanes.wait(20)
    assert [name for name, response in answers.items() if response.error is not None] == ["q0"]
    assert time.now > PATIENCE_S
    assert gone == []


@pytest.mark.parametrize("is_last", [False, True])
def test_a_list_of_models_says_nothing_of_limits(lanes: Lanes, is_last: bool) -> None:
    """Where others were answered between its tries it fails; else it may be everyone that is limited."""

    class Listed(Probed):
        async def probe(self) -> bool:
            return False

    time, gone = Time(), list[str]()
    lane = lanes.make(Listed(picky("q0")), 2, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(1 if is_last else 20))
    until(lane, lambda: bool(gone) or len(lanes.done) == 20)
    assert time.now > PATIENCE_S
    assert (len(gone), len(lanes.done)) == ((1, 0) if is_last else (0, 20))


def test_each_address_refuses_it_before_it_fails(lanes: Lanes) -> None:
    time, gone = Time(), list[str]()
    model = Several(Probed(picky("q3")), Probed(picky("q3")))
    lane = lanes.make(model, 2, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(30))
    answers = lanes.wait(30)
    assert [name for name, response in answers.items() if response.error is not None] == ["q3"]
    assert all(one.n_tries["q3"] > 1 for one in model._instances)
    assert gone == []


def test_one_that_another_address_answers_does_not_fail(lanes: Lanes) -> None:
    time = Time()
    model = Several(Probed(picky("q3")), Probed(picky()))
    lane = lanes.make(model, 1, sleep=time.sleep, clock=time.clock)
    lane.add(asked(30))
    assert {response.text for response in lanes.wait(30).values()} == {"fine"}


class Ordered(Time):
    """Time in which those that sleep wake in order, and each acts before the next one wakes."""

    def __init__(self) -> None:
        super().__init__()
        self.sleepers: list[tuple[float, int]] = []
        self.n_slept = 0

    async def sleep(self, seconds: float) -> None:
        self.n_slept += 1
        own = (self.now + seconds, self.n_slept)
        self.sleepers.append(own)
        try:
            n_first = 0
            while n_first < 8:
                await asyncio.sleep(0)
                n_first = n_first + 1 if min(self.sleepers) == own else 0
            self.now = own[0]
        finally:
            self.sleepers.remove(own)


class Slow(Probed):
    """Takes half a second for whatever it says; small requests find room all the time."""

    def __init__(self, time: Time, act: Callable[[Request, int], Any]) -> None:
        super().__init__(act)
        self.time = time
        self.probes = lambda: None

    async def respond(self, request: Request) -> Response:
        await self.time.sleep(0.5)
        return await super().respond(request)


@pytest.mark.parametrize("concurrency", [2, 4])
@pytest.mark.parametrize("n_limits", [1, 2])
def test_an_address_that_limits_everyone_makes_no_errors(lanes: Lanes, concurrency: int, n_limits: int) -> None:
    """The other one limits some in passing, and answers them when it is asked again."""

    def passing(request: Request, n_tries: int) -> Any:
        return limited() if n_tries <= n_limits and request.text.endswith("3") else "fine"

    time, gone = Ordered(), list[str]()
    model = Several(Slow(time, passing), Slow(time, lambda request, n_tries: limited()))
    lane = lanes.make(model, concurrency, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(150))
    assert {response.text for response in lanes.wait(150).values()} == {"fine"}
    assert gone == []


def test_an_address_in_an_outage_is_waited_for_where_the_other_limits_everyone(lanes: Lanes) -> None:
    time = Ordered()

    def away(*_: Any) -> Any:
        back = None if time.now > 150 else ModelError("HTTP 503", kind="transient")
        return limited() if time.now < 2 else back or "fine"

    first = Slow(time, away)
    first.probes = away
    model = Several(first, Slow(time, lambda request, n_tries: limited()))
    lane = lanes.make(model, 2, sleep=time.sleep, clock=time.clock)
    lane.add(asked(12))
    assert {response.text for response in lanes.wait(12).values()} == {"fine"}


def test_the_answers_of_one_address_do_not_cancel_the_pause_of_another(lanes: Lanes) -> None:
    time, sent_at = Ordered(), list[float]()

    def pausing(request: Request, n_tries: int) -> Any:
        sent_at.append(time.now)
        return limited(20.0)

    first = Slow(time, lambda request, n_tries: limited() if n_tries <= 3 and request.text[-1] in "37" else "fine")
    # Three limits at one address and three at the other are more than the usual tries. Where the last request gets them
    # with nobody answered beside it, it is rightly an error, which is another test's business.
    lane = lanes.make(Several(first, Slow(time, pausing)), 1, max_retries=20, sleep=time.sleep, clock=time.clock)
    lane.add(asked(400))
    assert {response.text for response in lanes.wait(400).values()} == {"fine"}
    assert len(sent_at) >= 10
    assert min(then - before for before, then in itertools.pairwise(sent_at)) >= 20.0


REFUSED = ModelError("HTTP 400: Could not finish the message because max_tokens was reached")
AWAY = ModelError("HTTP 503: overloaded", kind="transient")
SHUT = ModelError("HTTP 401: bad key", scope="endpoint")


@pytest.mark.parametrize(
    ("found", "n", "fails"),
    [
        pytest.param(REFUSED, 20, True, id="a refusal of its content shows that the endpoint has room"),
        pytest.param(REFUSED, 1, True, id="also where nobody else is left"),
        pytest.param(AWAY, 20, True, id="others were answered between its tries"),
        pytest.param(AWAY, 1, False, id="nothing says that others would be answered"),
        pytest.param(limited(), 20, False, id="everyone is limited"),
        pytest.param(SHUT, 20, False, id="nobody can be answered any more"),
    ],
)
def test_a_small_request_may_fail_for_a_reason_of_its_own(lanes: Lanes, found: ModelError, n: int, fails: bool) -> None:
    time, gone = Time(), list[str]()
    model = Probed(picky("q0"))
    model.probes = lambda: found
    lane = lanes.make(model, 2, sleep=time.sleep, clock=time.clock, on_gone=gone.append)
    lane.add(asked(n))
    until(lane, lambda: bool(gone) or len(lanes.done) == n)
    assert len(gone) == (not fails)
    assert [one.request.text for one in lanes.done if one.response and one.response.error] == ["q0"] * fails


@pytest.mark.parametrize("n_stuck", [1, 15])
@pytest.mark.parametrize("retry_after_s", [None, 20.0])
def test_those_that_are_stuck_leave_while_others_are_answered(
    lanes: Lanes, n_stuck: int, retry_after_s: float | None
) -> None:
    time = Ordered()
    stuck = {f"q{n}" for n in range(n_stuck)}
    model = Slow(time, picky(*stuck, retry_after_s=retry_after_s))
    lane = lanes.make(model, 2, sleep=time.sleep, clock=time.clock)
    lane.add(asked(1600))
    answers = lanes.wait(1600)
    assert {name for name, response in answers.items() if response.error is not None} == stuck
    names = [one.request.text for one in lanes.done]
    assert max(names.index(name) for name in stuck) < 1200, "others were still to be asked"
    assert all(9 <= model.n_tries[name] <= 20 for name in stuck), "it was its turn more than once"
    assert model.n_probes == 0, "the answers to others tell"


@pytest.mark.parametrize("concurrency", [4, 32])
def test_ordinary_throttling_loses_nothing(lanes: Lanes, concurrency: int) -> None:
    """Ten are answered in ten seconds, whoever comes first."""
    time = Ordered()
    served: dict[int, int] = {}

    def throttled(request: Request, n_tries: int) -> Any:
        window = int(time.now // 10)
        served[window] = served.get(window, 0) + 1
        return "fine" if served[window] <= 10 else limited()

    lane = lanes.make(Slow(time, throttled), concurrency, sleep=time.sleep, clock=time.clock)
    lane.add(asked(300))
    assert {response.text for response in lanes.wait(300).values()} == {"fine"}
    assert time.now > 120


def test_repeats_that_are_answered_one_by_one_are_not_stuck(lanes: Lanes) -> None:
    """Each call answers one of the twelve that were asked together, and limits the others."""

    class Joining(Slow):
        joins_repeats = True

        async def respond_repeats(self, requests: Any, prepared: Any) -> list[Response]:
            first = await self.respond(requests[0])
            own = Response(error=Error("rate_limit", "HTTP 429", retryable=True))
            return [first, *[own] * (len(requests) - 1)]

    time = Ordered()
    lane = lanes.make(Joining(time, fine), 1, sleep=time.sleep, clock=time.clock)
    repeats = [PendingRequest(None, "model", ask("q0", repeat=n), "", n, 0) for n in range(12)]  # type: ignore[arg-type]
    lane.add([*repeats, *asked(600)[1:]])
    lanes.wait(611)
    assert 8 < lane._model.n_tries["q0"] <= 12  # type: ignore[attr-defined]
    assert [one.response.error for one in repeats if one.response] == [None] * 12


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("retry_after_s", [None, 20.0])
def test_a_passing_failure_of_one_request_holds_nobody_either(
    lanes: Lanes, concurrency: int, retry_after_s: float | None
) -> None:
    def act(request: Request, n_tries: int) -> Any:
        if request.text == "q0":
            return ModelError("HTTP 503: no", kind="transient", retry_after_s=retry_after_s)
        return "fine"

    time = Time()
    model = Probed(act)
    lane = lanes.make(model, concurrency, sleep=time.sleep, clock=time.clock)
    lane.add(asked(200))
    answers = lanes.wait(200)
    assert [name for name, response in answers.items() if response.error is not None] == ["q0"]
    assert model.n_tries["q0"] == 6
    assert lane.history()["concurrency"]["paused_s"] <= 2 * (retry_after_s or 0.0)
