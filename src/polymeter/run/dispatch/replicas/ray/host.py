"""Starts replicas as Ray actors, carries work to them, and reports what becomes of them.

Ray reports on threads of its own, which must not be held up: everything is handled on one thread of this host. An
actor that finds no room waits until a node joins, so a replica is started once and becomes ready when it can.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polymeter.core.errors import Raised, attempt
from polymeter.core.options import RunOptions
from polymeter.core.text.secrets import scrubbed
from polymeter.run.dispatch.dispatchers import CLOSE_S
from polymeter.run.dispatch.replicas.hosts import (
    Computed,
    ComputerSetup,
    HostListener,
    Place,
    ReplicaHost,
    Room,
    Wanted,
    Work,
)
from polymeter.run.dispatch.replicas.ray.actor import CALLS_AT_ONCE, RayReplica, code_mark, sent
from polymeter.run.dispatch.replicas.ray.cluster import ONE_CORE, Cluster, free_cores, head, join
from polymeter.run.dispatch.replicas.ray.head_watch import HeadWatch
from polymeter.run.dispatch.replicas.ray.object_store import Pieces
from polymeter.run.dispatch.replicas.ray.room import has_room_but_for, make_room_when_needed
from polymeter.run.dispatch.replicas.ray.visibility import FileMark, Visibility
from polymeter.run.dispatch.replicas.ray.working_folder import WorkingFolder, here
from polymeter.run.dispatch.replicas.replica import unsent
from polymeter.run.dispatch.replicas.wire import packed, unpacked

if TYPE_CHECKING:
    from concurrent.futures import Future

_LOG = logging.getLogger("polymeter")
_ENDING_S = 5.0
"""The time that computing replicas may take to end when the run is over."""
_CAREFUL_S = 600.0
"""For so long after a loss, an answer has time to leave its actor before the next work is begun. A request that kills
at once takes the answers before it along; so it is found out when it is asked for the second time, at the latest.
"""
_SHOWN_LINES = 3


def place(wanted: Mapping[str, Wanted], options: RunOptions, *, n_here: int = 0) -> Place:
    """Join the Ray cluster that the options name, or start one.

    Args:
        wanted: By role, the replicas that are wanted; none where only scoring may be spread.
        options: The run's.
        n_here: How many models stay in this process; a cluster has room of its own for the others.

    Raises:
        PlanError: if Ray is missing, there is no such cluster, or it has no room for a replica.
    """
    cluster = join(options, [one.n for one in wanted.values()])
    joined = Joined(here(), HeadWatch(head()))  # now: what the run calls may enter another folder
    hosts: list[RayHost] = []

    def make_host(setup: ComputerSetup, listener: HostListener) -> ReplicaHost:
        joined.watch.begin(listener.gone)
        hosts.append(RayHost(setup, cluster, joined, listener))
        return hosts[-1]

    def make_scorers(setup: ComputerSetup, most: int, listener: HostListener) -> tuple[ReplicaHost, int]:
        joined.watch.begin(listener.gone)
        scorers = RayHost(setup, ONE_CORE, joined, listener)
        make_room_when_needed(hosts, scorers, partial(has_room_but_for, cluster))
        return scorers, min(most, free_cores())

    def leave() -> None:
        joined.watch.close()
        cluster.leave(is_gone=joined.watch.is_gone)

    rooms = {
        role: Room(n_replicas, partial(make_host, one.setup))
        for (role, one), n_replicas in zip(wanted.items(), cluster.numbers, strict=True)
    }
    return Place(rooms, cluster.note, make_scorers, leave)


@dataclass(frozen=True, slots=True)
class Joined:
    """Settings that the hosts of one run share.

    Attributes:
        folder: The folder in which the run works.
        watch: Watches the head of the cluster.
    """

    folder: str
    watch: HeadWatch


@dataclass(slots=True, eq=False)
class _Actor:
    """An actor, from this side.

    Attributes:
        handle: Ray's.
        since: When it was started.
        has_begun: Whether it has found a node.
        n_computing: How many leases it has.
        sees: Which files it reads itself; ``None``: it is not ready.
    """

    handle: Any
    since: float
    has_begun: bool = False
    n_computing: int = 0
    sees: Visibility | None = None


@dataclass(frozen=True, slots=True)
class _Happening:
    """Work of the host's thread about an actor."""

    number: int
    handle: Callable[[], None]


