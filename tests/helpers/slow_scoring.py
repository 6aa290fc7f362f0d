"""A benchmark whose author's code scores, and notes in which process; and what two runs of it must have in common."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polymeter
from polymeter.store.reading.comparing import first_difference

_TASK = """\
task: slowly_scored
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS}}
test_split: test
output_type: generate_until
doc_to_text: !function utils.question
doc_to_target: "{{text}}"
process_results: !function utils.score
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: luck, aggregation: mean, higher_is_better: true}
"""
_UTILS = """\
import os, random, signal
from pathlib import Path

HERE = Path(__file__).parent


def question(doc):
    doc["drawn"] = random.random()
    drift = random.SystemRandom().random() if (HERE / "drifts").exists() else 0
    return f"Say {drift} {doc['text']} {doc['drawn']:.6f}"


def score(doc, results):
    with open(HERE / "scored.log", "a") as log:
        log.write(f"{os.getpid()} {doc['number']}\\n")
    weight = float((HERE / "weight.txt").read_text())
    if (HERE / "kills").exists() and doc["number"] == 13 and os.getpid() != int((HERE / "kills").read_text()):
        os.kill(os.getpid(), signal.SIGKILL)
    if doc["number"] % 10 == 7:
        raise ValueError(f"row {doc['number']} has no score")
    doc["seen"] = len(results[0])
    luck = random.random() if doc["number"] % 10 != 3 else float("nan")
    return {"acc": weight * results[0].endswith(f"{doc['drawn']:.6f}"), "luck": luck}
"""
_ASKING = """

from polymeter.judge import LLMJudge

judge = LLMJudge()
score_alone = score


def score(doc, results):
    if doc["number"] % 10 == 5:
        return score_alone(doc, results)
    if (HERE / "doubts").exists():
        judge(str(random.SystemRandom().random()))
    first = judge(f"Is {results[0]} right? {random.random():.6f}")
    second = judge(f"Are you sure that {first}? {random.random():.6f}")
    found = score_alone(doc, results)
    return {**found, "acc": found["acc"] * (first in second)}
"""


class Benchmark:
    """The benchmark, in a folder.

    Args:
        folder: Where to; nothing is in it.
        n: How many rows.
        asks: Whether its scoring asks the judge two questions, the second of which depends on the answer to the first.
    """

    def __init__(self, folder: Path, n: int = 40, *, asks: bool = False) -> None:
        folder.mkdir()
        self.folder, self.n = folder, n
        rows = [{"number": number, "text": f"word {number}"} for number in range(n)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "task.yaml").write_text(_TASK.replace("ROWS", str(folder / "rows.jsonl")))
        (folder / "utils.py").write_text(_UTILS + _ASKING * asks)
        (folder / "weight.txt").write_text("0.5")

    def run(self, name: str, *, is_endpoint: bool = False, **more: Any) -> polymeter.RunResult:
        """Evaluate a model that repeats what it is asked."""
        (self.folder / "scored.log").write_text("")
        answering = {"mode": "echo", "is_async": is_endpoint}
        return polymeter.evaluate(
            "mock", str(self.folder / "task.yaml"), model_args=answering, output=self.folder / name, **more
        )

    def score_again(self, run: polymeter.RunResult, name: str, **more: Any) -> polymeter.RunResult:
        """Score a run of it again."""
        (self.folder / "scored.log").write_text("")
        return polymeter.score(run.folder.path, output=self.folder / name, **more)

    def processes(self) -> dict[int, list[int]]:
        """For each process that scored in the last run, the rows that it began to score."""
        found: dict[int, list[int]] = {}
        for line in (self.folder / "scored.log").read_text().splitlines():
            process, number = line.split()
            found.setdefault(int(process), []).append(int(number))
        return found


def assert_same_journal(one: polymeter.RunResult, other: polymeter.RunResult) -> None:
    """All that two runs wrote down of their samples is equal, to the byte."""
    difference = first_difference(one.folder, other.folder)
    assert difference is None, str(difference)
    for rows in (
        "SELECT task, sample, id, status, error, doc, returned, seal FROM samples ORDER BY task, sample",
        "SELECT task, sample, digest, is_exact, body FROM scores ORDER BY task, sample",
        "SELECT task, sample, role, model, fingerprint, occurrence, turn FROM responses "
        "ORDER BY task, sample, role, fingerprint, occurrence",
        "SELECT * FROM requests ORDER BY fingerprint",
    ):
        with (
            closing(sqlite3.connect(one.folder.journal)) as first,
            closing(sqlite3.connect(other.folder.journal)) as second,
        ):
            assert first.execute(rows).fetchall() == second.execute(rows).fetchall()
