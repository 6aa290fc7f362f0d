"""Actors on a node of a Ray cluster: one replica, whose model is loaded and called on one thread of its own, or one
scorer, likewise.

Calls that take work in run on other threads, so that media is decoded while the model computes. What brings an actor
down at once can take along the answers before it; ``host`` therefore asks for time between answers after a loss, and
asks a request that was ever suspected with nothing behind it, so that no other is suspected twice.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import polymeter
from polymeter.core.errors import ModelError, PlanError, PolymeterError, Raised, attempt
from polymeter.core.request import Response
from polymeter.run.dispatch.replicas.hosts import Computed, Computer, ComputerSetup, Work
from polymeter.run.dispatch.replicas.ray.visibility import FileMark, is_seen, machine_mark
from polymeter.run.dispatch.replicas.ray.working_folder import WorkingFolder
from polymeter.run.dispatch.replicas.replica import packed_answers, portable_error
from polymeter.run.dispatch.replicas.wire import packed, unpacked
from polymeter.run.finish.scoring_code import scoring_code

T = TypeVar("T")
Packed = tuple[bytes, list[bytes]]
Loaded = tuple[Literal["ready", "failed"], Packed]
CALLS_AT_ONCE = 6
"""``live``, which lasts as long as the actor, the work that is computed, that behind it, and questions between."""
_LEAVING_S = 0.02
"""The time that an answer may take to leave this process."""
_THREADS = ("MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def sent(value: object) -> Packed:
    """Plain data as Ray carries it."""
    body, beside = packed(value)
    return body, [bytes(piece) for piece in beside]


class RayReplica:
    """A replica as a Ray actor. Several of its methods run at a time, the model is only ever on its own thread.

    Args:
        n_cores: How many threads it computes with.
    """

    def __init__(self, n_cores: int) -> None:
        os.environ.update(dict.fromkeys(_THREADS, str(n_cores)))  # before torch is imported
        self._model_thread = ThreadPoolExecutor(1, "polymeter-model")
        self._replica: Computer | None = None
        self._is_over = threading.Event()
        self._last_end = 0.0

    def begin(self) -> None:
        """Returns at once: who waits for it knows that the actor has found a node."""

    def load(self, code: str, folder: Packed, setup: Packed) -> Loaded:
        """Make and load the model.

        Args:
            code: The ``code_mark`` of the run's process.
            folder: The ``WorkingFolder`` of the run.
            setup: The setup of the replica.

        Returns:
            ``ready`` and the mark of this machine, or ``failed`` and the reason.
        """
        loaded = attempt(lambda: self._model_thread.submit(self._load, code, folder, setup).result())
        if isinstance(loaded, Raised):
            return "failed", sent(_portable(loaded.error))
        return "ready", sent(machine_mark())

    def compute(self, lease: int, n_requests: int, is_careful: bool, body: bytes, *beside: bytes) -> Packed:
        """Answer work. What it shows is decoded while the model computes what came before.

        Args:
            lease: The number of the lease.
            n_requests: How many requests it holds.
            is_careful: Whether the answers before this work are given time to leave: if it kills this process, they
                are not lost with it, and nobody else is blamed.
            body: The ``Work``.
            beside: Its large pieces.

        Returns:
            What it has ``Computed``.
        """
        work = attempt(lambda: unpacked(body, beside))
        if isinstance(work, Raised):
            error = ModelError(f"A request cannot be read by a replica: {work.error!r}")
            return sent(Computed(lease, [Response.failed(error)] * n_requests))
        replica = self._loaded()
        computed = self._model_thread.submit(self._compute, work, replica.prepare(work), is_careful).result()
        answers, pieces = packed_answers(computed)
        return answers, [bytes(piece) for piece in pieces]

    def sees(self, mark: FileMark) -> bool:
        """Return whether a file of the run's machine is here too."""
        return is_seen(mark)

    def live(self) -> None:
        """Returns when the replica is closed. A caller that gets an error in place of that knows that it is no more."""
        self._is_over.wait()

    def close(self) -> None:
        """Free the model."""
        if self._replica is not None:
            self._model_thread.submit(self._replica.close).result()
        self._is_over.set()

    def _load(self, code: str, folder: Packed, packed_setup: Packed) -> None:
        here = code_mark()
        if code != here:
            raise PlanError(
                f"The node {socket.gethostname()} has another Polymeter than the run: {here}, not {code}.",
                hint="Install the same version on all nodes, from the same sources and with the same packages.",
            )
        working_folder: WorkingFolder = unpacked(*folder)
        working_folder.enter()
        setup: ComputerSetup = unpacked(*packed_setup)
        self._replica = setup.made()
        self._replica.load()

    def _compute(self, work: Work, preparation: Any, is_careful: bool) -> Computed:
        if is_careful:
            self._is_over.wait(max(0.0, self._last_end + _LEAVING_S - time.monotonic()))
        try:
            return self._loaded().compute(work, preparation)
        finally:
            self._last_end = time.monotonic()

    def _loaded(self) -> Computer:
        if self._replica is None:
            raise ModelError("Work has reached a replica that has not loaded its model.")
        return self._replica


def code_mark() -> str:
    """Return a mark of the code, which must be equal for the run and its replicas, so that answers do not depend on the
    node.
    """
    return f"{polymeter.__version__} ({scoring_code()[:12]})"


def _portable(error: BaseException) -> PolymeterError:
    """An error as one that every process can read, with the node that it comes from."""
    plain = portable_error(error)
    return type(plain)(f"On node {socket.gethostname()}: {plain.what}", where=plain.where, hint=plain.hint)
