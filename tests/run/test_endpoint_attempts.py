"""One try at an endpoint: deadlines, and models that fail in odd ways."""

from __future__ import annotations

import asyncio

from polymeter.core.request import Error
from tests.helpers.endpoint_lanes import Endpoint, Lanes, Time, asked


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
