"""Leases: assignments of requests to the replicas of a model. Pure code over a clock: no threads, no processes.

Nothing is assigned in advance. A replica holds the lease that it computes and at most one behind it. A free replica
takes the next lease, so a slow one simply takes fewer. When a replica is lost, its work goes back: the waiting lease is
handed on unchanged, and the requests of the computed lease one by one, because one of them may have caused the loss. A
request that was being computed when two replicas died is given up.

A model may accept all ready requests in one call. These can be many, while a lease has one deadline. Such a model gets
few at first, and later as many as need a small part of the deadline. If a lease of several requests is overdue all the
same, none of them is blamed as for a death: the one that hangs is found when they are asked alone.

All costs are independent of the number of replicas and of waiting requests, except for a logarithm.

Every start of a replica has a new number, so that late messages of a dead replica do not count. Work never belongs to a
replica by its rank, so neither results nor waits depend on a single replica. ``scripts/simulate_scale.py`` runs this
module for thousands of simulated replicas.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from polymeter.run.dispatch.batch.batching import ReadyQueue
from polymeter.run.dispatch.replicas.lease_records import Lease, LeaseLimits, Loss, SlotRecord, SumOfTimes, WaitingItem

__all__ = ["Lease", "LeaseLimits", "Leases", "Loss", "Most", "SlotRecord", "WaitingItem"]

T = TypeVar("T")
Most = Callable[[int, Hashable, int], "int | None"]
"""Slot of a replica, key, length of the longest request → most items in one batch; ``None``: everything there is."""
State = Literal["joining", "ready", "lost"]
_LOADING = -1
"""In place of a lease's number: the replica loads its model."""
_PACE = 0.3
"""Weight of the newest lease in the average time that an item of a key takes."""


@dataclass(slots=True, eq=False)
class LeasedReplica(Generic[T]):
    """One copy of the model, between its start and its loss."""

    number: int
    slot: int
    state: State = "joining"
    leases: deque[Lease[T]] = field(default_factory=deque)
    ready_since: float = 0.0


