"""Every conformance run is watched: guests are entered through their door alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.door_probe import DoorProbe


@pytest.fixture(autouse=True)
def guests_are_inside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail a test in which a guest's function runs outside the door."""
    probe = DoorProbe(tmp_path_factory.getbasetemp())
    with probe.watching():
        yield
    import os
    if os.environ.get("PROBE_LOG") and probe.outside:
        with open(os.environ["PROBE_LOG"], "a") as file:
            file.write(f"### {request.node.nodeid}\n" + "\n".join(probe.outside.values()) + "\n")
