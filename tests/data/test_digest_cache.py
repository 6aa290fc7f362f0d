"""The cache of fingerprints, which several processes write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.data import digest


def test_two_processes_note_the_same_rows_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move, others = Path.replace, []

    def move_after_another(self: Path, target: Any) -> Path:
        if not others:
            others.append(True)
            assert digest._once("rows", tmp_path, lambda: "same") == "same"
        return move(self, target)

    monkeypatch.setattr(Path, "replace", move_after_another)
    assert digest._once("rows", tmp_path, lambda: "same") == "same"
    assert others, "another process wrote in between"
    assert [file.name for file in tmp_path.iterdir()] == [digest._CACHE_FILE], "nothing else is left"
