"""Every test of conformance is watched: guests are entered through their door alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.door_probe import DoorProbe


@pytest.fixture(autouse=True)
def door_probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorProbe]:
    """Fails a test in which a guest's function is called from outside the door."""
    probe = DoorProbe(tmp_path_factory.getbasetemp())
    with probe.watching():
        yield probe
    outside = [f"{function}\n{callers}" for function, callers in probe.outside.items()]
    assert not outside, "Called from outside the door:\n" + "\n".join(outside)
