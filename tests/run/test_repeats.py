"""Repeats in whole runs: asked one by one or joined, only those that are owed, and found in journals of old."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.identity import joint_fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.request import Request, Response
from polymeter.core.settings.repeats import group_repeats, repeats_of
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.models.mock import MockBatch, MockEndpoint
from tests.helpers.tasks import ListTask, ask, docs, run_tasks

N_REPEATS = 4
SEEDS = range(10, 10 + N_REPEATS)


def play(sample: Sample) -> RolloutSteps:
    yield repeats_of(ask(sample.doc["question"], sample), SEEDS)


def score(sample: Sample, played: Rollout, asker: Any) -> Score:
    texts = [response.text for response in played.responses for _ in response.outputs]
    return Score({("right", "none"): float(len(set(texts)))}, None, " ".join(texts))


def task() -> ListTask:
    return ListTask(docs(3), play=play, score=score)


def said(request: Request) -> str:
    return f"{request.text}:{request.parameters.seed}"  # type: ignore[union-attr]


class Batch(MockBatch):
    """Remembers its calls, and may want repeats together."""

    def __init__(self, joins: bool, batch_size: int = 2, broken: str = "") -> None:
        super().__init__(self.compute, identity={"backend": "repeater"}, batch_size=batch_size)
        self.calls: list[list[str]] = []
        self.joins = joins
        self.broken = broken

    @property
    def joins_repeats(self) -> bool:
        return self.joins

    def compute(self, request: Request) -> str:
        if said(request) == self.broken:
            raise ModelError("broken")
        return said(request)

    def respond(self, requests: list[Request]) -> list[Response]:
        self.calls.append([said(request) for request in requests])
        return super().respond(requests)


class Endpoint(MockEndpoint):
    """An endpoint that answers repeats together. ``busy``: these have no answer at the first try."""

    def __init__(self, joins: bool, busy: tuple[str, ...] = ()) -> None:
        super().__init__(said, ModelTraits("repeater", requests={"generate": True}), {"backend": "repeater"})
        self.calls: list[list[str]] = []
        self.joins = joins
        self.busy = list(busy)

    @property
    def joins_repeats(self) -> bool:
        return self.joins

    async def respond(self, request: Request) -> Response:
        self.calls.append([said(request)])
        return await super().respond(request)

    async def respond_repeats(self, requests: Any, prepared: Any) -> list[Response]:
        self.calls.append([said(request) for request in requests])
        responses = []
        for request in requests:
            is_busy = said(request) in self.busy
            if is_busy:
                self.busy.remove(said(request))
            failed = Response.failed(ModelError("busy", kind="transient"))
            responses.append(failed if is_busy else Response.of_text(said(request)))
        return responses


def repeats(*numbers: int) -> list[list[str]]:
    return [[f"q{number}:{seed}" for seed in SEEDS] for number in numbers]


def rows(folder: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(folder / "journal.db")) as db:
        return sorted(
            (sample, json.loads(body)["outputs"][0]["text"])
            for sample, body in db.execute("SELECT sample, body FROM responses")
        )


def forget(folder: Path, *texts: str) -> None:
    """As if the run had been killed before these answers and all ends."""
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        for text in texts:
            db.execute("DELETE FROM responses WHERE body LIKE ?", (f'%"{text}"%',))
        db.execute("DELETE FROM samples")
        db.execute("DELETE FROM scores")


def results_of(folder: Path) -> dict[str, Any]:
    """The results without usage, which is of the answers as the journal holds them: one of old holds several."""
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return {name: value for name, value in results.items() if name != "usage_by_role"}


def test_every_repeat_is_a_row_whether_joined_or_not(tmp_path: Path) -> None:
    runs = {}
    for name, model in {"alone": Batch(False), "joined": Batch(True)}.items():
        assert run_tasks([task()], model, tmp_path / name).status == "complete"
        runs[name] = rows(tmp_path / name)
    assert runs["alone"] == runs["joined"] == [(n, text) for n in range(3) for text in sorted(repeats(n)[0])]
    results = [(tmp_path / name / "results.json").read_bytes() for name in runs]
    assert results[0] == results[1]


def test_joined_repeats_are_one_in_the_batch_size(tmp_path: Path) -> None:
    joining, plain = Batch(True), Batch(False)
    run_tasks([task()], joining, tmp_path / "joined")
    assert [len(call) for call in joining.calls] == [2 * N_REPEATS, N_REPEATS]
    assert [one for call in joining.calls for one in call] == [one for group in repeats(0, 1, 2) for one in group]
    run_tasks([task()], plain, tmp_path / "alone")
    assert [len(call) for call in plain.calls] == [2] * 6


def test_only_what_is_owed_is_joined(tmp_path: Path) -> None:
    run_tasks([task()], Batch(True), tmp_path / "run")
    results = (tmp_path / "run" / "results.json").read_bytes()
    forget(tmp_path / "run", "q1:11", "q1:13")
    again = Batch(True)
    run_tasks([task()], again, tmp_path / "run")
    assert again.calls == [["q1:11", "q1:13"]]
    assert (tmp_path / "run" / "results.json").read_bytes() == results


def test_one_repeat_that_fails_costs_its_sample_and_not_the_other_answers(tmp_path: Path) -> None:
    outcome = run_tasks([task()], Batch(True, broken="q1:12"), tmp_path / "run")
    assert outcome.n_failed == 1
    assert len(rows(tmp_path / "run")) == 3 * N_REPEATS - 1
    again = Batch(True)
    assert run_tasks([task()], again, tmp_path / "run").n_failed == 0
    assert again.calls == [["q1:12"]]


def test_an_endpoint_joins_where_it_says_so_and_retries_what_is_owed(tmp_path: Path) -> None:
    plain, joining = Endpoint(False), Endpoint(True, busy=("q1:11", "q1:13", "q2:10"))
    run_tasks([task()], plain, tmp_path / "alone")
    assert sorted(plain.calls) == sorted([one] for group in repeats(0, 1, 2) for one in group)
    assert run_tasks([task()], joining, tmp_path / "joined").status == "complete"
    assert sorted(joining.calls) == sorted([*repeats(0, 1, 2), ["q1:11", "q1:13"], ["q2:10"]])
    assert rows(tmp_path / "alone") == rows(tmp_path / "joined")


def test_a_row_of_old_with_all_answers_answers_all_repeats(tmp_path: Path) -> None:
    run_tasks([task()], Batch(False), tmp_path / "run")
    results = results_of(tmp_path / "run")
    for size in (N_REPEATS, 2):
        folder = tmp_path / "run"
        write_joint_rows(folder, size)
        before = rows(folder)
        model = Batch(True)
        assert run_tasks([task()], model, folder).status == "complete"
        assert model.calls == []
        assert results_of(folder) == results
        with closing(sqlite3.connect(folder / "journal.db")) as db:
            turns = [turn for (turn,) in db.execute("SELECT turn FROM responses WHERE sample=0 ORDER BY turn")]
        assert turns == [1, 3][: N_REPEATS // size]
        assert rows(folder) == before, "the rows stay what they are"


def test_a_row_of_old_whose_image_is_gone_is_set_apart_and_asked_anew(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_tasks([task()], Batch(False), folder)
    results = results_of(folder)
    write_joint_rows(folder, N_REPEATS)
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        lost = '{"outputs":[' + ",".join(['{"images":["gone.png"]}'] * N_REPEATS) + "]}"
        db.execute("UPDATE responses SET body=? WHERE sample=1", (lost,))
    model = Batch(True)
    run_tasks([task()], model, folder)
    assert model.calls == repeats(1)
    assert results_of(folder) == results
    with closing(sqlite3.connect(folder / "journal.db")) as db:
        turns = [turn for (turn,) in db.execute("SELECT turn FROM responses WHERE sample=1 ORDER BY turn")]
    assert turns == [-1, 1, 2, 3, 4]


def write_joint_rows(folder: Path, size: int) -> None:
    """Rewrite a journal as earlier versions wrote it: one row for so many repeats, and no end of any sample."""
    forget(folder)
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        key = db.execute("SELECT task, role, model FROM responses").fetchone()
        db.execute("DELETE FROM responses")
        for sample in range(3):
            request = ask(f"q{sample}", Sample("list", str(sample), sample, {}))
            (group,) = group_repeats(repeats_of(request, SEEDS))
            for start in range(0, N_REPEATS, size):
                part = group[start : start + size]
                outputs = [{"text": said(one), "finish_reason": "stop"} for one in part]
                body = json.dumps({"outputs": outputs, "latency_ms": 1.0}, separators=(",", ":"))
                task_id, role, model = key
                row = (task_id, sample, role, model, joint_fingerprint(part), 0, start + 1, body)
                db.execute("INSERT INTO responses VALUES (?,?,?,?,?,?,?,?,NULL,NULL)", row)
