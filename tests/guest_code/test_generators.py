"""Seeds are given before the first draw, and nobody can tell that from being seeded at every call."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from polymeter.guests import generators
from polymeter.guests.door import Door, random_state_kept
from polymeter.guests.generators import dispatched

# The legacy functions are what hooks call.
# ruff: noqa: NPY002

STEP = ("task", "sample", "score")


def by_the_generator_itself() -> list[float]:
    """As scikit-learn and SciPy draw when they are given no seed, along with numbers that NumPy makes in pairs."""
    first = float(np.random.randn())
    return [first, *np.random.mtrand._rand.normal(size=2).tolist(), float(np.random.randn())]


def on_a_thread_of_its_own() -> list[float]:
    drawn: list[float] = []
    thread = threading.Thread(target=lambda: drawn.append(random.random()))
    thread.start()
    thread.join()
    return [*drawn, random.random()]


def after_a_seed_of_its_own() -> list[float]:
    np.random.seed(7)
    return [float(np.random.rand()), random.random()]


def from_its_state() -> list[Any]:
    return [random.getstate()[1][:5], np.random.get_state()[1][:5].tolist()]


DRAWS: dict[str, Callable[[], list[Any]]] = {
    "python": lambda: [random.random(), random.choice("abcdef"), random.sample(range(99), 3)],
    "numpy": lambda: [float(np.random.rand()), *np.random.permutation(5).tolist()],
    "numpy first": lambda: [float(np.random.rand()), random.random()],
    "plain functions": lambda: [float(np.random.sample()), float(np.random.ranf())],
    "the generator": by_the_generator_itself,
    "a thread": on_a_thread_of_its_own,
    "own seed": after_a_seed_of_its_own,
    "state": from_its_state,
}


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    with random_state_kept():
        yield


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_drawn_is_what_seeding_at_every_call_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    door, draw = Door(1), DRAWS[name]
    with door.hook(*STEP):  # outside of a run, and so seeded at once
        expected = draw()
    monkeypatch.setattr(generators, "_is_held_elsewhere", lambda np: False)
    with dispatched():
        random.seed(99)
        with door.hook("task", "another", "score"):
            pass
        with door.hook(*STEP):
            assert draw() == expected
        with door.hook("task", "another", "score"):
            random.random()
        with door.hook(*STEP):
            assert draw() == expected


def test_a_hook_that_draws_nothing_costs_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_is_held_elsewhere", lambda np: False)
    seeds = _count_seeds(monkeypatch)
    door = Door(1)
    with dispatched():
        for number in range(100):
            with door.hook("task", str(number), "score"):
                pass
        assert seeds == []
        with door.hook(*STEP):
            random.random()
            np.random.rand()
        assert len(seeds) == 1


def test_whoever_holds_a_function_from_before_the_run_is_seeded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_is_held_elsewhere", lambda np: True)
    seeds = _count_seeds(monkeypatch)
    with dispatched(), Door(1).hook(*STEP):
        assert len(seeds) == 1


@pytest.mark.parametrize(
    "take",
    ["random.choice", "random.seed", "numpy.random.rand", "numpy.random.mtrand._rand", "numpy.random.mtrand.choice"],
)
def test_it_is_noticed_that_somebody_holds_a_function_or_the_generator(take: str) -> None:
    code = (  # in a process of its own: Hypothesis holds a function in this one
        "import random, numpy\n"
        "from polymeter.guests.generators import _is_held_elsewhere as is_held\n"
        f"assert not is_held(numpy); held = {take}; assert is_held(numpy); del held; assert not is_held(numpy)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_run_leaves_numpy_where_its_last_draw_led() -> None:
    np.random.seed(3)
    expected = np.random.randn(4).tolist()
    np.random.seed(3)
    drawn = [float(np.random.randn())]
    with dispatched():
        drawn += [float(np.random.randn()), float(np.random.randn())]
    assert [*drawn, float(np.random.randn())] == expected


def test_a_seed_that_is_owed_when_a_run_ends_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_is_held_elsewhere", lambda np: False)
    with Door(1).hook(*STEP):
        expected = random.random()
    with dispatched(), Door(1).hook(*STEP):
        pass
    assert random.random() == expected


def test_a_bit_generator_of_another_kind_is_seeded_too() -> None:
    shared = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(1))
    try:
        door = Door(1)
        with door.hook(*STEP):
            expected = float(np.random.rand())
        with door.hook(*STEP):
            assert float(np.random.rand()) == expected
    finally:
        np.random.set_bit_generator(shared)


def _count_seeds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seeds: list[int] = []
    give = generators._seed_now

    def counted(seed: int) -> None:
        seeds.append(seed)
        give(seed)

    monkeypatch.setattr(generators, "_seed_now", counted)
    return seeds
