"""Leases over a clock that the test turns: who gets what, and what becomes of it when replicas are lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.run.dispatch.replicas.leases import Lease, LeaseLimits, Leases


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def leases_of(
    size: int | None = 2, n_ready: int = 2, limits: LeaseLimits | None = None
) -> tuple[Leases[int], Clock, list[int]]:
    """Leases of batches of a size, with so many replicas that are ready."""
    clock = Clock()

    def most(slot: int, key: Hashable, longest: int) -> int | None:
        return size

    leases: Leases[int] = Leases(most, limits or LeaseLimits(lease_s=0.0), clock)
    numbers = [leases.join(slot) for slot in range(n_ready)]
    for number in numbers:
        assert leases.ready(number)
    return leases, clock, numbers


def add(leases: Leases[int], n: int, key: str = "k") -> None:
    """Queue items that are numbered."""
    for item in range(n):
        leases.add(item, key, 1)


def send_all(leases: Leases[int], given: list[Lease[int]]) -> list[Lease[int]]:
    """Report leases as sent."""
    assert all(leases.sent(lease) for lease in given)
    return given


def test_each_replica_gets_a_batch_and_one_behind_it_while_there_is_enough_for_all() -> None:
    leases, _, _ = leases_of()
    add(leases, 20)
    held = Counter(lease.replica for lease in leases.give(is_partial_fine=False))
    assert held == {0: 2, 1: 2}
    assert leases.n_waiting == 12


def test_nothing_waits_behind_a_replica_when_the_other_could_take_it() -> None:
    leases, _, _ = leases_of()
    add(leases, 6)
    given = send_all(leases, leases.give(is_partial_fine=True))
    assert [(lease.replica, lease.items) for lease in given] == [(0, [0, 1]), (1, [2, 3])]
    assert leases.answered(1, given[1].number) is given[1]
    assert [(lease.replica, lease.items) for lease in leases.give(is_partial_fine=True)] == [(1, [4, 5])]


def test_a_batch_waits_to_be_filled_until_nothing_else_can_come() -> None:
    leases, _, _ = leases_of(size=4)
    add(leases, 3)
    assert leases.give(is_partial_fine=False) == []
    assert sorted(len(lease) for lease in leases.give(is_partial_fine=True)) == [1, 2]


def answer_all(leases: Leases[int], clock: Clock, given: list[Lease[int]], item_s: float) -> None:
    """Let replicas compute leases beside each other, each item in so many seconds."""
    begun = clock.now
    for lease in sorted(given, key=len):
        clock.now = begun + item_s * len(lease)
        assert leases.answered(lease.replica, lease.number) is lease


def test_a_model_that_takes_everything_gets_a_share() -> None:
    leases, clock, _ = leases_of(size=None, n_ready=3)
    add(leases, 3)
    answer_all(leases, clock, send_all(leases, leases.give(is_partial_fine=True)), 0.01)
    leases.join(3)  # it will be ready soon, and gets its share then
    add(leases, 100)
    assert leases.give(is_partial_fine=False) == [], "more is to come"
    assert [len(lease) for lease in leases.give(is_partial_fine=True)] == [25, 19, 16]
    assert leases.n_waiting == 40


def test_a_model_that_takes_everything_gets_few_until_it_is_known_how_long_they_take() -> None:
    leases, clock, _ = leases_of(size=None, limits=LeaseLimits(deadline_s=1800))
    add(leases, 2048)
    first = send_all(leases, leases.give(is_partial_fine=True))
    assert [len(lease) for lease in first] == [16, 16, 16, 16], "one each, and one behind it"
    answer_all(leases, clock, first[:2], 2.0)
    sizes = {len(lease) for lease in leases.give(is_partial_fine=True)}
    assert sizes == {90}, "of two seconds each as many as take three of the thirty minutes"


def test_leases_of_a_model_that_takes_everything_are_never_overdue_while_it_works() -> None:
    leases, clock, _ = leases_of(size=None, limits=LeaseLimits(deadline_s=4))
    add(leases, 120)
    held: dict[int, list[Lease[int]]] = {0: [], 1: []}
    ends: dict[int, float] = {}
    n_answered = 0
    while n_answered < 120:
        for lease in send_all(leases, leases.give(is_partial_fine=True)):
            held[lease.replica].append(lease)
        for number, has in held.items():
            if has and number not in ends:
                ends[number] = clock.now + 0.1 * len(has[0])
        number = min(ends, key=lambda one: ends[one])
        clock.now = ends.pop(number)
        assert leases.overdue() == []
        n_answered += len(held[number][0])
        leases.answered(number, held[number].pop(0).number)
    assert leases.totals()["n_lost"] == 0
    assert clock.now < 7, "both have worked all the time"


def test_who_is_busy_finds_something_left_when_it_is_free() -> None:
    leases, clock, _ = leases_of(size=None)
    add(leases, 32)
    first, second = send_all(leases, leases.give(is_partial_fine=True))
    clock.now = 0.1
    leases.answered(0, first.number)
    add(leases, 1000)
    (large,) = send_all(leases, leases.give(is_partial_fine=True))
    assert (large.replica, len(large)) == (0, 500)
    leases.answered(1, second.number)
    assert [(lease.replica, len(lease)) for lease in leases.give(is_partial_fine=True)] == [(1, 250)]


def test_an_overdue_lease_of_several_is_no_death_of_each() -> None:
    leases, clock, _ = leases_of(size=4, n_ready=1, limits=LeaseLimits(deadline_s=10))
    add(leases, 4)
    send_all(leases, leases.give(is_partial_fine=True))
    number, alone = 0, []
    for death in range(2):  # once all of them take too long; then the first one kills, and no more
        clock.now += 10 if death == 0 else 1
        loss = leases.lost(number, "gone")
        assert loss is not None
        assert loss.given_up == []
        number = leases.join(0)
        leases.ready(number)
        alone = send_all(leases, leases.give(is_partial_fine=True))
    while alone:
        assert [len(lease) for lease in alone] == [1]
        leases.answered(number, alone[0].number)
        alone = send_all(leases, leases.give(is_partial_fine=True))
    assert leases.totals()["n_given_up"] == 0
    assert leases.records()[0].n_items == 4


@pytest.mark.parametrize("size", [1, 4, None])
def test_a_request_that_hangs_twice_is_given_up_and_no_other(size: int | None) -> None:
    leases, clock, _ = leases_of(size, n_ready=1, limits=LeaseLimits(deadline_s=10, lease_s=0.0))
    add(leases, 8)
    given_up, answered, held, number, n_lost = [], [], [], 0, 0
    while held := [*held, *send_all(leases, leases.give(is_partial_fine=True))]:
        lease = held.pop(0)
        if 5 not in lease.items:
            answered += lease.items
            leases.answered(number, lease.number)
            continue
        clock.now += 10
        assert leases.overdue() == [number]
        loss = leases.lost(number, "no answer")
        assert loss is not None
        given_up += loss.given_up
        held, number, n_lost = [], leases.join(0), n_lost + 1
        leases.ready(number)
    assert (given_up, n_lost) == ([5], 2)
    assert sorted(answered) == [0, 1, 2, 3, 4, 6, 7]


def test_a_model_that_is_slower_than_anybody_knew_gets_less_after_an_overdue_lease() -> None:
    leases, clock, _ = leases_of(size=None, n_ready=1, limits=LeaseLimits(deadline_s=10))
    add(leases, 64)
    first, behind = send_all(leases, leases.give(is_partial_fine=True))
    assert (len(first), len(behind)) == (16, 16)
    clock.now = 10
    assert leases.lost(0, "no answer") is not None
    assert leases.n_waiting == 64
    number = leases.join(0)
    leases.ready(number)
    sizes = []
    for _ in range(20):
        (lease, *_) = send_all(leases, leases.give(is_partial_fine=True))
        sizes.append(len(lease))
        clock.now += 2.0 * len(lease)
        assert leases.overdue() == []
        leases.answered(number, lease.number)
    assert set(sizes) == {1}, "what waited behind goes one by one, too: each takes two of the ten seconds"


def test_what_was_computed_at_a_death_is_asked_alone_and_what_waited_goes_on_untouched() -> None:
    leases, _, _ = leases_of(n_ready=1)
    add(leases, 4)
    first, behind = send_all(leases, leases.give(is_partial_fine=False))
    loss = leases.lost(0, "killed")
    assert loss is not None
    assert (loss.given_up, loss.n_returned, loss.may_restart) == ([], 4, True)
    assert leases.lost(0, "killed") is None, "a replica is lost once"
    assert leases.answered(0, first.number) is None, "what a lost replica says comes too late"
    number = leases.join(0)
    leases.ready(number)
    seen = []
    while given := send_all(leases, leases.give(is_partial_fine=True)):
        seen += [(lease.items, lease.is_suspect) for lease in given]
        for lease in given:
            leases.answered(number, lease.number)
    assert seen == [([0], True), ([1], True), (behind.items, False)]


def test_the_item_that_kills_twice_is_given_up_and_no_other() -> None:
    leases, _, _ = leases_of(size=4, n_ready=1)
    add(leases, 8)
    given_up, answered, held, number = [], [], [], 0
    while held := [*held, *send_all(leases, leases.give(is_partial_fine=True))]:
        lease = held.pop(0)
        if 5 not in lease.items:
            answered += lease.items
            leases.answered(number, lease.number)
            continue
        loss = leases.lost(number, "crashed")
        assert loss is not None
        assert loss.may_restart
        given_up += loss.given_up
        held, number = [], leases.join(0)
        leases.ready(number)
    assert given_up == [5]
    assert sorted(answered) == [0, 1, 2, 3, 4, 6, 7]


def test_a_lease_that_was_not_sent_yet_is_to_blame_for_nothing() -> None:
    leases, _, _ = leases_of(n_ready=1)
    add(leases, 2)
    (lease,) = leases.give(is_partial_fine=False)
    leases.lost(0, "node gone")
    assert not leases.sent(lease), "it must not be sent to a replica that is gone"
    number = leases.join(0)
    leases.ready(number)
    (again,) = leases.give(is_partial_fine=False)
    assert (again.items, again.is_suspect) == ([0, 1], False)


def test_a_slot_is_given_up_after_losses_without_an_answer_between() -> None:
    leases, _, _ = leases_of(n_ready=0)
    for count in range(3):
        number = leases.join(0)
        loss = leases.lost(number, "no driver")
        assert loss is not None
        assert loss.may_restart == (count < 2)
    assert leases.n_alive == 0
    (record,) = leases.records()
    assert (record.n_started, record.n_lost, record.is_given_up, record.reason) == (3, 3, True, "no driver")


def test_an_answer_begins_the_count_of_losses_anew() -> None:
    leases, _, numbers = leases_of(n_ready=1)
    add(leases, 2)
    for _ in range(2):
        leases.lost(numbers[-1], "gone")
        numbers.append(leases.join(0))
        leases.ready(numbers[-1])
    (lease,) = send_all(leases, leases.give(is_partial_fine=True))
    leases.answered(numbers[-1], lease.number)
    loss = leases.lost(numbers[-1], "gone")
    assert loss is not None
    assert loss.may_restart


def test_a_replica_is_overdue_from_when_it_could_begin() -> None:
    leases, clock, _ = leases_of(n_ready=1, limits=LeaseLimits(deadline_s=10, lease_s=0.0))
    add(leases, 4)
    first, behind = send_all(leases, leases.give(is_partial_fine=False))
    assert leases.next_deadline() == 10
    clock.now = 9
    assert leases.overdue() == []
    leases.answered(0, first.number)
    clock.now = 18
    assert leases.overdue() == [], "the lease behind began when the first was answered"
    clock.now = 19
    assert leases.overdue() == [0]
    leases.answered(0, behind.number)
    assert leases.next_deadline() is None


def test_a_late_replica_takes_part_at_once() -> None:
    leases, _, _ = leases_of(n_ready=1)
    add(leases, 8)
    late = leases.join(1)
    leases.give(is_partial_fine=False)
    leases.ready(late)
    assert late in {lease.replica for lease in leases.give(is_partial_fine=False)}


def test_leases_of_a_fast_model_hold_several_batches() -> None:
    leases, clock, _ = leases_of(n_ready=1, limits=LeaseLimits(lease_s=0.05))
    add(leases, 1000)
    (first, second) = send_all(leases, leases.give(is_partial_fine=False))
    assert (len(first), len(second)) == (2, 2)
    clock.now = 0.002  # a millisecond for each item: 25 batches of two take as long as a lease should
    leases.answered(0, first.number)
    (lease,) = leases.give(is_partial_fine=False)
    assert (len(lease), lease.batch_size) == (50, 2)


def test_what_the_run_does_after_the_last_answer_is_no_time_that_replicas_lose() -> None:
    leases, clock, _ = leases_of(n_ready=1)
    add(leases, 2)
    (lease,) = send_all(leases, leases.give(is_partial_fine=True))
    clock.now = 4.0
    leases.answered(0, lease.number)
    clock.now = 10.0
    assert [(one.busy_s, one.ready_s) for one in leases.records()] == [(4.0, 4.0)]
    assert leases.totals()["utilisation"] == 1.0
    add(leases, 2)
    send_all(leases, leases.give(is_partial_fine=True))
    clock.now = 12.0
    assert [(one.busy_s, one.ready_s) for one in leases.records()] == [(6.0, 12.0)]


def test_the_model_s_own_time_says_how_large_leases_are() -> None:
    leases, clock, _ = leases_of(n_ready=1, limits=LeaseLimits(lease_s=0.05))
    add(leases, 1000)
    (first, _) = send_all(leases, leases.give(is_partial_fine=False))
    clock.now = 0.2  # most of it on the way there and back
    leases.answered(0, first.number, worked_s=0.002)
    (lease,) = leases.give(is_partial_fine=False)
    assert len(lease) == leases.worth_sending == 50


def test_time_at_work_and_time_of_waiting_are_counted() -> None:
    leases, clock, _ = leases_of(n_ready=2)
    add(leases, 2)
    clock.now = 1
    (lease,) = send_all(leases, leases.give(is_partial_fine=False))
    clock.now = 4
    leases.answered(lease.replica, lease.number)
    busy, idle = leases.records()
    assert (busy.busy_s, busy.ready_s, busy.n_items) == (3, 4, 2)
    assert (idle.busy_s, idle.ready_s) == (0, 4)
    assert leases.totals() == {
        "utilisation": 3 / 8,
        "n_lost": 0,
        "n_returned": 0,
        "n_asked_alone": 0,
        "n_given_up": 0,
        "mean_wait_s": 1.0,
    }


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 60), st.sampled_from([1, 3, 8, None]))
def test_nothing_is_lost_and_nothing_is_answered_twice(seed: int, n: int, n_items: int, size: int | None) -> None:
    """Replicas die at random, before, while and after they compute; items come at any time, some of them deadly."""
    chance = random.Random(seed)
    leases, clock, numbers = leases_of(size, n, LeaseLimits(lease_s=0.02, losses_in_a_row=10**9))
    deadly = {item for item in range(n_items) if chance.random() < 0.1}
    to_come, answered, given_up = list(range(n_items)), Counter[int](), Counter[int]()
    held: dict[int, list[Lease[int]]] = {number: [] for number in numbers}

    def lose(number: int) -> None:
        loss = leases.lost(number, "died")
        assert loss is not None
        given_up.update(loss.given_up)
        del held[number]
        fresh = leases.join(loss.slot)
        held[fresh] = []
        leases.ready(fresh)

    for _ in range(10_000):
        clock.now += chance.random() * 0.01
        if to_come and chance.random() < 0.5:
            leases.add(item := to_come.pop(), item % 2, item)
        for lease in leases.give(is_partial_fine=not to_come):
            if lease.replica in held and chance.random() < 0.02:
                lose(lease.replica)
            elif leases.sent(lease):
                held[lease.replica].append(lease)
        for number in [number for number, has in held.items() if has]:
            lease = held[number][0]
            if deadly & set(lease.items) or chance.random() < 0.02:
                lose(number)
            elif leases.answered(number, lease.number) is lease:
                held[number].pop(0)
                answered.update(lease.items)
            break
        if not to_come and not leases.n_waiting and not any(held.values()):
            break
    totals, records = leases.totals(), leases.records()
    busy_s, ready_s = sum(one.busy_s for one in records), sum(one.ready_s for one in records)
    assert totals["utilisation"] == pytest.approx(busy_s / ready_s if ready_s else 0.0)
    assert (totals["n_lost"], totals["n_returned"]) == (
        sum(one.n_lost for one in records),
        sum(one.n_returned for one in records),
    )
    assert sum(answered.values()) + sum(given_up.values()) == n_items
    assert (answered | given_up).keys() == set(range(n_items))
    assert deadly <= given_up.keys()
