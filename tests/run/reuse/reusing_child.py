"""Runs a small evaluation over the answers of another run, and kills itself at a named instant.

Arguments: run folder, folder of the other run (or ``none``), file that every question is appended to, number of rows,
    instant (or ``none``), number of the occurrence.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from polymeter.store import journal_writer
from tests.helpers.tasks import ListTask, ask, docs, run_tasks
from tests.run.kill_child import arm


def main(folder: str, other: str, log: str, n_rows: int, instant: str, occurrence: int) -> None:
    """Run, and die on the way if told so."""
    journal_writer._MAX_AT_ONCE = 8
    arm(instant, occurrence)

    def compute(request: Request) -> str:
        with open(log, "a", encoding="utf-8") as file:
            file.write(request.text + "\n")
        return request.text.replace("q", "a")

    def play(sample: Any) -> Any:
        first = yield ask(sample.doc["question"], sample)
        second = yield ask(first.text + "+", sample)
        return second.text

    model = MockBatch(compute, identity={"backend": "child"}, batch_size=4, reads_rows=False)
    reuse = () if other == "none" else (Path(other),)
    run_tasks([ListTask(docs(n_rows), play=play)], model, Path(folder), reuse=reuse)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]), sys.argv[5], int(sys.argv[6]))
