"""The random generators that hooks draw from: the process's, or a thread's own for hooks that run at the same time.

Guests draw from the module-level functions of ``random`` and ``numpy.random``, which share one generator in the
process. During a run these functions look for a thread's own generators first: a thread that has some draws from them,
every other thread from the process's as always. A private generator with a seed gives the same stream as the process's
generator with that seed, so both ways are the same for a hook.

Few hooks draw at all, and seeding takes longer than what many of them do. So a seed is only noted, and set before the
next draw from the generators, or read of their state: the numbers are the same. This requires that every draw is
noticed. If code holds a function or the generator itself from before the run (``from random import choice`` in a
script), seeds are set at once.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_mine = threading.local()  # each thread has its own generators, which end with it


@contextmanager
def dispatched() -> Iterator[None]:
    """Make the module-level functions look for a thread's own generators inside the block; blocks may nest."""
    _users.enter()
    try:
        yield
    finally:
        _users.leave()


def seed_process(make_seed: Callable[[], int]) -> None:
    """Seed the generators of the process, at the latest before the next draw from them.

    Args:
        make_seed: Computes the seed.
    """
    if _users.is_every_draw_noticed:
        _process.owe(make_seed)
    else:
        _seed_now(make_seed())


class _Process:
    """The generators of the process, and their outstanding seed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owed: Callable[[], int] | None = None

    def owe(self, make_seed: Callable[[], int]) -> None:
        """Note a seed instead of the noted one."""
        with self._lock:
            self._owed = make_seed

    def settle(self) -> None:
        """Seed the generators with their outstanding seed, if they have one."""
        if self._owed is None:
            return
        with self._lock:  # another thread that draws now waits until they are seeded
            if self._owed is not None:
                _seed_now(self._owed())
                self._owed = None


_process = _Process()


class _Users:
    """Counts the runs that need the dispatching functions.

    Attributes:
        is_every_draw_noticed: Whether no code can draw from the process's generators in another way.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n = 0
        self._undo: list[tuple[ModuleType, str, Any]] = []
        self.is_every_draw_noticed = False

    def enter(self) -> None:
        """Count a run in; the first one replaces the functions."""
        with self._lock:
            self._n += 1
            if self._n == 1:
                import numpy as np

                is_held = _is_held_elsewhere(np)
                self._undo = [*_dispatch(random, random._inst, "python"), *_dispatch_numpy(np)]
                self.is_every_draw_noticed = not is_held

    def leave(self) -> None:
        """Count a run out; the last one puts the original functions back."""
        with self._lock:
            self._n -= 1
            if self._n == 0:
                self.is_every_draw_noticed = False
                _process.settle()
                _give_back_numpy(self._undo)
                for module, name, function in self._undo:
                    setattr(module, name, function)
                self._undo = []


_users = _Users()


class _Own:
    """Generators of a thread's own, and their outstanding seed."""

    __slots__ = ("_numpy", "_owed", "_python")

    def __init__(self) -> None:
        import numpy as np

        self._python, self._numpy = random.Random(), np.random.RandomState()
        self._owed: int | None = None

    def owe(self, seed: int) -> None:
        """Seed them before the next draw."""
        self._owed = seed

    def of(self, kind: str) -> Any:
        """Return the generator of a kind, for a draw."""
        if self._owed is not None:
            self._python.seed(self._owed)
            self._numpy.seed(self._owed)
            self._owed = None
        return self._python if kind == "python" else self._numpy


@contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Give this thread generators of its own, for as long as the block lasts."""
    before = getattr(_mine, "generators", None)
    own = getattr(_mine, "spare", None) or _Own()
    own.owe(seed)
    _mine.generators, _mine.spare = own, None
    try:
        yield
    finally:
        _mine.generators, _mine.spare = before, own


def has_own_generators() -> bool:
    """Return whether this thread draws from generators of its own, which were seeded for what it does."""
    return getattr(_mine, "generators", None) is not None


def _seed_now(seed: int) -> None:
    # Through the classes: accessing a method of the objects would be noticed as a draw.
    random.Random.seed(random._inst, seed)
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    shared = numpy.random.mtrand._rand
    try:
        numpy.random.RandomState.seed(shared, seed)
    except TypeError:  # code has set another kind of bit generator
        bits = object.__getattribute__(shared, "_bit_generator")
        bits.state = type(bits)(seed).state


def _dispatch_numpy(np: Any) -> list[tuple[ModuleType, str, Any]]:
    shared = np.random.mtrand._rand
    noticed = _noticed(np, shared)
    # Some functions, and packages that take the generator itself, find it by this name.
    modules = (np.random, np.random.mtrand)
    undo = [entry for module in modules for entry in _dispatch(module, shared, "numpy", noticed)]
    undo.append((np.random.mtrand, "_rand", shared))
    np.random.mtrand._rand = noticed
    return undo


def _give_back_numpy(undo: list[tuple[ModuleType, str, Any]]) -> None:
    """Set NumPy's generator to the state of the one that replaced it."""
    for module, name, shared in undo:
        if name == "_rand":
            shared.set_state(getattr(module, name).get_state(legacy=False))


def _noticed(np: Any, shared: Any) -> Any:
    """NumPy's generator, over the same bits; each access to one of its methods is noticed."""

    class RandomState(np.random.RandomState):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            own = getattr(_mine, "generators", None)
            if own is not None:
                return getattr(own.of("numpy"), name)
            _process.settle()
            return super().__getattribute__(name)

    made = RandomState(shared._bit_generator)
    made.set_state(shared.get_state(legacy=False))  # which also holds half of a pair of normal numbers
    return made


def _is_held_elsewhere(np: Any) -> bool:
    """Return whether code holds a module-level function, or NumPy's generator, by another name than the usual ones."""
    of_one_name = max(_n_references({"name": random.Random().random}))
    of_random = max(_n_references(_bound(random, random._inst)))
    bound = _bound(np.random, np.random.mtrand._rand)
    n_methods = sum(
        getattr(function, "__self__", None) is np.random.mtrand._rand for function in vars(np.random.mtrand).values()
    )
    of_generator = max(_n_references({"name": np.random.mtrand._rand}))
    return (
        of_random > of_one_name + 1  # the dictionary here is a further name
        or max(_n_references(bound)) > of_one_name + 2  # numpy.random has those of numpy.random.mtrand
        or of_generator > of_one_name + 1 + n_methods
    )


def _n_references(named: Mapping[str, Any]) -> list[int]:
    return [sys.getrefcount(named[name]) for name in named]


def _bound(module: ModuleType, shared: Any) -> dict[str, Any]:
    """The functions of a module that are methods of its generator."""
    return {name: value for name, value in vars(module).items() if getattr(value, "__self__", None) is shared}


def _dispatch(module: ModuleType, shared: Any, kind: str, noticed: Any = None) -> list[tuple[ModuleType, str, Any]]:
    undo = []
    for name, function in _bound(module, shared).items():
        setattr(module, name, _dispatcher(function, name, kind, noticed))
        undo.append((module, name, function))
    return undo


def _dispatcher(function: Callable[..., Any], name: str, kind: str, noticed: Any) -> Callable[..., Any]:
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        own = getattr(_mine, "generators", None)
        if own is not None:
            return getattr(own.of(kind), name)(*args, **kwargs)
        if noticed is not None:
            return getattr(noticed, name)(*args, **kwargs)
        _process.settle()
        return function(*args, **kwargs)

    dispatch.__name__ = name
    dispatch.__doc__ = function.__doc__
    return dispatch


@contextmanager
def torch_seeded(seed: int) -> Iterator[None]:
    """Seed torch's generators for the block, if torch is in use, and restore them afterwards."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "random"):
        yield
        return
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
