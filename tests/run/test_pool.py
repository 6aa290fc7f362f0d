"""The pool: as many jobs at a time as it has slots, and one that waits gives its slot away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from polymeter.core.guest_context import weights_from, weights_place
from polymeter.run.schedule.pool import Pool

PATIENCE_S = 20.0


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool("test", 2)
    yield made
    made.close()


def done(event: threading.Event) -> bool:
    """Whether a job came so far; no test takes this long unless it fails."""
    return event.wait(PATIENCE_S)


def test_every_job_runs_once(pool: Pool) -> None:
    ran: list[int] = []
    all_ran = threading.Event()

    def job(number: int) -> Callable[[], None]:
        def run() -> None:
            ran.append(number)
            if len(ran) == 200:
                all_ran.set()

        return run

    for number in range(200):
        pool.submit(job(number))
    assert done(all_ran)
    assert sorted(ran) == list(range(200))


def test_never_more_jobs_at_a_time_than_slots(pool: Pool) -> None:
    lock = threading.Lock()
    now, most, n_done = 0, 0, 0
    both, finished = threading.Barrier(2), threading.Event()

    def job() -> None:
        nonlocal now, most, n_done
        with lock:
            now += 1
            most = max(most, now)
        both.wait(PATIENCE_S)
        with lock:
            now -= 1
            n_done += 1
            if n_done == 20:
                finished.set()

    for _ in range(20):
        pool.submit(job)
    assert done(finished)
    assert most == 2


def test_jobs_that_come_at_once_run_at_once_also_when_one_thread_is_idle(pool: Pool) -> None:
    both = threading.Barrier(2)
    met = [threading.Event(), threading.Event()]
    warm = threading.Event()
    pool.submit(warm.set)
    assert done(warm)

    def job(event: threading.Event) -> Callable[[], None]:
        def run() -> None:
            both.wait(PATIENCE_S)
            event.set()

        return run

    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        with pool._changed:  # nobody can take the first before the second is there
            if pool._idle == 1:
                for event in met:
                    pool.submit(job(event))
                break
    assert all(map(done, met))


def test_a_job_that_waits_lets_another_run() -> None:
    pool = Pool("single", 1)
    answered, finished = threading.Event(), threading.Event()

    def asks() -> None:
        with pool.waiting():
            assert done(answered)
        finished.set()

    pool.submit(asks)
    pool.submit(answered.set)
    assert done(finished), "the one slot was given up while waiting"
    pool.close()


def test_waiting_on_somebody_elses_thread_gives_nothing_up(pool: Pool) -> None:
    blocked, go, last = threading.Barrier(3), threading.Event(), threading.Event()

    def job() -> None:
        blocked.wait(PATIENCE_S)
        go.wait(PATIENCE_S)

    pool.submit(job)
    pool.submit(job)
    blocked.wait(PATIENCE_S)
    pool.submit(last.set)
    with pool.waiting():
        assert pool._running == 2
    assert not last.is_set()
    go.set()
    assert done(last)


def test_a_closed_pool_drops_what_was_not_begun() -> None:
    pool = Pool("single", 1)
    begun, go, after = threading.Event(), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def job() -> None:
        threads.append(threading.current_thread())
        begun.set()
        go.wait(PATIENCE_S)

    pool.submit(job)
    assert done(begun)
    pool.submit(after.set)
    pool.close()
    go.set()
    threads[0].join(PATIENCE_S)
    assert not threads[0].is_alive()
    assert not after.is_set()


def test_jobs_see_what_holds_where_the_pool_was_made() -> None:
    seen: list[str] = []
    ran = threading.Event()
    with weights_from({"a": "/of/the/run"}):
        pool = Pool("test", 1)
    with weights_from({"a": "/of/another"}):
        pool.submit(lambda: (seen.append(weights_place("a")), ran.set())[0])
    assert done(ran)
    pool.close()
    assert seen == ["/of/the/run"]