class RayHost:
    """Holds replicas as actors.

    Args:
        setup: What a replica is made from.
        cluster: What of the cluster each gets.
        joined: What is known of the run and of the cluster.
        listener: Who hears of them.

    Attributes:
        closed: Set when no actor is started any more.
    """

    def __init__(self, setup: ComputerSetup, cluster: Cluster, joined: Joined, listener: HostListener) -> None:
        import ray

        self._cluster = cluster
        self._joined = joined
        self._listener = listener
        self._actor_of = ray.remote(
            num_cpus=cluster.cpus_per_replica,
            num_gpus=cluster.gpus_per_replica,
            max_restarts=0,  # what follows from a loss is decided by leases
            max_task_retries=0,
            max_concurrency=CALLS_AT_ONCE,
            scheduling_strategy="SPREAD",
        )(RayReplica)
        self._folder = sent(WorkingFolder.of(setup, joined.folder))
        self._setup = ray.put(sent(setup))
        self._code = code_mark()
        self._pieces = Pieces(ray.put)
        self._lock = threading.Lock()
        self._careful_until = 0.0
        self._actors: dict[int, _Actor] = {}
        self._happenings: queue.SimpleQueue[_Happening | None] = queue.SimpleQueue()
        self._is_heard = False
        self.closed = threading.Event()

    @property
    def n_actors(self) -> int:
        """The number of actors, including those that wait for a node."""
        return len(self._actors)

    def waiting_since(self, after: float) -> float | None:
        """Since when an actor waits for a node that was started after some time; ``None``: no such actor waits."""
        with self._lock:
            return min(
                (one.since for one in self._actors.values() if not one.has_begun and one.since > after), default=None
            )

    def start(self, number: int, slot: int) -> None:
        """Start an actor; where it goes is up to Ray. When this host is closed, none is started any more: a loss may
        be handled at the same time, and nobody would end what it starts.
        """
        with self._lock:
            if self.closed.is_set():
                return
            handle = self._actor_of.remote(self._cluster.cpus_per_replica)
            self._actors[number] = _Actor(handle, time.monotonic())
            is_first, self._is_heard = not self._is_heard, True
            begun = handle.begin.remote()
            loaded = handle.load.remote(self._code, self._folder, self._setup)
            ended = handle.live.remote()
        if is_first:
            threading.Thread(target=self._hear_all, name="polymeter-ray", daemon=True).start()
        self._hear(number, begun, lambda _: self._begun(number))
        self._hear(number, loaded, lambda result: self._loaded(number, *result))
        self._hear(number, ended)

    def send(self, number: int, work: Work) -> None:
        """Send work. Large media goes through the object store, once; files that the replica sees are not sent."""
        with self._lock:
            actor = self._actors.get(number)
            if actor is None or actor.sees is None:
                return
            actor.n_computing += 1
        sees = actor.sees
        n_requests = sum(len(group) for group in work.groups)
        prepared = attempt(lambda: packed(work, sees))
        if isinstance(prepared, Raised):
            self._happenings.put(_Happening(number, lambda: self._answered(number, Computed(work.lease, unsent(work)))))
            return
        body, beside = prepared
        with self._lock:
            pieces = self._pieces.stand_ins(beside)
        is_careful = time.monotonic() < self._careful_until
        call = actor.handle.compute.remote(work.lease, n_requests, is_careful, body, *pieces)
        self._hear(number, call, lambda answer: self._answered(number, unpacked(*answer)))

    def kill(self, number: int) -> None:
        """End an actor; one that waits for a node is not started any more."""
        with self._lock:
            actor = self._actors.pop(number, None)
        if actor is not None:
            self._end(actor)

    def last_words(self, number: int) -> str:
        """Nothing: what an actor prints is in Ray's logs."""
        return ""

    def close(self) -> None:
        """Let actors free their models, and end them. Those of a cluster without a head end with their nodes, and some
        may not be reached: nobody waits for them.
        """
        import ray

        with self._lock:
            self.closed.set()
            actors = [*self._actors.values()]
            self._actors.clear()
        self._happenings.put(None)
        is_gone = self._joined.watch.is_gone
        closing = {actor.handle.close.remote(): actor for actor in actors if actor.sees is not None and not is_gone}
        began = time.monotonic()
        for limit_s, is_computing in ((_ENDING_S, True), (CLOSE_S, False)):
            waiting = [ref for ref, actor in closing.items() if (actor.n_computing > 0) == is_computing]
            if waiting:
                ray.wait(waiting, num_returns=len(waiting), timeout=max(0.0, began + limit_s - time.monotonic()))
        for actor in actors:
            self._end(actor)

    def end_all(self, reason: str) -> None:
        """End all actors at once, and start none any more.

        Args:
            reason: The reason. The receiver of events returns their work.
        """
        with self._lock:
            self.closed.set()
            actors = [*self._actors.values()]
            self._actors.clear()
        for actor in actors:
            self._end(actor)
        self._listener.gone(reason)

    def _end(self, actor: _Actor) -> None:
        import ray

        ended = attempt(lambda: ray.kill(actor.handle, no_restart=True))
        if isinstance(ended, Raised):
            _LOG.debug("A replica could not be ended: %r", ended.error)

    def _hear(self, number: int, reference: Any, returned: Callable[[Any], None] | None = None) -> None:
        """Hear what becomes of a call, without waiting for it. A call that fails has lost its actor.

        Args:
            number: The actor.
            reference: The call.
            returned: Is passed what it returns; ``None``: it is called for its failure alone.
        """

        def handle(future: Future[Any]) -> None:
            result = attempt(future.result)
            if isinstance(result, Raised):
                self._lose(number, result.error)
            elif returned is not None:
                returned(result)

        def happened(future: Future[Any]) -> None:
            self._happenings.put(_Happening(number, partial(handle, future)))

        reference.future().add_done_callback(happened)

    def _hear_all(self) -> None:
        while (happening := self._happenings.get()) is not None:
            handled = attempt(happening.handle)
            if isinstance(handled, Raised):  # a thread that ends would leave the run waiting
                self._listener.failed(happening.number, handled.error)

    def _begun(self, number: int) -> None:
        with self._lock:
            actor = self._actors.get(number)
            if actor is not None:
                actor.has_begun = True
        self._listener.loading(number)

    def _loaded(self, number: int, how: Literal["ready", "failed"], what: Any) -> None:
        value = unpacked(*what)
        with self._lock:
            actor = self._actors.get(number)
            if actor is not None and how == "ready":
                actor.sees = Visibility(value, lambda folder, mark: self._ask(number, folder, mark))
        if actor is None:
            return
        if how == "ready":
            self._listener.ready(number)
        else:
            self.kill(number)
            self._listener.failed(number, value)

    def _answered(self, number: int, computed: Computed) -> None:
        with self._lock:
            actor = self._actors.get(number)
            if actor is not None:
                actor.n_computing -= 1
        if actor is not None:
            self._listener.computed(number, computed)

    def _ask(self, number: int, folder: Path, mark: FileMark) -> None:
        actor = self._actors.get(number)
        if actor is not None:
            sees = actor.handle.sees.remote(mark)
            self._hear(number, sees, lambda is_seen: self._learn(number, folder, is_seen=is_seen))

    def _learn(self, number: int, folder: Path, *, is_seen: bool) -> None:
        actor = self._actors.get(number)
        if actor is not None and actor.sees is not None:
            actor.sees.learn(folder, is_seen)

    def _lose(self, number: int, error: BaseException) -> None:
        """An actor is no more, or cannot be reached: then it is ended, so that nobody computes what others compute."""
        with self._lock:
            actor = self._actors.pop(number, None)
        if actor is not None:
            self._careful_until = time.monotonic() + _CAREFUL_S
            self._end(actor)
            self._listener.lost(number, _reason(error))


def _reason(error: BaseException) -> str:
    """Return the reason why an actor ended, from Ray's message of a page."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(("class_name:", "actor_id:", "pid:", "namespace:"))]
    return scrubbed(" ".join(told[:_SHOWN_LINES])) or type(error).__name__
