"""Hosts: what a place must do that holds the replicas of a model, and what passes between it and the run.

A host starts replicas, carries work to them and reports what becomes of them. It decides nothing: which replica gets
what, and what follows from a loss, is decided by ``leases`` and ``replica_dispatcher``. It does not know what it
carries either: a place that holds scorers (``scorer``) is one too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from polymeter.core.records.shown_media import ShownMedium


@dataclass(frozen=True, slots=True)
class Work:
    """Work for a replica: a lease as plain data.

    Attributes:
        lease: Its number.
        groups: Requests that reach the model in one call of it: one, or repeats of one prompt. For a scorer, finished
            samples.
        batch_size: Most groups in one call; ``None``: all of them.
        at_once: How many of them a model computes at a time that gets several batches in one call.
    """

    lease: int
    groups: Sequence[Sequence[Any]]
    batch_size: int | None = None
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class Computed:
    """The outcome of work.

    Attributes:
        lease: The number of the lease.
        responses: One for each request of all groups, in order; ``None``: it is to be asked again in a smaller batch.
            From a scorer, how each sample ended, or a failed response for one that it cannot score.
        timings: For each call of the model, how many groups were computed at a time, and the seconds that it took.
        did_not_fit: How many groups were computed at a time when memory ran out; ``None``: it did not.
        shown: For each request, what the model was shown of each of its media, as far as that is known; empty if no
            request has media.
    """

    lease: int
    responses: Sequence[Any]
    timings: Sequence[tuple[int, float]] = ()
    did_not_fit: int | None = None
    shown: Sequence[Sequence[ShownMedium | None]] = ()


def _heard_by_nobody(what: object) -> None:
    return None


def _nothing_to_close() -> None:
    return None


@dataclass(frozen=True, slots=True)
class HostListener:
    """Receiver of events about replicas; called on the host's threads, also inside ``start`` and ``send``.

    Attributes:
        ready: A replica has loaded its model.
        computed: A replica has computed work.
        lost: A replica is no more, and why, as text to show: its process ended, its node died. Never called for one
            that was killed by ``kill``.
        failed: A replica cannot load the model, and no other one could: what its author's code or the plan is wrong
            about.
        loading: A replica has found its place and begins to load the model.
        gone: The place of the replicas is no more, and why: none can be started any more, and the run is to end.
    """

    ready: Callable[[int], None]
    computed: Callable[[int, Computed], None]
    lost: Callable[[int, str], None]
    failed: Callable[[int, BaseException], None]
    loading: Callable[[int], None] = _heard_by_nobody
    gone: Callable[[str], None] = _heard_by_nobody


class Computer(Protocol):
    """A program that a host runs in another process: a replica, or a scorer."""

    def load(self) -> None:
        """Get ready to compute.

        Raises:
            PolymeterError: if it never can.
        """
        ...

    def prepare(self, work: Work) -> Any:
        """Begin to get some work ready, while other work is computed; what it gives is passed to ``compute``."""
        ...

    def compute(self, work: Work, preparation: Any = None) -> Computed:
        """Compute work. Never called concurrently."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class ComputerSetup(Protocol):
    """Everything that a computer is made from, as plain data that crosses to another process."""

    def made(self) -> Computer:
        """Make it, where it is to compute.

        Raises:
            PlanError: if it cannot be made here.
        """
        ...

    def places(self) -> Sequence[Any]:
        """The arguments that may hold paths: texts, and collections of them."""
        ...


class ReplicaHost(Protocol):
    """A place for replicas. Its methods are called on several threads, one at a time for one replica, and none of them
    waits for a replica.
    """

    def start(self, number: int, slot: int) -> None:
        """Start a replica, which has to load the model.

        Args:
            number: Its number; never used twice.
            slot: Its slot, from 0, which decides its GPUs. An earlier replica of the slot has ended.
        """
        ...

    def send(self, number: int, work: Work) -> None:
        """Send work to a replica, behind the work that it has. Does nothing if the replica has ended."""
        ...

    def kill(self, number: int) -> None:
        """End a replica at once, whatever it does."""
        ...

    def last_words(self, number: int) -> str:
        """Return the last output of a replica, as a sentence to show; empty if it printed nothing, or the output is
        kept where the replica runs.
        """
        ...

    def close(self) -> None:
        """Let all replicas free their models, and end those that take too long over it."""
        ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """The replicas of one model that a place is asked for.

    Attributes:
        setup: What each of them is made from.
        n: How many; ``auto``: as many as there is room for beside those of the other models.
    """

    setup: ComputerSetup
    n: int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Room:
    """The place of the replicas of one model.

    Attributes:
        n_replicas: The number of replicas.
        make_host: Makes the host. The caller closes it.
    """

    n_replicas: int
    make_host: Callable[[HostListener], ReplicaHost]


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a run's computations outside its own process.

    Attributes:
        rooms: For each role whose model has replicas, their place.
        note: A note on the choice for the user; may be empty.
        make_scorers: Makes a host of scorers from their setup and the largest number wanted, and returns how many fit;
            ``None``: samples are scored by the run alone.
        close: Lets go of the place, when its hosts are closed.
    """

    rooms: Mapping[str, Room]
    note: str = ""
    make_scorers: Callable[[ComputerSetup, int, HostListener], tuple[ReplicaHost, int]] | None = None
    close: Callable[[], None] = _nothing_to_close
