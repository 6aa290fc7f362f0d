"""The gate: foreign hooks enter one at a time, with the global random generators seeded for what they are about to do.

Python's and NumPy's global generators belong to the process, so the gate does too: one for the whole run, not one for
each task. A hook that waits for a judge leaves the gate and finds its generators as it left them when it comes back.
Hooks that are seen
to spend their time waiting (for a network, a disk) pass beside the gate, several at a time, with generators of their
own; so do those of a
task that declares itself thread-safe.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polymeter.core.identity import seed_for
from polymeter.guests.generators import own_generators

_PROCESS_LOCK = threading.Lock()
_held = threading.local()


class Gate:
    """One run's way through the gate. The lock is the process's: two runs in two threads share the generators too.

    Args:
        run_seed: The run's seed.
    """

    def __init__(self, run_seed: int) -> None:
        self._run_seed = run_seed
        self._lock = _PROCESS_LOCK

    @contextmanager
    def enter(self, task: str, sample: str, hook: str) -> Iterator[None]:
        """Run a hook inside this, alone and seeded from the run, the task, the sample and the hook."""
        self._acquire()
        try:
            _seed(seed_for(self._run_seed, task, sample, hook))
            yield
        finally:
            self._release()

    @contextmanager
    def beside(self, task: str, sample: str, hook: str) -> Iterator[None]:
        """Run a hook inside this, along with others, on generators of its own that give what ``enter`` would give."""
        with own_generators(seed_for(self._run_seed, task, sample, hook)):
            yield

    @contextmanager
    def left(self) -> Iterator[None]:
        """Leave the gate while waiting, if this thread is inside it."""
        if getattr(_held, "depth", 0) == 0:
            yield
            return
        state = _random_state()
        self._release()
        try:
            yield
        finally:
            self._acquire()
            _restore(state)

    def _acquire(self) -> None:
        self._lock.acquire()
        _held.depth = 1

    def _release(self) -> None:
        _held.depth = 0
        self._lock.release()


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Give the process its random generators back as they were."""
    state = _random_state()
    try:
        yield
    finally:
        _restore(state)


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def _random_state() -> tuple[Any, Any]:
    numpy = sys.modules.get("numpy")
    return random.getstate(), numpy.random.get_state() if numpy is not None else None


def _restore(state: tuple[Any, Any]) -> None:
    random.setstate(state[0])
    if state[1] is not None:
        sys.modules["numpy"].random.set_state(state[1])
