"""Every test of conformance is watched: guests are entered through their door alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from polymeter.core.errors import GUEST_PREFIX
from polymeter.guests import held
from tests.conformance.door_probe import DoorProbe


@pytest.fixture(autouse=True)
def door_probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorProbe]:
    """Fails a test in which a guest's function is called from outside the door."""
    probe = DoorProbe(tmp_path_factory.getbasetemp())
    with probe.watching():
        yield probe
    outside = [f"{function}\n{callers}" for function, callers in probe.outside.items()]
    assert not outside, "Called from outside the door:\n" + "\n".join(outside)


@pytest.fixture
def guest_modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules of guest files that runs in the test have loaded, by the file's stem, as they stood at the end.

    A run forgets its guest modules when it ends, so they have to be looked at just before.
    """
    seen: dict[str, ModuleType] = {}
    forget = held.forget_modules

    def look_and_forget() -> None:
        loaded = {name: module for name, module in sys.modules.items() if name.startswith(GUEST_PREFIX)}
        seen.update({name.rpartition(".")[2]: module for name, module in loaded.items()})
        forget()

    monkeypatch.setattr(held, "forget_modules", look_and_forget)
    return seen
