"""When an endpoint counts as gone."""

from __future__ import annotations

import pytest

from polymeter.run.dispatch.endpoint.breaker import MOST_PROBES, Breaker


def opened(limit: int) -> int:
    """After how many failures in a row nobody is sent there any more."""
    breaker = Breaker(60.0)
    return next(n for n in range(1, 1000) if breaker.failed(limit))


@pytest.mark.parametrize(("limit", "n_failures"), [(1, 5), (8, 5), (64, 32)])
def test_it_opens_after_a_few_failures_or_half_of_what_is_in_flight(limit: int, n_failures: int) -> None:
    assert opened(limit) == n_failures


def test_an_answer_between_failures_begins_the_count_anew() -> None:
    breaker = Breaker(60.0)
    for _ in range(100):
        assert not any(breaker.failed(1) for _ in range(4))
        breaker.answered()
    assert not breaker.is_open


def test_it_opens_once_and_closes_with_an_answer() -> None:
    breaker = Breaker(60.0)
    assert [breaker.failed(1) for _ in range(8)] == [False] * 4 + [True] + [False] * 3
    assert breaker.is_open
    breaker.answered()
    assert not breaker.is_open
    assert [breaker.failed(1) for _ in range(5)][-1]


def test_probes_come_at_growing_intervals_and_end() -> None:
    breaker = Breaker(60.0)
    waits = [breaker.next_wait_s() for _ in range(MOST_PROBES + 1)]
    assert waits[-1] is None
    assert waits[:6] == pytest.approx([0.2, 0.6, 1.8, 5.4, 16.2, 48.6])
    assert waits[6:-1] == [60.0] * 3
    short = Breaker(1.0)
    assert max(short.next_wait_s() or 0.0 for _ in range(MOST_PROBES)) == 1.0
