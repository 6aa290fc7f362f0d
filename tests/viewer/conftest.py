"""A viewer over a folder of runs, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from polymeter.api.viewing import services
from polymeter.viewer.guard import Guard
from polymeter.viewer.indexes import Indexes
from polymeter.viewer.shelf import Shelf
from polymeter.viewer.site import Viewer, find_pages, make_site
from tests.helpers.viewed_runs import hostile_sample, sample, write_run


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory) -> Path:
    """Two runs that can be compared, one with failures, one with hostile texts."""
    folder = tmp_path_factory.mktemp("viewed") / "runs"
    write_run(folder / "first", [sample(n, right=n % 4 != 0) for n in range(120)], model="small")
    write_run(
        folder / "nested" / "second",
        [sample(n, right=n % 3 != 0) for n in range(120)],
        model="large",
        started="2026-05-05T10:00:00+00:00",
    )
    failing = [sample(n, right=bool(n % 2), status=("ok", "error", "unscored")[min(n % 7, 2)]) for n in range(30)]
    write_run(folder / "failing", failing, model="broken")
    write_run(folder / "hostile", [hostile_sample(n) for n in range(3)], model="<script>window.hacked=9</script>")
    return folder


@pytest.fixture
def runs(made_runs, tmp_path) -> Path:
    """The same runs, which a test may change."""
    import shutil

    return Path(shutil.copytree(made_runs, tmp_path / "runs"))


@pytest.fixture
def open_viewer(tmp_path):
    """Opens a viewer over folders, and gives a client for it."""
    opened: list[Indexes] = []

    def open_one(*folders: Path, token: str = "", **options) -> TestClient:
        indexes = Indexes(tmp_path / "cache")
        opened.append(indexes)
        viewer = Viewer(Shelf(folders, **options), indexes, services(), find_pages())
        guarded = Guard(make_site(viewer), ["testserver"], token)
        return TestClient(guarded, base_url="http://testserver", follow_redirects=False)

    yield open_one
    for indexes in opened:
        indexes.close()


@pytest.fixture
def client(runs, open_viewer) -> TestClient:
    """A client for a viewer over the runs."""
    return open_viewer(runs)
