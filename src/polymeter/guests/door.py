"""The door: the only way into code that Polymeter did not write, in three modes.

*Load* is all code that runs before the first request: importing a guest's module, opening a benchmark, making a model.
Its side effects on the process are contained if they can be undone (see ``contain``). *Hook* is a call of a benchmark
author's code: it runs alone, under the process's lock, with Python's and NumPy's global generators seeded for this
call; a hook that calls another one stays inside. *Model* is a call of a model, from loading it to closing it: it never
holds the lock, and functions of its task that it calls enter hook mode by themselves (``core.rows``).

A mode belongs to a thread. Code that loads further code stays in its mode.

The lock is the process's, because the generators are: one for all runs and tasks. A hook that waits for a judge leaves
and finds its generators as it left them. Hooks that are seen to spend their time waiting (for a network, a disk), and
those of a task that declares itself thread-safe, run beside the lock, several at a time, on generators of their own.

Tasks declare that they are thread-safe with ``metadata: {thread_safe: true}``; with ``--score-workers N`` the user
allows scoring to overlap while it waits. A wrapper calls functions of its task's row through a ``RowView`` on any
thread.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar

from polymeter.core.identity import seed_for
from polymeter.guests.alarms import end_alarm
from polymeter.guests.generators import own_generators, seed_process
from polymeter.guests.watchdog import Watchdog

Mode = Literal["load", "hook", "model"]
P = ParamSpec("P")
T = TypeVar("T")

_PROCESS_LOCK = threading.Lock()
_waiting_models: set[int] = set()
"""Threads on which a model waits for the lock."""


# Of the thread and of no context, because it is a thread that holds a lock. Each block ends its own.
class _DoorState(threading.local):
    """The door's state on this thread."""

    mode: Mode | None = None
    holds_lock = False


_here = _DoorState()
_INSIDE = nullcontext()
"""The way into a hook for a thread that is inside one."""


def current_mode() -> Mode | None:
    """Return the mode in which this thread is inside the door; ``None`` if it is outside."""
    return _here.mode


@contextmanager
def in_mode(mode: Mode) -> Iterator[None]:
    """Note that this thread runs a guest in a mode, for as long as the block lasts. Loading inside another mode stays
    in that one.
    """
    before = _here.mode
    if mode != "load" or before is None:
        _here.mode = mode
    try:
        yield
    finally:
        _here.mode = before
        if before is None:
            end_alarm()


def in_this_mode(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that runs in the current mode, also on another thread: for pools that do part of a guest's work
    while it waits for them.
    """
    mode = _here.mode

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with nullcontext() if mode is None else in_mode(mode):
            return function(*args, **kwargs)

    return run


class Door:
    """One run's way through the door.

    Args:
        run_seed: The run's seed.
        watchdog: Names the hooks that take too long; ``None``: they are not named.
    """

    def __init__(self, run_seed: int, watchdog: Watchdog | None = None) -> None:
        self._run_seed = run_seed
        self._watchdog = watchdog

    def hook(self, task: str, sample: str, step: str) -> AbstractContextManager[None]:
        """Call a hook inside this: alone, with the global generators seeded by run, task, sample and step. On a thread
        that is inside already nothing changes, and the hook's random stream continues.
        """
        return _INSIDE if _here.mode == "hook" else _Hook(self._run_seed, self._watchdog, task, sample, step)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for all hooks that this thread calls inside the block: each of them is still seeded for itself,
        but the lock changes hands once. A hook that waits releases the lock as always.
        """
        if _here.mode == "hook" or _here.holds_lock:
            yield
            return
        with _locked():
            yield

    @property
    def is_wanted(self) -> bool:
        """True if a model waits for the lock, so that a thread that holds it for several hooks should release it."""
        return bool(_waiting_models)

    @contextmanager
    def hook_from_model(self, task: str, sample: str, step: str) -> Iterator[None]:
        """Call a hook for a model inside this, on any thread: alone like any other, but with separate generators. The
        wrapper draws from the process's generators meanwhile, and neither must affect the other.
        """
        if _here.mode == "hook":
            yield
            return
        seed = seed_for(self._run_seed, task, sample, step)
        with _locked(is_model=True), in_mode("hook"), own_generators(seed), self._watched(task, sample, step):
            yield

    @contextmanager
    def hook_beside(self, task: str, sample: str, step: str) -> Iterator[None]:
        """Call a hook inside this beside others, with separate generators that give the same numbers as ``hook``."""
        if _here.mode == "hook":
            yield
            return
        seed = seed_for(self._run_seed, task, sample, step)
        with in_mode("hook"), own_generators(seed), self._watched(task, sample, step):
            yield

    @contextmanager
    def left(self) -> Iterator[None]:
        """Release the lock while waiting, if this thread holds it."""
        with nullcontext() if self._watchdog is None else self._watchdog.waiting(), self._unlocked():
            yield

    def _watched(self, task: str, sample: str, step: str) -> AbstractContextManager[None]:
        return nullcontext() if self._watchdog is None else self._watchdog.watching(task, sample, step)

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        if not _here.holds_lock:
            yield
            return
        state = _random_state()
        mode, _here.mode = _here.mode, None
        _release()
        try:
            yield
        finally:
            _acquire()
            _here.mode = mode
            _restore(state)


class _Hook:
    """One call of a hook under the process's lock, which is taken unless the thread holds it already. A class and not a
    generator, because each sample passes through several.
    """

    __slots__ = ("_make_seed", "_mode", "_takes_lock", "_watch")

    def __init__(self, run_seed: int, watchdog: Watchdog | None, task: str, sample: str, step: str) -> None:
        self._make_seed = partial(seed_for, run_seed, task, sample, step)
        self._watch = None if watchdog is None else watchdog.watching(task, sample, step)

    def __enter__(self) -> None:
        self._mode = _here.mode
        self._takes_lock = not _here.holds_lock
        if self._takes_lock:
            _acquire()
        _here.mode = "hook"
        try:
            if self._watch is not None:
                self._watch.__enter__()
            seed_process(self._make_seed)
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.__exit__()
        self._leave()

    def _leave(self) -> None:
        _here.mode = self._mode
        end_alarm()
        if self._takes_lock:
            _release()


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Restore the process's random generators."""
    state = _random_state()
    try:
        yield
    finally:
        _restore(state)


@contextmanager
def _locked(*, is_model: bool = False) -> Iterator[None]:
    if is_model:
        _waiting_models.add(threading.get_ident())
    try:
        _acquire()
    finally:
        if is_model:
            _waiting_models.discard(threading.get_ident())
    try:
        yield
    finally:
        _release()


def _acquire() -> None:
    _PROCESS_LOCK.acquire()
    _here.holds_lock = True


def _release() -> None:
    _here.holds_lock = False
    _PROCESS_LOCK.release()


def _random_state() -> tuple[Any, Any]:
    numpy = sys.modules.get("numpy")
    return random.getstate(), numpy.random.get_state() if numpy is not None else None


def _restore(state: tuple[Any, Any]) -> None:
    random.setstate(state[0])
    if state[1] is not None:
        sys.modules["numpy"].random.set_state(state[1])
