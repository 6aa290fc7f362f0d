"""Inputs, outputs and statistics of the scheduling of leases (``leases``): plain records, and a sum."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LeaseLimits:
    """The settings of the scheduling of leases.

    Attributes:
        deadline_s: A replica counts as lost after this many seconds with one lease.
        behind: How many leases wait at a replica behind the one that it computes, so that it is never idle.
        losses_in_a_row: A slot is given up once this many of its replicas are lost without an answer between them.
        deaths: An item is given up once this many replicas died while they computed it.
        untried: The largest number of items that a model which wants everything that is ready gets at first, until it
            is known how long one takes.
        share_of_deadline: Later it gets at most as many as take this share of the deadline.
        lease_s: A lease of a fast model holds several batches: about as many as take this long.
        batches: Most batches in one lease.
    """

    deadline_s: float = 1800.0
    behind: int = 1
    losses_in_a_row: int = 3
    deaths: int = 2
    untried: int = 16
    share_of_deadline: float = 0.1
    lease_s: float = 0.05
    batches: int = 64


@dataclass(slots=True, eq=False)
class WaitingItem(Generic[T]):
    """An item that waits for a replica: a group of requests that reach the model in one call of it.

    Attributes:
        item: The group.
        key: What may share a batch with it.
        length: Its estimated length.
        since: When it began to wait, in seconds of the clock.
        deaths: How many replicas died while they computed it, or hung while they computed it alone.
        delays: How many hung while they computed it beside others.
    """

    item: T
    key: Hashable
    length: int
    since: float
    deaths: int = 0
    delays: int = 0


@dataclass(slots=True, eq=False)
class Lease(Generic[T]):
    """Items that one replica is to compute.

    Attributes:
        number: Unique in the run.
        replica: Who has it.
        slot: The replica's slot.
        key: The key of all its items.
        batch_size: Most items in one call of the model; ``None``: all.
        waiting: Its items.
        is_suspect: Whether its only item was being computed when a replica died.
        sent: When it reached the replica; ``None``: it is still being prepared.
        begun: When the replica could begin with it; ``None``: not yet.
    """

    number: int
    replica: int
    slot: int
    key: Hashable
    batch_size: int | None
    waiting: Sequence[WaitingItem[T]]
    is_suspect: bool = False
    sent: float | None = None
    begun: float | None = None

    @property
    def items(self) -> list[T]:
        """The leases that it holds."""
        return [one.item for one in self.waiting]

    def __len__(self) -> int:
        return len(self.waiting)


@dataclass(slots=True, eq=False)
class SlotRecord:
    """The statistics of the replicas of one slot, one after the other.

    Attributes:
        slot: Its number.
        n_started: The number of replicas started in it.
        n_lost: The number of them that were lost.
        losses_in_a_row: The number of losses since the last answer.
        n_leases: Leases that were answered.
        n_items: Items that were answered.
        n_returned: Items that went back because a replica was lost.
        busy_s: Seconds in which a replica had something to compute.
        ready_s: Seconds in which one was ready, up to the last loss; ``Leases.records`` adds the time since.
        reason: The reason of the last loss.
        is_given_up: Whether no other one is started.
    """

    slot: int
    n_started: int = 0
    n_lost: int = 0
    losses_in_a_row: int = 0
    n_leases: int = 0
    n_items: int = 0
    n_returned: int = 0
    busy_s: float = 0.0
    ready_s: float = 0.0
    reason: str = ""
    is_given_up: bool = False


@dataclass(frozen=True, slots=True)
class Loss(Generic[T]):
    """The consequences of the loss of a replica.

    Attributes:
        slot: Its slot.
        given_up: Items that are not asked again: each was being computed at too many deaths.
        n_returned: How many items go to other replicas.
        may_restart: Whether another replica may be started in its slot.
    """

    slot: int
    given_up: Sequence[T]
    n_returned: int
    may_restart: bool


class SumOfTimes:
    """Seconds that add up over many spans, some of which go on, without a look at each of them."""

    __slots__ = ("_ended_s", "_n_open", "_sum_of_begins")

    def __init__(self) -> None:
        self._ended_s = 0.0
        self._n_open = 0
        self._sum_of_begins = 0.0

    def begin(self, now: float) -> None:
        """A span begins."""
        self._n_open += 1
        self._sum_of_begins += now

    def end(self, begun: float, now: float) -> float:
        """A span ends; gives its seconds."""
        self._n_open -= 1
        self._sum_of_begins -= begun
        self._ended_s += now - begun
        return now - begun

    def seconds(self, now: float) -> float:
        """All seconds until now."""
        return self._ended_s + self._n_open * now - self._sum_of_begins
