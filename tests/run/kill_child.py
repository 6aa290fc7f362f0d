"""Runs a small evaluation and kills itself at a named instant. Used by ``test_kill``.

Arguments: run folder, file that every question is appended to, instant (or ``none``), number of the occurrence, hook
    threads.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polymeter.core.request import Request
from polymeter.core.role_client import RoleClient
from polymeter.core.task import Rollout, Sample, Score
from polymeter.models.mock import MockBatch
from polymeter.run import execution
from polymeter.run.finish import reduce
from polymeter.run.schedule.recorder import Recorder
from polymeter.store import journal_writer
from polymeter.store.exports import export
from tests.helpers.tasks import ListTask, ask, docs, run_tasks

N_DOCS = 60


def main(folder: str, log: str, instant: str, occurrence: int, workers: int) -> None:
    """Run, and die on the way if told so."""
    # A busy machine hands over many rows at once. There are as many transactions as the instants count all the same.
    journal_writer._MAX_AT_ONCE = 8
    arm(instant, occurrence)

    def compute(request: Request) -> str:
        with open(log, "a", encoding="utf-8") as file:
            file.write(request.text + "\n")
        return request.text.replace("q", "a")

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        verdict = asker("judge", ask(f"judge {sample.id}")).text
        right = float(played.responses[-1].text == sample.doc["answer"] + "+")
        return Score(
            {
                ("right", "none"): right,
                ("guess", "none"): random.choice(range(1000)),
                ("v", "none"): float(len(verdict)),
            }
        )

    def play(sample: Sample) -> Any:
        first = yield ask(sample.doc["question"], sample)
        second = yield ask(first.text + "+", sample)
        return second.text

    task = ListTask(docs(N_DOCS), play=play, score=score, is_guest=True, roles=["judge"])
    model = MockBatch(compute, identity={"backend": "child"}, batch_size=4)
    judge = MockBatch(compute, identity={"backend": "judge"}, batch_size=1)
    outcome = run_tasks([task], model, Path(folder), roles={"judge": judge}, score_workers=workers)
    assert outcome.status == "complete", outcome.status


def arm(instant: str, occurrence: int) -> None:
    """Patch one function so that the process dies when it is called for the nth time."""
    places: dict[str, tuple[Any, str, bool]] = {
        "before_answers": (Recorder, "answers", False),
        "after_answers": (Recorder, "answers", True),
        "before_end": (Recorder, "ends", False),
        "after_end": (Recorder, "ends", True),
        "before_transaction": (journal_writer.JournalWriter, "_drain", True),
        "before_reduce": (reduce, "reduce_task", False),
        "before_samples": (execution, "write_samples", False),
        "mid_results": (export, "write_json", False),
    }
    if instant == "mid_transaction":
        _arm_transaction(occurrence)
    elif instant != "none":
        owner, name, is_after = places[instant]
        setattr(owner, name, _deadly(getattr(owner, name), occurrence, is_after))


def _deadly(function: Callable[..., Any], occurrence: int, is_after: bool) -> Callable[..., Any]:
    calls = itertools.count(1)  # answers with images are written on several threads

    def dying(*args: Any, **kwargs: Any) -> Any:
        is_last = next(calls) == occurrence
        if is_last and not is_after:
            os.kill(os.getpid(), signal.SIGKILL)
        value = function(*args, **kwargs)
        if is_last and is_after:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return dying


def _arm_transaction(occurrence: int) -> None:
    """Die while a transaction is open: a row is written and not committed."""
    inserts = journal_writer._INSERT
    seen = 0

    class Counting(dict[str, tuple[str, int]]):
        def __getitem__(self, table: str) -> tuple[str, int]:
            nonlocal seen
            seen += 1
            if seen == occurrence:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__getitem__(table)

    journal_writer._INSERT = Counting(inserts)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
