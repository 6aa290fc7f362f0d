"""The door: hooks run alone, on generators seeded for what they do."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from polymeter.guests import door as door_module
from polymeter.guests.door import Door, random_state_kept
from polymeter.guests.generators import dispatched

Draw = tuple[float, float, int, list[int]]


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    with random_state_kept():
        yield


def draw() -> Draw:
    """What a hook may draw in the usual ways."""
    return (
        random.random(),
        float(np.random.rand()),  # noqa: NPY002  (what hooks call)
        int(np.random.randint(1000)),  # noqa: NPY002
        random.sample(range(100), 3),
    )


def entered(door: Door, *step: str) -> Draw:
    with door.hook(*step):
        return draw()


STEP = ("task", "sample", "score")


def test_the_same_hook_draws_the_same_and_any_other_draws_something_else() -> None:
    door = Door(1)
    first = entered(door, *STEP)
    random.seed(99)
    assert entered(door, *STEP) == first
    others = [("other", "sample", "score"), ("task", "other", "score"), ("task", "sample", "play:1")]
    draws = [entered(door, *step) for step in others] + [entered(Door(2), *STEP)]
    assert first not in draws
    assert len({repr(one) for one in draws}) == 4


def test_beside_the_lock_a_hook_draws_what_it_would_draw_inside() -> None:
    door = Door(1)
    with dispatched():
        inside = entered(door, *STEP)
        state = random.getstate()
        with door.hook_beside(*STEP):
            beside = draw()
        assert random.getstate() == state, "and leaves the process's generators alone"
    assert beside == inside


def test_many_beside_do_not_disturb_each_other() -> None:
    door = Door(1)
    draws: dict[str, Draw] = {}
    together = threading.Barrier(4)

    def hook(sample: str) -> None:
        with door.hook_beside("task", sample, "score"):
            together.wait(20)
            draws[sample] = draw()

    with dispatched():
        threads = [threading.Thread(target=hook, args=(str(number),)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert draws == {sample: entered(door, "task", sample, "score") for sample in "0123"}


def test_a_hook_that_waits_finds_its_generators_as_it_left_them() -> None:
    door = Door(1)
    with door.hook(*STEP):
        undisturbed = (draw(), draw())
    with door.hook(*STEP):
        before = draw()
        with door.left():
            entered(door, "task", "another", "score")
        assert (before, draw()) == undisturbed


def test_one_hook_at_a_time_and_the_lock_is_free_while_it_waits() -> None:
    door = Door(1)
    inside, waits, go_on = threading.Event(), threading.Event(), threading.Event()
    order: list[str] = []

    def hook() -> None:
        with door.hook(*STEP):
            order.append("first in")
            inside.set()
            with door.left():
                waits.set()
                go_on.wait(20)
            order.append("first again")

    thread = threading.Thread(target=hook)
    thread.start()
    assert inside.wait(20)
    assert waits.wait(20)
    with door.hook("task", "another", "score"):
        order.append("second in")
        go_on.set()
        order.append("second still in")
    thread.join()
    assert order == ["first in", "second in", "second still in", "first again"]


def test_many_hooks_under_one_entry_are_seeded_like_single_ones() -> None:
    door = Door(1)
    alone = [entered(door, "task", sample, "score") for sample in "abc"]
    with door.held():
        assert [entered(door, "task", sample, "score") for sample in "abc"] == alone
        with door.held(), door.left():  # as a hook that asks a judge does: the lock is free meanwhile
            assert not door_module._PROCESS_LOCK.locked()
        assert door_module._PROCESS_LOCK.locked()
    assert not door_module._PROCESS_LOCK.locked()


def test_whoever_holds_the_lock_for_many_hooks_learns_that_a_model_waits() -> None:
    door = Door(1)
    drawn: list[Draw] = []

    def ask_for_a_row() -> None:
        with door.hook_from_model(*STEP):
            drawn.append(draw())

    thread = threading.Thread(target=ask_for_a_row)
    with dispatched():
        with door.held():
            assert not door.is_wanted
            thread.start()
            until = time.monotonic() + 20
            while not door.is_wanted:
                assert time.monotonic() < until
            assert drawn == []
        thread.join()
        assert not door.is_wanted
        assert drawn == [entered(door, *STEP)]


def test_leaving_a_door_one_is_not_in_does_nothing() -> None:
    door = Door(1)
    with door.left(), door.hook(*STEP):
        pass


def test_a_hook_that_fails_leaves_the_lock_free() -> None:
    door = Door(1)
    with pytest.raises(ValueError, match="oops"), door.hook(*STEP):
        raise ValueError("oops")
    with pytest.raises(KeyError), door.hook(*STEP), door.left():
        raise KeyError
    assert entered(door, *STEP)


def test_the_process_gets_its_generators_back() -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = draw()
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    with random_state_kept():
        entered(Door(1), *STEP)
    assert draw() == expected


def test_dispatching_ends_with_its_block_and_nests() -> None:
    before = (random.random, np.random.rand)
    with dispatched(), dispatched():
        assert random.random is not before[0]
        assert random.random.__name__ == "random"
    assert (random.random, np.random.rand) == before
