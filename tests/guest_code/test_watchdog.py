"""The watchdog names a hook once, and not while it waits for a model."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from polymeter.guests import watchdog as watching
from polymeter.guests.door import Door
from polymeter.guests.watchdog import Watchdog


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=made.monotonic))
    return made


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def dog(clock: Clock, warnings: list[str]) -> Iterator[Watchdog]:
    made = Watchdog(100, warnings.append)
    yield made
    made.close()


def test_a_hook_is_named_once_with_step_sample_and_place(dog: Watchdog, clock: Clock, warnings: list[str]) -> None:
    with Door(0, dog).hook("maths", "7", "score"):
        clock.now = 120
        dog.look()
        assert warnings == []
        clock.now = 126
        dog.look()
        dog.look()
    (warning,) = warnings
    assert "Task 'maths'" in warning
    assert "more than 100 s, in the step 'score' of sample '7'" in warning
    assert "test_watchdog.py" in warning


def test_time_in_which_a_hook_waits_for_a_judge_does_not_count(
    dog: Watchdog, clock: Clock, warnings: list[str]
) -> None:
    door = Door(0, dog)
    with door.hook("maths", "7", "score"):
        with door.left():
            clock.now = 500
            dog.look()
        clock.now = 590
        dog.look()
        assert warnings == []
        clock.now = 700
        dog.look()
        assert len(warnings) == 1


def test_a_hook_that_ended_is_not_named(dog: Watchdog, clock: Clock, warnings: list[str]) -> None:
    with Door(0, dog).hook_beside("maths", "7", "score"):
        pass
    clock.now = 1000
    dog.look()
    assert warnings == []


def test_a_step_of_no_sample_is_named_without_one(dog: Watchdog, clock: Clock, warnings: list[str]) -> None:
    with Door(0, dog).hook("maths", "", "reduce"):
        clock.now = 126
        dog.look()
    assert "in the step 'reduce' at " in warnings[0]


def test_a_hook_that_waits_while_another_of_its_thread_runs_is_watched_again(
    dog: Watchdog, clock: Clock, warnings: list[str]
) -> None:
    door = Door(0, dog)
    with door.hook("maths", "", "reduce"):
        with door.left(), door.hook("maths", "3", "score"):
            clock.now = 90
        clock.now = 216
        dog.look()
    (warning,) = warnings
    assert "'reduce'" in warning
