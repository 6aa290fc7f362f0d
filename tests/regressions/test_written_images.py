"""The images of a table are files that its rows are written into. Whether an earlier run, or one that was killed, has
written them already makes no difference to what a run stores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.machine import opened_files
from polymeter.store.exports.export import read_samples


def test_images_that_are_there_already_are_no_files_behind_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))

    def responses(name: str) -> list[Any]:
        done = polymeter.evaluate(
            "shapes", "demo_edit", output=tmp_path / name, cache_dir=tmp_path / "cache", limit=3, seed=1
        )
        samples = [*read_samples(done.folder, "demo_edit")]
        return [{**one["exchanges"][0]["response"], "latency_ms": 0} for one in samples]

    first = responses("first")
    monkeypatch.setattr(opened_files, "_written", set())  # as in a process of its own
    assert not any("files" in one for one in first)
    assert responses("second") == first
