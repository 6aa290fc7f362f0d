"""Whether an endpoint is there: outages are outlasted, one that is gone ends the run, and waits are told."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import ModelError
from polymeter.core.request import Request
from polymeter.run.dispatch.endpoint.breaker import MOST_PROBES
from polymeter.run.dispatch.endpoint.watch import PATIENCE_S
from tests.helpers.endpoint_lanes import Endpoint, Lanes, Probed, Time, asked, until


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
    lane = lanes.make(model, 4, sleep=time.sleep, clock=time.clock, on_waiting=said.append, name="the judge")
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


def test_retry_after_is_honoured_no_longer_than_the_limit_and_told_once(lanes: Lanes) -> None:
    time, said = Time(), list[str]()

    def act(request: Request, n_tries: int) -> Any:
        return ModelError("later", kind="rate_limit", retry_after_s=1e6) if n_tries == 1 else "fine"

    lane = lanes.make(Endpoint(act), 4, longest_wait_s=40.0, sleep=time.sleep, clock=time.clock, on_waiting=said.append)
    lane.add(asked(4))
    lanes.wait(4)
    assert 40.0 <= time.now <= 80.0
    told = "40 s for the model, which asked for 1,000,000 s; the longest wait is 40 s"
    assert [text for text in said if text] == [told]
    assert said[-1] == ""
