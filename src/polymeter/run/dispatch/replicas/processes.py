"""Replicas in processes of this machine: children that are started, fed through a socket, and ended.

A child is a fresh interpreter, not a fork, and not a worker of ``multiprocessing``, which would import the user's main
script again.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Literal

from polymeter.core.children.child import Child
from polymeter.core.errors import ModelError, PlanError, Raised, attempt
from polymeter.core.options import RunOptions
from polymeter.core.request import Response
from polymeter.core.text.secrets import scrubbed
from polymeter.run.dispatch.dispatchers import CLOSE_S
from polymeter.run.dispatch.replicas.devices import Division, divided
from polymeter.run.dispatch.replicas.hosts import (
    Computed,
    Computer,
    ComputerSetup,
    HostListener,
    Place,
    Room,
    Wanted,
    Work,
)
from polymeter.run.dispatch.replicas.replica import packed_answers, portable_error, read_answers, unsent
from polymeter.run.dispatch.replicas.wire import packed, unpacked
from polymeter.run.schedule.running_samples import MODEL_ROLE

_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[1:]; from polymeter.run.dispatch.replicas.processes import serve; serve()"
)
_ENDING_S = 5.0
"""The time that a computing child gets to end when it is asked to."""
_LAST_LINES, _LAST_BYTES = 8, 4000
"""The length of a lost child's output that is reported."""

Kind = Literal["setup", "ready", "failed", "work", "computed", "close"]


def place(wanted: Mapping[str, Wanted], options: RunOptions, *, n_here: int = 0) -> Place:
    """The host of replicas on this machine.

    Args:
        wanted: By role, the replicas that are wanted.
        options: The run's.
        n_here: How many models stay in this process, and compute beside them.

    Raises:
        PlanError: if it has fewer GPUs than they need.
    """
    if options.address is not None:
        raise PlanError("An address names a Ray cluster.", where="--address", hint="Add --executor ray.")
    numbers = [one.n for one in wanted.values()]
    division = divided(
        numbers,
        options.gpus_per_replica,
        options.cpus_per_replica,
        n_here=n_here,
        is_first_taken=n_here > 0 and MODEL_ROLE not in wanted,
    )
    rooms, first = {}, 0
    for (role, one), n_replicas in zip(wanted.items(), division.numbers, strict=True):
        rooms[role] = Room(n_replicas, partial(LocalHost, one.setup, division, first))
        first += n_replicas
    return Place(rooms, division.note)


class LocalHost:
    """Holds replicas as children of this process.

    Args:
        setup: What a replica is made from.
        division: What of this machine each replica of the run gets.
        first: The number of these replicas' first one in it.
        listener: Who hears of them.
    """

    def __init__(self, setup: ComputerSetup, division: Division, first: int, listener: HostListener) -> None:
        self._setup = packed(setup)
        self._division = division
        self._first = first
        self._listener = listener
        self._children: dict[int, _ReplicaChild] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def start(self, number: int, slot: int) -> None:
        """Start a child. One that cannot be started counts as lost; after ``close`` nobody is started."""
        if self._is_closed:
            return
        own = self._division.environment(self._first + slot)
        started = attempt(lambda: _ReplicaChild(number, own, self._listener, self._setup))
        if isinstance(started, Raised):
            self._listener.lost(number, f"its process cannot be started: {started.error}")
            return
        with self._lock:
            is_late = self._is_closed  # the caller did not know, and nobody else would end it
            if not is_late:
                self._children[number] = started
        if is_late:
            started.abandon()
            return
        self._listener.loading(number)
        started.begin()

    def send(self, number: int, work: Work) -> None:
        """Send work, on a thread of the child's own, which also encodes it."""
        child = self._children.get(number)
        if child is not None:
            child.send(work)

    def kill(self, number: int) -> None:
        """End a child and what it has started."""
        with self._lock:
            child = self._children.pop(number, None)
        if child is not None:
            child.kill()

    def last_words(self, number: int) -> str:
        """Return the last output of a child."""
        child = self._children.get(number)
        return "" if child is None else _printed(child.last_lines())

    def close(self) -> None:
        """Let the children free their models; those that still compute are ended soon."""
        with self._lock:
            self._is_closed = True
            children = list(self._children.values())
            self._children.clear()
        for child in children:
            child.tell_to_close()
        began = time.monotonic()
        for child in children:
            child.wait(began)


