"""The limit of requests in flight, against simulated endpoints over a clock that only the simulation turns."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from polymeter.run.dispatch.endpoint.concurrency import CEILING, START, Limiter, Ticket, Verdict, backoff_s

Fate = tuple[float, Verdict, float | None]
"""What a simulated endpoint does with a try: seconds, verdict, ``Retry-After``."""


@dataclass
class World:
    """An endpoint, a limiter, and the time.

    Attributes:
        answer: Gives the fate of a try from the time and the number of tries that the endpoint works on.
        told: The user's limit.
        supply: How many requests wait beside those in flight.
    """

    answer: Callable[[float, int], Fate]
    told: int | None = None
    supply: int = 1_000_000
    now: float = 0.0
    n_answered: int = 0
    n_rate_limited: int = 0
    events: list[tuple[float, int, Ticket, Verdict, float | None]] = field(default_factory=list)
    order: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.limiter = Limiter(self.told, lambda: self.now, longest_pause_s=60)

    def run(self, *, answers: int = 10**9, until_s: float = 10**9) -> World:
        """Go on until so many answers have come, or so much time has passed."""
        goal = self.n_answered + answers
        while self.n_answered < goal and self.now < until_s:
            while self.limiter.has_room and self.supply > self.limiter.in_flight:
                ticket = self.limiter.begin()
                latency_s, verdict, retry_after_s = self.answer(self.now, self.limiter.in_flight)
                heapq.heappush(self.events, (self.now + latency_s, next(self.order), ticket, verdict, retry_after_s))
            if not self.events:
                self.now += self.limiter.pause_s
                continue
            self.now, _, ticket, verdict, retry_after_s = heapq.heappop(self.events)
            is_work_waiting = self.supply > self.limiter.in_flight
            self.limiter.end(ticket, verdict, is_work_waiting=is_work_waiting, retry_after_s=retry_after_s)
            self.n_answered += verdict == "answered"
            self.n_rate_limited += verdict == "rate_limit"
        return self

    @property
    def limits(self) -> list[int]:
        """Every limit there was."""
        return [limit for _, limit, _ in self.limiter.summary()["history"]]

    @property
    def reasons(self) -> list[str]:
        """Why it changed."""
        return [why for _, _, why in self.limiter.summary()["history"]]


def fast(now: float, in_flight: int) -> Fate:
    """Always a second."""
    return 1.0, "answered", None


def refuses_above(capacity: int, latency_s: float = 1.0) -> Callable[[float, int], Fate]:
    """Refuses at once whatever is more than it takes."""
    return lambda now, in_flight: (latency_s, "answered", None) if in_flight <= capacity else (0.01, "rate_limit", None)


def queues_above(capacity: int) -> Callable[[float, int], Fate]:
    """Works on so many at a time; the others wait."""
    free: list[float] = [0.0] * capacity

    def answer(now: float, in_flight: int) -> Fate:
        done = max(now, heapq.heappop(free)) + 1.0
        heapq.heappush(free, done)
        return done - now, "answered", None

    return answer


# --- a limit that is to be found --------------------------------------------------------------------------------------


def test_slow_start_doubles_for_each_round_and_stops_at_the_ceiling() -> None:
    world = World(fast).run(until_s=20)
    assert world.limits == [START, 16, 32, 64, 128, 256, CEILING]
    assert world.limiter.most_in_flight == CEILING
    assert [at for at, _, _ in world.limiter.summary()["history"]][:4] == [0, 1, 3, 5], "one for each full round"


@pytest.mark.parametrize("supply", [1, 5, START])
def test_nothing_grows_while_slots_are_free_or_nothing_waits(supply: int) -> None:
    world = World(fast, supply=supply).run(answers=500)
    assert world.limits == [START]


def test_growth_ends_where_work_ends() -> None:
    world = World(fast, supply=40).run(answers=2000)
    assert world.limiter.limit == 64
    assert world.limiter.most_in_flight == 40


@pytest.mark.parametrize("capacity", [3, 20, 50, 200])
def test_the_limit_settles_around_what_an_endpoint_takes(capacity: int) -> None:
    world = World(refuses_above(capacity)).run(until_s=40)
    began, answered, refused = world.now, world.n_answered, world.n_rate_limited
    world.run(until_s=400)
    throughput = (world.n_answered - answered) / (world.now - began)
    assert throughput > 0.8 * capacity
    assert world.n_rate_limited - refused < 0.25 * (world.n_answered - answered)


@pytest.mark.parametrize("capacity", [6, 48, 100])
def test_a_queue_at_the_endpoint_is_not_filled_without_end(capacity: int) -> None:
    world = World(queues_above(capacity)).run(until_s=100)
    began, answered = world.now, world.n_answered
    world.run(until_s=300)
    assert (world.n_answered - answered) / (world.now - began) > 0.98 * capacity, "it is kept busy"
    assert world.limiter.limit <= 3 * capacity + START
    assert max(world.limits) <= 4 * capacity
    assert "no faster" in world.reasons


def test_it_looks_again_whether_more_has_become_possible() -> None:
    capacity = 30

    def answer(now: float, in_flight: int) -> Fate:
        return max(1.0, in_flight / capacity), "answered", None

    world = World(answer).run(until_s=60)
    assert world.limiter.limit <= 64
    capacity = 400
    world.run(until_s=1000)
    assert world.limiter.limit > 200


def test_latencies_of_every_length_do_not_look_like_a_queue() -> None:
    source = random.Random(5)
    world = World(lambda now, in_flight: (source.lognormvariate(0, 0.8), "answered", None)).run(until_s=60)
    assert world.limiter.limit >= 128


# --- strain -----------------------------------------------------------------------------------------------------------


def test_one_episode_is_one_cut() -> None:
    def answer(now: float, in_flight: int) -> Fate:
        return (1.0, "answered", None) if now < 10 or now > 11 else (0.5, "rate_limit", None)

    world = World(answer, told=64).run(until_s=10.3)
    assert world.limits == [64]
    world.run(until_s=10.99)
    assert world.reasons.count("rate limits") == 1
    assert world.limits == [64, 44]


def test_what_was_in_flight_at_a_cut_never_cuts_again() -> None:
    now = 0.0
    limiter = Limiter(64, lambda: now, longest_pause_s=60)
    tickets = [limiter.begin() for _ in range(64)]
    for ticket in tickets:
        limiter.end(ticket, "rate_limit", is_work_waiting=True)
    assert limiter.limit == 44
    later = [limiter.begin() for _ in range(44)]
    for ticket in later:
        limiter.end(ticket, "rate_limit", is_work_waiting=True)
    assert limiter.limit == 30


@pytest.mark.parametrize("told", [None, 64])
def test_a_few_rate_limits_and_failures_are_noise(told: int | None) -> None:
    source = random.Random(3)

    def answer(now: float, in_flight: int) -> Fate:
        draw = source.random()
        return 0.2, "rate_limit" if draw < 0.02 else "failed" if draw < 0.05 else "answered", None

    world = World(answer, told=told).run(answers=20_000)
    assert "rate limits" not in world.reasons
    assert world.limiter.limit >= 64


def test_when_most_fail_fewer_are_sent() -> None:
    world = World(lambda now, in_flight: (0.1, "failed", None), told=100).run(until_s=10)
    assert world.limiter.limit == 1
    assert set(world.reasons) == {"told", "failures"}


def test_a_third_that_fails_is_no_reason_to_send_fewer() -> None:
    source = random.Random(1)
    world = World(lambda now, n: (0.1, "failed" if source.random() < 0.33 else "answered", None), told=64)
    world.run(answers=5000)
    assert world.limits == [64]


def test_errors_that_will_not_pass_say_nothing() -> None:
    world = World(lambda now, in_flight: (0.1, "other", None), told=16).run(until_s=30)
    assert world.limits == [16]


def test_a_told_limit_is_where_it_starts_never_exceeded_and_grown_back_to() -> None:
    def answer(now: float, in_flight: int) -> Fate:
        return (1.0, "answered", None) if not 5 < now < 7 else (0.05, "rate_limit", None)

    world = World(answer, told=40).run(until_s=7.5)
    assert world.limits[0] == 40
    assert world.limiter.limit < 20
    world.run(until_s=200)
    assert world.limiter.limit == max(world.limits) == world.limiter.most_in_flight == 40
    steps = [b - a for a, b in itertools.pairwise(world.limits) if b > a]
    assert set(steps) == {1}, "after a cut it grows by steps"


def test_growth_after_a_cut_is_by_steps_also_where_it_doubled_before() -> None:
    world = World(refuses_above(100)).run(until_s=60)
    first_cut = world.reasons.index("rate limits")
    assert set(world.reasons[1:first_cut]) == {"slow start"}
    assert "slow start" not in world.reasons[first_cut:]


# --- Retry-After ------------------------------------------------------------------------------------------------------


def test_retry_after_pauses_everyone() -> None:
    sent: list[float] = []

    def answer(now: float, in_flight: int) -> Fate:
        sent.append(now)
        return (0.1, "rate_limit", 5.0) if len(sent) == 20 else (0.5, "answered", None)

    world = World(answer, told=10).run(until_s=20)
    paused_at = sent[19] + 0.1
    assert not [at for at in sent if paused_at < at < paused_at + 5.0]
    assert [at for at in sent if at >= paused_at + 5.0]
    assert world.limiter.summary()["paused_s"] == pytest.approx(5.0)


def test_pauses_that_overlap_are_counted_once_and_the_longest_holds() -> None:
    now = 0.0
    limiter = Limiter(8, lambda: now, longest_pause_s=60)
    tickets = [limiter.begin() for _ in range(3)]
    for ticket, wait_s in zip(tickets, (4.0, 10.0, 2.0), strict=True):
        limiter.end(ticket, "rate_limit", is_work_waiting=True, retry_after_s=wait_s)
    assert limiter.pause_s == 10.0
    assert limiter.summary()["paused_s"] == 10.0


def test_an_absurd_retry_after_is_cut_to_the_deadline() -> None:
    limiter = Limiter(8, lambda: 0.0, longest_pause_s=60)
    limiter.end(limiter.begin(), "rate_limit", is_work_waiting=True, retry_after_s=86_400.0)
    assert limiter.pause_s == 60


# --- the record -------------------------------------------------------------------------------------------------------


def test_the_history_keeps_the_first_and_the_last_changes() -> None:
    world = World(refuses_above(40)).run(until_s=1500)
    summary = world.limiter.summary()
    history = summary["history"]
    assert summary["changes"] > len(history)
    assert len(history) <= 200
    assert history[0] == [0.0, START, "start"]
    assert history[-1][1] == summary["limit"]
    assert [at for at, _, _ in history] == sorted(at for at, _, _ in history)
    assert summary["rate_limits"] == world.n_rate_limited


# --- waiting between tries --------------------------------------------------------------------------------------------


def test_waits_grow_threefold_up_to_half_a_minute() -> None:
    assert [backoff_s(n, 0.0) for n in (1, 2, 3)] == pytest.approx([0.2, 0.6, 1.8])
    assert backoff_s(50, 0.0) == backoff_s(10_000, 0.0) == 30.0


@pytest.mark.parametrize("n_tries", [1, 3, 9])
def test_jitter_takes_up_to_half_away(n_tries: int) -> None:
    waits = [backoff_s(n_tries, jitter / 100) for jitter in range(100)]
    assert len(set(waits)) == 100
    assert max(waits) == backoff_s(n_tries, 0.0)
    assert min(waits) > max(waits) / 2
