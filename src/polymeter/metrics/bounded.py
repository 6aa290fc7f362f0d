"""Scoring that cannot hang a run: steps that may never end run in a process that can be killed.

A function is ``bounded`` in one of two ways. ``@bounded`` runs it in place for texts of ordinary length, for which it
is always fast, and in a process for longer ones. ``in_process`` always uses a process: for algebra and for regular
expressions, for which even a short text may never end. It is the same function either way, so its values are the same.

If a step exceeds its limit (``core.settings.scoring_limits``), its sample has no score, even if the calling code
catches the error.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import guest_context, refuse_verdict
from polymeter.core.settings.scoring_limits import ScoringLimits
from polymeter.metrics.scoring_process import Reply, ScoringProcess, is_scoring_process

P = ParamSpec("P")
T = TypeVar("T")

LONG = 4_000
"""The length of a long text in characters: a function with quadratic time needs about a second for less."""


def bounded(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function of Polymeter so that it runs in a process if its texts are long.

    Its arguments and its value must be plain data. Any setting of the run that it needs must be an argument.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if _length(args) + _length(kwargs.values()) <= LONG:
            return function(*args, **kwargs)
        return in_process(function, *args, **kwargs)

    return call


def in_process(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of Polymeter in a process, within the limits of the sample that is being scored.

    Raises:
        UnscoredError: if it exceeds a limit. The sample then has no score, even if the caller catches this.
    """
    return named_in_process(function.__name__, function, *args, **kwargs)


def named_in_process(what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function like ``in_process``, with a description of the step for messages.

    Raises:
        UnscoredError: if it exceeds a limit. The sample then has no score, even if the caller catches this.
    """
    if is_scoring_process():
        return function(*args, **kwargs)
    limits = guest_context().limits or ScoringLimits()
    reply = _replied(function, args, kwargs, limits)
    if reply.outcome == "value":
        value: T = reply.content
        return value
    if reply.outcome == "raised":
        raise reply.content
    error = _exceeded(reply, what, limits)
    refuse_verdict(str(error))
    raise error


def end_idle_processes() -> None:
    """End the processes that wait for work."""
    _processes(os.getpid()).end_idle()


def _replied(function: Callable[..., Any], args: Any, kwargs: Any, limits: ScoringLimits) -> Reply:
    if limits.left_s <= 0:
        return Reply("timeout")
    began = time.monotonic()
    processes = _processes(os.getpid())
    try:
        while True:
            process = processes.take(limits.memory_mb)
            is_fresh = process.n_calls == 0
            reply = process.call(function.__module__, function.__qualname__, args, kwargs, max(limits.left_s, 0.001))
            processes.give_back(process, is_alive=reply.outcome in ("value", "raised"))
            # Memory that earlier samples left behind must not decide about this one.
            if is_fresh or reply.outcome not in ("memory", "died"):
                return reply
    finally:
        limits.spend(time.monotonic() - began)


def _exceeded(reply: Reply, what: str, limits: ScoringLimits) -> UnscoredError:
    if reply.outcome == "timeout":
        return UnscoredError(
            f"Scoring took longer than {limits.timeout_s:g} s ({what}).", hint="--score-timeout allows more."
        )
    if reply.outcome == "memory":
        return UnscoredError(
            f"Scoring needed more memory than {limits.memory_mb} MB ({what}).", hint="--score-memory allows more."
        )
    return UnscoredError(
        f"The scoring process ended with status {reply.content} ({what}).",
        hint=f"It may have needed more than {limits.memory_mb} MB of memory; --score-memory allows more.",
    )


def _length(values: Any) -> int:
    """Return the number of characters of all texts among some values."""
    total = 0
    for value in values:
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, (list, tuple)):
            total += _length(value)
    return total


class _Processes:
    """The scoring processes of this process: one for each concurrent call, and at most one for each core."""

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self._idle: list[ScoringProcess] = []
        self._busy: set[ScoringProcess] = set()
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(os.cpu_count() or 1)
        atexit.register(self._end_all)

    def take(self, memory_mb: int) -> ScoringProcess:
        """Return an idle process with this limit, or a new one. Wait if each core has one."""
        self._slots.acquire()
        try:
            with self._lock:
                fitting = [process for process in self._idle if process.memory_mb == memory_mb]
                if fitting:
                    self._idle.remove(fitting[-1])
                process = fitting[-1] if fitting else ScoringProcess(memory_mb)
                self._busy.add(process)
                return process
        except BaseException:
            self._slots.release()
            raise

    def give_back(self, process: ScoringProcess, *, is_alive: bool) -> None:
        """Keep a process for the next call, or forget one that has ended."""
        with self._lock:
            self._busy.discard(process)
            if is_alive:
                self._idle.append(process)
        self._slots.release()

    def end_idle(self) -> None:
        """End the processes that wait for work."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.kill()

    def _end_all(self) -> None:
        if os.getpid() != self._owner:  # a forked child inherits this, but not the processes
            return
        self.end_idle()
        with self._lock:
            busy, self._busy = self._busy, set()
        for process in busy:
            process.kill()


# Kept for the life of this process, which ends them. The end of a run ends idle ones.
@lru_cache(maxsize=4)
def _processes(owner: int) -> _Processes:
    """Return the processes of the process with this id. A forked child must not use its parent's pipes."""
    return _Processes(owner)