class _ReplicaChild:
    """One child, from this side."""

    def __init__(
        self, number: int, environment: dict[str, str], listener: HostListener, setup: tuple[bytes, Sequence[Any]]
    ) -> None:
        self._number = number
        self._listener = listener
        self._is_ended = self._is_loaded = False
        self._n_sent = self._n_computed = 0
        ours, theirs = socket.socketpair()
        with theirs:
            self._child = Child(
                [sys.executable, "-c", _BOOTSTRAP, *sys.path], stdin=theirs, env={**os.environ, **environment}
            )
        self._connection = Connection(ours.detach())
        self._to_send: queue.SimpleQueue[Work | Literal["setup", "close"]] = queue.SimpleQueue()
        self._to_send.put("setup")
        self._setup = setup

    def begin(self) -> None:
        for name, job in (("send", self._send_all), ("hear", self._hear_all)):
            threading.Thread(target=job, name=f"polymeter-replica-{name}", daemon=True).start()

    def abandon(self) -> None:
        """End it instead of ``begin``."""
        self.kill()
        self._connection.close()

    def send(self, work: Work) -> None:
        self._n_sent += 1
        self._to_send.put(work)

    def tell_to_close(self) -> None:
        self._is_ended = True
        self._to_send.put("close")

    def wait(self, began: float) -> None:
        """Wait until the child has ended by itself, and end it when it takes too long. One that still loads its model
        has nothing to free.
        """
        is_idle = self._n_sent == self._n_computed
        patience_s = 0.0 if not self._is_loaded else CLOSE_S if is_idle else _ENDING_S
        self._child.wait(max(0.0, began + patience_s - time.monotonic()))
        self.kill()

    def kill(self) -> None:
        self._is_ended = True
        self._child.kill()
        self._to_send.put("close")  # so that the thread that sends comes to an end

    def _send_all(self) -> None:
        while True:
            item = self._to_send.get()
            try:
                if isinstance(item, Work):
                    self._send_work(item)
                elif item == "setup":
                    _send(self._connection, "setup", 0, 0, *self._setup)
                else:
                    _send(self._connection, "close", 0, 0)
            except OSError:  # it has ended, which the other thread finds out
                return
            if item == "close":
                return

    def _send_work(self, work: Work) -> None:
        n_requests = sum(len(group) for group in work.groups)
        sent = attempt(lambda: packed(work))
        if not isinstance(sent, Raised):
            _send(self._connection, "work", work.lease, n_requests, *sent)
            return
        self._n_computed += 1
        self._listener.computed(self._number, Computed(work.lease, unsent(work)))

    def _hear_all(self) -> None:
        try:
            while True:
                kind, lease, n_responses, body, beside = _receive(self._connection)
                if kind == "ready":
                    self._is_loaded = True
                    self._listener.ready(self._number)
                elif kind == "failed":
                    self._is_ended = True
                    self._listener.failed(self._number, _read_error(body, beside))
                elif kind == "computed":
                    self._n_computed += 1
                    self._listener.computed(self._number, read_answers(lease, n_responses, body, beside))
        except (EOFError, OSError):
            pass
        if not self._is_ended:
            self._is_ended = True
            status = self._child.wait(_ENDING_S)  # it gets a moment to end with a status of its own
            self.kill()
            self._listener.lost(self._number, _reason(status, self.last_lines()))
        self._connection.close()

    def last_lines(self) -> str:
        """The end of what it has printed."""
        return scrubbed("\n".join(self._child.said(_LAST_BYTES).strip().splitlines()[-_LAST_LINES:]))


def serve() -> None:
    """The child's side: load the model, and answer work until there is none. Standard input is the socket."""
    sys.argv = sys.argv[:1]
    connection = Connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _, _, _, body, beside = _receive(connection)
    arrived: queue.SimpleQueue[tuple[Work, Any] | Computed | None] = queue.SimpleQueue()
    made: list[Computer] = []

    def hear() -> None:
        while True:
            try:
                kind, lease, n_requests, body, beside = _receive(connection)
            except (EOFError, OSError):  # the caller has ended, and this process is about to be killed
                return
            if kind == "close":
                arrived.put(None)
                continue
            work = attempt(lambda body=body, beside=beside: unpacked(body, beside))  # type: ignore[misc]
            if isinstance(work, Raised):
                error = ModelError(f"A request cannot be read by a replica: {work.error!r}")
                arrived.put(Computed(lease, [Response.failed(error)] * n_requests))
            else:
                arrived.put((work, made[0].prepare(work)))

    threading.Thread(target=hear, name="polymeter-replica", daemon=True).start()

    def load() -> Computer:
        setup: ComputerSetup = unpacked(body, beside)
        computer = setup.made()
        computer.load()
        return computer

    loaded = attempt(load)
    if isinstance(loaded, Raised):
        _send(connection, "failed", 0, 0, *packed(portable_error(loaded.error)))
        return
    replica: Computer = loaded
    made.append(replica)
    _send(connection, "ready", 0, 0)
    while (item := arrived.get()) is not None:
        computed = item if isinstance(item, Computed) else replica.compute(*item)
        _send(connection, "computed", computed.lease, len(computed.responses), *packed_answers(computed))
    replica.close()


def _reason(status: int | None, last_lines: str) -> str:
    if status is not None and status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        what = f"its process was killed by {name}"
        what += ", perhaps because memory ran out" if -status == signal.SIGKILL else ""
    else:
        what = f"its process ended with status {status}"
    return f"{what}.{_printed(last_lines)}"


def _read_error(body: bytes, beside: Sequence[Any]) -> BaseException:
    read = attempt(lambda: unpacked(body, beside))
    if isinstance(read, Raised):
        return PlanError(f"A replica failed, and its error cannot be read by the run: {read.error!r}")
    return read  # type: ignore[no-any-return]


def _printed(last_lines: str) -> str:
    return f" Its last output:\n{last_lines}" if last_lines else ""


def _send(
    connection: Connection, kind: Kind, lease: int, n_requests: int, body: bytes = b"", beside: Sequence[Any] = ()
) -> None:
    connection.send_bytes(pickle.dumps((kind, lease, n_requests, len(beside))))
    connection.send_bytes(body)
    for piece in beside:
        connection.send_bytes(piece)


def _receive(connection: Connection) -> tuple[Kind, int, int, bytes, list[bytes]]:
    kind, lease, n_requests, n_beside = pickle.loads(connection.recv_bytes())  # noqa: S301  (our own child or owner)
    body = connection.recv_bytes()
    return kind, lease, n_requests, body, [connection.recv_bytes() for _ in range(n_beside)]
