"""A folder of tables that no other test sees."""

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of tables."""
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setenv("LMUData", str(folder))
    return folder
