"""Writes a journal until it is killed. Used by ``test_journal``. Arguments: the journal's file."""

from __future__ import annotations

import sys
from pathlib import Path

from polymeter.core.task import Score
from polymeter.store.journal_writer import JournalWriter
from tests.store.rows import answer_row, sample_row, score_row

N_FLUSHED = 40

if __name__ == "__main__":
    writer = JournalWriter(Path(sys.argv[1]), ["task"])
    for index in range(200_000):
        answers = [answer_row(1, index, fingerprint=name, turn=turn) for turn, name in enumerate("ab")]
        writer.put("requests", [("a", "{}"), ("b", "{}")])
        writer.put("responses", answers)
        writer.put("scores", [score_row(1, index, Score({("m", "none"): 1.0}))])
        writer.put("samples", [sample_row(1, index)])
        if index % N_FLUSHED == N_FLUSHED - 1:
            writer.flush()
            if index == N_FLUSHED - 1:
                print("flushed", flush=True)
