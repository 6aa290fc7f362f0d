"""The probe sees what it is for: calls of guests from outside the door, on every thread, and no others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import polymeter
from polymeter.guests import contained, load_file
from polymeter.guests.door import Door, in_mode
from polymeter.models.mock import MockBatch
from polymeter.run.schedule.pool import Pool
from tests.conformance.door_probe import DoorProbe
from tests.tasks.yaml.kit import task_text, write_rows

GUEST = """
import threading

def hook(*_):
    return "asked"

def on_a_thread():
    thread = threading.Thread(target=hook)
    thread.start()
    thread.join()
"""


@pytest.fixture
def guest(tmp_path: Path) -> ModuleType:
    (tmp_path / "guest.py").write_text(GUEST)
    with contained():
        return load_file(tmp_path / "guest.py")


def watched(call: Callable[[], Any], by_hand: bool = False) -> DoorProbe:
    probe = DoorProbe(Path("/nowhere"), lambda file: by_hand)
    with probe.watching():
        call()
    return probe


def test_a_call_from_outside_is_noted_with_where_it_came_from(guest: ModuleType) -> None:
    outside = watched(guest.hook).outside
    ((function, callers),) = outside.items()
    assert function.endswith("hook")
    assert "test_door_probe.py" in callers
    assert not watched(guest.hook, by_hand=True).outside


@pytest.mark.parametrize("mode", ["load", "hook", "model"])
def test_a_call_from_inside_is_not(guest: ModuleType, mode: Any) -> None:
    def call() -> None:
        with in_mode(mode):
            guest.hook()

    probe = watched(call)
    assert (probe.outside, probe.n_inside) == ({}, 1)


def test_a_thread_that_a_guest_starts_is_where_its_starter_was(guest: ModuleType) -> None:
    def call() -> None:
        with Door(0).hook("task", "sample", "score"):
            guest.on_a_thread()

    probe = watched(call)
    assert (probe.outside, probe.n_inside) == ({}, 2)
    assert len(watched(guest.on_a_thread).outside) == 2


def test_a_pool_of_ours_enters_by_itself(guest: ModuleType) -> None:
    def call() -> None:
        pool, is_done = Pool("hooks", 1), threading.Event()
        with in_mode("hook"):
            pool.submit(lambda: is_done.set() if guest.hook() else None)
            assert is_done.wait(20)
        pool.close()

    assert len(watched(call).outside) == 1


def test_a_run_calls_its_guests_from_inside(tmp_path: Path, door_probe: DoorProbe) -> None:
    write_rows(tmp_path)
    (tmp_path / "t.yaml").write_text(task_text(text="!function hooks.hook"))
    (tmp_path / "hooks.py").write_text(GUEST)
    polymeter.evaluate(
        MockBatch("a0"), ["t"], include_paths=[tmp_path], output=tmp_path / "run", cache_dir=tmp_path / "cache"
    )
    assert door_probe.n_inside >= 4, "a question for each row"
