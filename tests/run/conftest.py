"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.endpoint_lanes import Lanes


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[Lanes]:
    made = Lanes(tmp_path)
    yield made
    for lane in made.made:
        lane.close()
    made.prefetcher.close()
