from __future__ import annotations

from pathlib import Path

import pytest

import polymeter
from tests.helpers.seen import measured


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> polymeter.RunResult:
    """A finished run; nobody writes to it but the tests of what is written into a run folder."""
    return measured(tmp_path_factory.mktemp("seen"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