class Leases(Generic[T]):
    """Hands out work to replicas.

    Args:
        most: The largest batch.
        limits: See there.
        clock: Gives seconds.
    """

    def __init__(self, most: Most, limits: LeaseLimits, clock: Callable[[], float]) -> None:
        self._most = most
        self._limits = limits
        self._clock = clock
        self._queue: ReadyQueue[WaitingItem[T]] = ReadyQueue(lambda key, longest: most(0, key, longest))
        self._suspects: deque[WaitingItem[T]] = deque()
        self._returned: deque[Lease[T]] = deque()
        self._replicas: dict[int, LeasedReplica[T]] = {}
        self._records: dict[int, SlotRecord] = {}
        self._idle: dict[int, None] = {}
        self._with_room: dict[int, None] = {}
        self._n_ready = self._n_joining = 0
        self._next_replica = self._next_lease = 0
        self._deadlines: list[tuple[float, int, int]] = []
        self._pace: dict[Hashable, float] = {}
        self._worth: dict[Hashable, int] = {}
        self._n_begun = self._n_held = 0
        self._last_change = 0.0
        self._waited_s = 0.0
        self._busy = SumOfTimes()
        self._there = SumOfTimes()
        self._counts = dict.fromkeys(("n_lost", "n_returned", "n_asked_alone", "n_given_up"), 0)

    @property
    def n_waiting(self) -> int:
        """The number of items that no replica has."""
        return len(self._queue) + len(self._suspects) + sum(len(lease) for lease in self._returned)

    @property
    def n_ready(self) -> int:
        """The number of replicas that can compute."""
        return self._n_ready

    @property
    def n_alive(self) -> int:
        """The number of replicas that can compute, or are being started."""
        return self._n_ready + self._n_joining

    @property
    def worth_sending(self) -> int:
        """The number of items in a lease that is worth sending, by their time until now; 0: not known yet."""
        return max(self._worth.values(), default=0)

    def join(self, slot: int) -> int:
        """A replica is being started in a slot; gives its number, which no other one ever has."""
        number = self._next_replica
        self._next_replica += 1
        self._replicas[number] = LeasedReplica(number, slot)
        self._records.setdefault(slot, SlotRecord(slot)).n_started += 1
        self._n_joining += 1
        return number

    def loading(self, number: int) -> None:
        """A replica has a place and begins to load its model, which may not take forever."""
        heapq.heappush(self._deadlines, (self._clock() + self._limits.deadline_s, number, _LOADING))

    def is_loading(self, number: int) -> bool:
        """Return whether a replica is there and has not loaded its model yet."""
        replica = self._replicas.get(number)
        return replica is not None and replica.state == "joining"

    def ready(self, number: int) -> bool:
        """A replica has loaded its model. ``False``: it was lost already."""
        replica = self._replicas.get(number)
        if replica is None or replica.state != "joining":
            return False
        replica.state = "ready"
        replica.ready_since = self._clock()
        self._last_change = replica.ready_since
        self._there.begin(replica.ready_since)
        self._n_joining -= 1
        self._n_ready += 1
        self._idle[number] = None
        return True

    def add(self, item: T, key: Hashable, length: int) -> None:
        """Queue an item.

        Args:
            item: The item.
            key: Only items of one key share a batch.
            length: Its estimated length; longer ones go first.
        """
        self._queue.add(WaitingItem(item, key, length, self._clock()), key, length)

    def give(self, *, is_partial_fine: bool) -> list[Lease[T]]:
        """The leases that can be given now. Each is to be sent, and reported with ``sent``.

        Args:
            is_partial_fine: Whether nothing else can come soon that would fill a batch.
        """
        given: list[Lease[T]] = []
        while self._idle or self._with_room:
            number = next(iter(self._idle or self._with_room))
            lease = self._lease_for(self._replicas[number], is_partial_fine=is_partial_fine)
            if lease is None:
                break
            given.append(lease)
        return given

    def sent(self, lease: Lease[T]) -> bool:
        """A lease has reached its replica. ``False``: the replica was lost meanwhile, and so it must not be sent."""
        replica = self._replicas.get(lease.replica)
        if replica is None or lease not in replica.leases:
            return False
        lease.sent = self._clock()
        replica.leases.remove(lease)  # one behind it may have been prepared sooner, and is computed first
        replica.leases.insert(sum(one.sent is not None for one in replica.leases), lease)
        if replica.leases[0] is lease:
            self._begin(lease)
        return True

    def answered(self, number: int, lease_number: int, worked_s: float | None = None) -> Lease[T] | None:
        """A replica has computed a lease; gives the lease, or ``None`` if it is not that replica's any more.

        Args:
            number: The replica.
            lease_number: The lease.
            worked_s: How long its model worked; ``None``: as long as the lease took. The way there and back does not
                count: leases of a fast model would be small because they were small before.
        """
        replica = self._replicas.get(number)
        lease = next((one for one in replica.leases if one.number == lease_number), None) if replica else None
        if replica is None or lease is None:
            return None
        replica.leases.remove(lease)
        self._n_held -= 1
        now = self._last_change = self._clock()
        took_s = 0.0 if lease.begun is None else self._busy.end(lease.begun, now)
        record = self._records[replica.slot]
        record.n_leases += 1
        record.n_items += len(lease)
        record.busy_s += took_s
        record.losses_in_a_row = 0
        pace = (took_s if worked_s is None else worked_s) / max(1, len(lease))
        before = self._pace.get(lease.key, pace)
        self._pace[lease.key] = before + _PACE * (pace - before)
        if replica.leases:
            head = replica.leases[0]
            if head.sent is not None and head.begun is None:
                self._begin(head)
            self._with_room[number] = None
        else:
            self._with_room.pop(number, None)
            self._idle[number] = None
        return lease

    def lost(self, number: int, reason: str) -> Loss[T] | None:
        """A replica is no more; ``None`` if that was known."""
        replica = self._replicas.pop(number, None)
        if replica is None:
            return None
        record = self._records[replica.slot]
        now = self._last_change = self._clock()
        if replica.state == "ready":
            self._n_ready -= 1
            record.ready_s += self._there.end(replica.ready_since, now)
        else:
            self._n_joining -= 1
        replica.state = "lost"
        self._n_held -= len(replica.leases)
        self._idle.pop(number, None)
        self._with_room.pop(number, None)
        record.n_lost += 1
        self._counts["n_lost"] += 1
        record.losses_in_a_row += 1
        record.reason = reason
        given_up = self._take_back(replica, record, now)
        record.is_given_up = record.losses_in_a_row >= self._limits.losses_in_a_row
        n_returned = sum(len(lease) for lease in replica.leases) - len(given_up)
        record.n_returned += n_returned
        self._counts["n_returned"] += n_returned
        return Loss(replica.slot, given_up, n_returned, not record.is_given_up)

    def overdue(self) -> list[int]:
        """The replicas that have loaded their model, or computed one lease, for longer than they may."""
        now, found = self._clock(), []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, number, lease = heapq.heappop(self._deadlines)
            if self._is_computing(number, lease):
                found.append(number)
        return found

    def next_deadline(self) -> float | None:
        """When, by the clock, somebody may be overdue; ``None``: nobody computes."""
        while self._deadlines and not self._is_computing(*self._deadlines[0][1:]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def records(self) -> list[SlotRecord]:
        """Return the statistics of each slot until now."""
        now = self._until()
        going_on = {one.slot: one for one in self._replicas.values() if one.state == "ready"}
        found = []
        for slot, record in sorted(self._records.items()):
            replica = going_on.get(slot)
            busy_s, ready_s = record.busy_s, record.ready_s
            if replica is not None:
                ready_s += now - replica.ready_since
                head = replica.leases[0] if replica.leases else None
                busy_s += now - head.begun if head is not None and head.begun is not None else 0.0
            found.append(replace(record, busy_s=busy_s, ready_s=ready_s))
        return found

    def totals(self) -> Mapping[str, Any]:
        """Return the totals of all slots, at a cost that does not depend on their number: the share of time in which a
        replica computed, the number of lost replicas, the outcomes of their items, and the wait of an item.
        """
        now = self._until()
        ready_s = self._there.seconds(now)
        return {
            "utilisation": self._busy.seconds(now) / ready_s if ready_s > 0 else 0.0,
            **self._counts,
            "mean_wait_s": self._waited_s / self._n_begun if self._n_begun else 0.0,
        }

    def _until(self) -> float:
        """Until when replicas are there to compute: now, or the last answer if there is nothing to do. The run reduces
        and writes its results meanwhile, so replicas lose no time.
        """
        is_done = self._n_held == 0 and self.n_waiting == 0
        return self._last_change if is_done and self._n_begun else self._clock()

    def _lease_for(self, replica: LeasedReplica[T], *, is_partial_fine: bool) -> Lease[T] | None:
        is_idle = replica.number in self._idle
        if self._suspects and is_idle:
            one = self._suspects.popleft()
            return self._hand(replica, one.key, 1, [one], is_suspect=True)
        if self._returned:
            before = self._returned.popleft()
            return self._hand(replica, before.key, before.batch_size, before.waiting)
        return self._from_queue(replica, is_idle=is_idle, is_partial_fine=is_partial_fine and is_idle)

    def _from_queue(self, replica: LeasedReplica[T], *, is_idle: bool, is_partial_fine: bool) -> Lease[T] | None:
        def enough(key: Hashable, longest: int) -> int:
            size = self._most(replica.slot, key, longest)
            return self._most_in_time(key) * self.n_alive if size is None else size

        key = self._queue.choose(is_partial_fine=is_partial_fine, most=enough)
        if key is None:
            return None
        n_queued, longest = self._queue.of(key)
        size = self._most(replica.slot, key, longest)
        if size is None:
            return self._part_of_everything(replica, key, n_queued, is_idle=is_idle)
        for_all = n_queued // max(1, size * self.n_alive)
        if not is_idle and not for_all:  # an idle one would wait for what this one holds
            return None
        if is_partial_fine and n_queued < size * len(
            self._idle
        ):  # the end is near: all that are idle get some of what is left
            return self._hand(replica, key, size, self._queue.pop(key, min(size, _share(n_queued, len(self._idle)))))
        worth = self._batches_of(key, size)
        self._worth[key] = size * worth
        n_batches = max(1, min(for_all, worth))
        return self._hand(replica, key, size, self._queue.pop(key, size * n_batches))

    def _part_of_everything(
        self, replica: LeasedReplica[T], key: Hashable, n_queued: int, *, is_idle: bool
    ) -> Lease[T] | None:
        """A lease for a model that wants everything: a fair share, so that something is left for who is busy, but near
        the end no scraps.
        """
        most = self._most_in_time(key)
        if not is_idle and n_queued < most * self.n_alive:  # an idle one would wait for what this one holds
            return None
        least = min(self._limits.untried, _share(n_queued, len(self._idle) + self._n_joining))
        n_items = min(most, max(least, _share(n_queued, self.n_alive)))
        return self._hand(replica, key, None, self._queue.pop(key, n_items))

    def _most_in_time(self, key: Hashable) -> int:
        """Return the number of items of a key that are sure to be computed before the deadline, by their time until
        now.
        """
        pace = self._pace.get(key)
        if pace is None:
            return self._limits.untried
        return max(1, int(self._limits.share_of_deadline * self._limits.deadline_s / max(pace, 1e-9)))

    def _batches_of(self, key: Hashable, size: int) -> int:
        """Return the number of batches in a lease that is worth sending."""
        pace = self._pace.get(key)
        if pace is None:
            return 1
        return max(1, min(self._limits.batches, int(self._limits.lease_s / max(pace * size, 1e-9))))

    def _hand(
        self,
        replica: LeasedReplica[T],
        key: Hashable,
        batch_size: int | None,
        waiting: Sequence[WaitingItem[T]],
        *,
        is_suspect: bool = False,
    ) -> Lease[T]:
        lease = Lease(self._next_lease, replica.number, replica.slot, key, batch_size, waiting, is_suspect)
        self._next_lease += 1
        replica.leases.append(lease)
        self._n_held += 1
        self._idle.pop(replica.number, None)
        self._with_room.pop(replica.number, None)
        if len(replica.leases) <= self._limits.behind and not is_suspect:
            self._with_room[replica.number] = None
        return lease

    def _begin(self, lease: Lease[T]) -> None:
        lease.begun = now = self._clock()
        self._busy.begin(now)
        self._n_begun += len(lease)
        self._waited_s += sum(now - one.since for one in lease.waiting)
        heapq.heappush(self._deadlines, (now + self._limits.deadline_s, lease.replica, lease.number))

    def _is_computing(self, number: int, lease: int) -> bool:
        if lease == _LOADING:
            return self.is_loading(number)
        replica = self._replicas.get(number)
        return replica is not None and bool(replica.leases) and replica.leases[0].number == lease

    def _take_back(self, replica: LeasedReplica[T], record: SlotRecord, now: float) -> list[T]:
        """Queue again what a lost replica held; gives what is not asked again."""
        given_up: list[T] = []
        untouched = []
        for lease in replica.leases:
            if lease.begun is None:
                untouched.append(lease)
                continue
            took_s = self._busy.end(lease.begun, now)
            record.busy_s += took_s
            is_overdue = took_s >= self._limits.deadline_s
            if is_overdue and len(lease) > 1:  # perhaps nothing hangs, and they take longer than was known
                self._pace[lease.key] = max(self._pace.get(lease.key, 0.0), took_s / len(lease))
            for one in lease.waiting:
                if self._is_given_up(one, is_overdue=is_overdue, is_alone=len(lease) == 1):
                    given_up.append(one.item)
                    self._counts["n_given_up"] += 1
                else:
                    self._counts["n_asked_alone"] += 1
                    self._suspects.append(one)
        for lease in reversed(untouched):
            if lease.is_suspect:
                self._suspects.appendleft(lease.waiting[0])
            elif lease.batch_size is None:  # what is known by now says how many of them go together
                for one in lease.waiting:
                    self._queue.add(one, one.key, one.length)
            else:
                self._returned.appendleft(lease)
        return given_up

    def _is_given_up(self, one: WaitingItem[T], *, is_overdue: bool, is_alone: bool) -> bool:
        """Note that a replica was lost that computed an item; gives whether that was once too often."""
        if not is_overdue:
            one.deaths += 1
            return one.deaths >= self._limits.deaths
        if not is_alone:
            one.delays += 1
            return False
        one.deaths += 1
        return one.deaths + one.delays >= self._limits.deaths


def _share(n_items: int, n_takers: int) -> int:
    return -(-n_items // max(1, n_takers))
