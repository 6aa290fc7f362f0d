"""Random generators of their own for hooks that run at the same time.

Guests draw from the module-level functions of ``random`` and ``numpy.random``, which share one generator in the
process. While a run lasts these functions look for a thread's own generators first: a thread that has been given some
draws from them, every other thread from the process's as always. A private generator with a seed gives the same stream
as the process's generator with that seed, so it does not matter to a hook in which way it is run.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_mine = threading.local()


@contextmanager
def dispatched() -> Iterator[None]:
    """Make the module-level functions look for a thread's own generators, for as long as the block lasts; nests."""
    _users.enter()
    try:
        yield
    finally:
        _users.leave()


class _Users:
    """Counts the runs that need the dispatching functions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n = 0
        self._undo: list[tuple[ModuleType, str, Any]] = []

    def enter(self) -> None:
        """Count a run in; the first one replaces the functions."""
        with self._lock:
            self._n += 1
            if self._n == 1:
                self._undo = [*_dispatch(random, random._inst, "python"), *_dispatch_numpy()]

    def leave(self) -> None:
        """Count a run out; the last one puts the original functions back."""
        with self._lock:
            self._n -= 1
            if self._n == 0:
                for module, name, function in self._undo:
                    setattr(module, name, function)


_users = _Users()


@contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Give this thread generators of its own, for as long as the block lasts."""
    before = getattr(_mine, "generators", None)
    own = getattr(_mine, "spare", None) or {"python": random.Random(), "numpy": _new_numpy()}
    own["python"].seed(seed)
    own["numpy"].seed(seed)
    _mine.generators, _mine.spare = own, None
    try:
        yield
    finally:
        _mine.generators, _mine.spare = before, own


def has_own_generators() -> bool:
    """Whether this thread draws from generators of its own, which were seeded for what it does."""
    return getattr(_mine, "generators", None) is not None


def _new_numpy() -> Any:
    import numpy as np

    return np.random.RandomState()


def _dispatch_numpy() -> list[tuple[ModuleType, str, Any]]:
    import numpy as np

    return _dispatch(np.random, np.random.mtrand._rand, "numpy")


def _dispatch(module: ModuleType, shared: Any, kind: str) -> list[tuple[ModuleType, str, Any]]:
    undo = []
    for name, function in list(vars(module).items()):
        if getattr(function, "__self__", None) is shared:
            setattr(module, name, _dispatcher(function, name, kind))
            undo.append((module, name, function))
    return undo


def _dispatcher(function: Callable[..., Any], name: str, kind: str) -> Callable[..., Any]:
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        generators = getattr(_mine, "generators", None)
        if generators is None or kind not in generators:
            return function(*args, **kwargs)
        return getattr(generators[kind], name)(*args, **kwargs)

    dispatch.__name__ = name
    dispatch.__doc__ = function.__doc__
    return dispatch


@contextmanager
def torch_seeded(seed: int) -> Iterator[None]:
    """Seed torch's generators for the block, where torch is in use, and give them back as they were."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "random"):
        yield
        return
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
