"""No error is its own cause: whoever follows causes would never end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from polymeter.core.errors import PolymeterError
from polymeter.data import Source, open_splits
from polymeter.run.session import resumable
from polymeter.store.database import JournalError, journal_error
from polymeter.store.folder import RunFolder


def missing_split(folder: Path) -> None:
    (folder / "rows.csv").write_text("q,a\nx,1\n")
    open_splits(Source("csv", kwargs={"data_files": {"test": "rows.csv"}}, directory=folder), ["tset"])


def failed_writer(folder: Path) -> None:
    failure = JournalError("The disk is full.")
    raise journal_error(failure, folder / "journal.db") from failure


def run_that_never_began(folder: Path) -> None:
    failure = JournalError("The disk is full.")
    raise resumable(failure, RunFolder(folder)) from failure


@pytest.mark.parametrize("fail", [missing_split, failed_writer, run_that_never_began])
def test_causes_end(tmp_path: Path, fail: Callable[[Path], None]) -> None:
    with pytest.raises(PolymeterError) as raised:
        fail(tmp_path)
    error: BaseException | None = raised.value
    seen: list[BaseException] = []
    while error is not None:
        assert error not in seen
        seen.append(error)
        error = error.__cause__
