"""Published benchmarks are fetched once, also by the id to which their data moved, and then need no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.fake_hub import fake_hub
from tests.helpers.fetching import Machine
from tests.library.published.kit import NAMES, write_data


@pytest.mark.parametrize(
    ("name", "place", "split"),
    [
        case
        for case in (("mmstar", "Lin-Chen/MMStar", "val"), ("mmau_test_mini", "lmms-lab-audio/mmau", "test_mini"))
        if case[0] in NAMES
    ],
)
def test_a_fetched_benchmark_needs_no_network(name: str, place: str, split: str, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", name, split)
    with fake_hub() as hub:
        machine = Machine(tmp_path, {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_TELEMETRY": "1"})
        (tmp_path / "tasks").mkdir()
        files = {f"data/{file.name}": file.read_bytes() for file in data.iterdir()}
        commit = hub.add(place, {"README.md": b"# Made rows\n", **files})
        fetched = machine.fetch(name)
        assert fetched.returncode == 0, fetched.stderr
    done = machine.run("--tasks", name, "--limit", "2", "--offline", has_network=False)
    assert done.returncode == 0, done.stderr
    assert machine.task_of()["dataset_revisions"] == {place: commit}
