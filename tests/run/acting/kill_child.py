"""Runs a task whose model acts, and kills itself before a transaction of the journal. Used by ``test_killed_episodes``.

Arguments: run folder, task file, file that every question is appended to, number of the transaction (0: none).
"""

from __future__ import annotations

import sys
from pathlib import Path

import polymeter
from polymeter.store import journal_writer
from tests.run.acting.acting_task import asking_model
from tests.run.kill_child import _deadly


def main(folder: str, file: str, log: str, occurrence: int) -> None:
    """Run, and die on the way if told so."""
    journal_writer._MAX_AT_ONCE = 1  # a busy machine hands over many rows at once
    if occurrence:
        owner = journal_writer.JournalWriter
        owner._insert = _deadly(owner._insert, occurrence, False)  # type: ignore[method-assign]
    result = polymeter.evaluate(asking_model(Path(log)), [file], output=Path(folder))
    assert result is not None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
