"""Faults that a review found once, each with the smallest run that showed it."""

from __future__ import annotations

import decimal
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.request import Output, Request, Response
from polymeter.core.role_client import RoleClient
from polymeter.core.task import Result, Rollout, RolloutSteps, Sample, SampleStatus, Score
from polymeter.models.mock import MockBatch, MockEndpoint
from polymeter.run.schedule.running_samples import RunningSample, RunningTask
from polymeter.run.schedule.scheduler import Scheduler
from polymeter.run.schedule.work_list import WorkList
from polymeter.store.exports.export import read_samples, sample_file
from polymeter.store.folder import RunFolder
from tests.helpers.tasks import ListTask, answer_of, ask, docs, run_tasks


def statuses(outcome: Any, task: str = "list") -> dict[str, int]:
    found: dict[str, int] = outcome.results["tasks"][task]["statuses"]
    return found


def value_of(outcome: Any, metric: str = "exact_match") -> Any:
    return next(r["value"] for r in outcome.results["tasks"]["list"]["results"] if r["metric"] == metric)


class Restless(RunningTask):
    """A task whose chunk is another at every look, as when workers change it meanwhile."""

    sizes = iter(range(1, 1_000_000))

    @property
    def chunk(self) -> int:  # type: ignore[override]
        return next(self.sizes) * 7 % 13 + 1

    @chunk.setter
    def chunk(self, value: int) -> None:
        pass


def test_a_chunk_that_changes_between_two_reads_loses_and_repeats_nothing() -> None:
    task = Restless(ListTask(docs(500)), 1, range(500), "seal")  # type: ignore[arg-type]
    sealed = bytearray(500)
    sealed[100:130] = b"\x01" * 30
    played = [index for chunk in WorkList(task, sealed, bytearray(500)).chunks() for index in chunk]
    assert played == [index for index in range(500) if not sealed[index]]


def test_answered_samples_go_on_once_each_whatever_the_chunk_does_meanwhile() -> None:
    task = Restless(ListTask(docs(500)), 1, range(500), "seal")  # type: ignore[arg-type]
    plays = [RunningSample(task, sample) for sample in task.task.samples[0:500]]
    advanced: list[RunningSample] = []

    class Slicing(Scheduler):
        def __init__(self) -> None:
            pass

        def _advance(self, task: RunningTask, plays: list[RunningSample]) -> None:
            advanced.extend(plays)

    Slicing()._continue(plays)
    assert advanced == plays


def test_two_runs_with_one_journal_folder_know_nothing_of_each_other(tmp_path: Path) -> None:
    right = MockBatch(answer_of, identity={"m": "right"})
    wrong = MockBatch(lambda request: "wrong", identity={"m": "wrong"})
    first = run_tasks([ListTask(docs(4))], right, tmp_path / "a", journal_dir=tmp_path / "journals")
    assert value_of(first) == 1.0
    second = RunFolder(tmp_path / "b", tmp_path / "journals")
    assert second.journal != RunFolder(tmp_path / "a", tmp_path / "journals").journal
    run_tasks([ListTask(docs(4))], wrong, tmp_path / "b")
    (tmp_path / "b" / "run.json").unlink()
    swapped = run_tasks([ListTask(docs(4))], right, tmp_path / "b")
    assert value_of(swapped) == 1.0


def test_a_changed_question_leaves_no_old_answer_in_a_later_score(tmp_path: Path) -> None:
    version = "old"

    def play(sample: Sample) -> RolloutSteps:
        yield ask(f"{version} {sample.doc['question']}", sample)

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        assert len(played.responses) == 1
        right = played.responses[0].text == f"{version} {sample.doc['question']}"
        return Score({("right", "none"): decimal.Decimal(int(right))})

    class Sum(ListTask):
        def reduce(self, rows: Any, context: Any) -> list[Result]:
            values = [float(row.score.values["right", "none"]) for row in rows if row.score]
            return [Result("right", "none", sum(values), len(values))]

    model = MockBatch(lambda request: request.text, identity={"m": 1})
    run_tasks([Sum(docs(5), play=play, score=score, source="1")], model, tmp_path / "run")
    version = "new"
    outcome = run_tasks([Sum(docs(5), play=play, score=score, source="2")], model, tmp_path / "run")
    assert value_of(outcome, "right") == 5.0
    assert all(len(row["exchanges"]) == 1 for row in read_samples(outcome.folder, "list"))


def test_a_score_that_cannot_be_stored_is_made_again_with_what_the_play_left_in_the_row(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        sample.doc["seen"] = True
        yield ask(sample.doc["question"], sample)
        return {1, 2}

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        return Score({("m", "none"): decimal.Decimal(int(sample.doc["seen"]) + len(played.returned))})

    class Mean(ListTask):
        def reduce(self, rows: Any, context: Any) -> list[Result]:
            values = [row.score.values["m", "none"] for row in rows if row.status is SampleStatus.OK]
            return [Result("m", "none", float(sum(values)) / len(values), len(values))]

    task = Mean(docs(6), play=play, score=score, is_guest=True)
    outcome = run_tasks([task], MockBatch(answer_of), tmp_path / "run")
    assert value_of(outcome, "m") == 3.0


def test_a_score_that_fails_when_made_again_is_counted(tmp_path: Path) -> None:
    calls = 0

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        nonlocal calls
        calls += 1
        if calls > 4 and sample.index:
            raise ValueError("not this time")
        return Score({("m", "none"): decimal.Decimal(1)})

    class Keep(ListTask):
        def reduce(self, rows: Any, context: Any) -> list[Result]:
            return [Result("m", "none", 1.0, sum(row.score is not None for row in rows))]

    outcome = run_tasks([Keep(docs(4), score=score)], MockBatch(answer_of), tmp_path / "run")
    assert statuses(outcome) == {"ok": 1, "error": 3}
    assert outcome.n_failed == 3


def test_sample_files_of_alike_names_are_two(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert len({sample_file(folder, name) for name in ("a/b", "a_b", "a:b")}) == 3


@pytest.mark.parametrize("given", ["text", None, Response(), Response((Output(text=5),)), [1]])  # type: ignore[arg-type]
@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_no_answer_fails_its_sample_and_hangs_nothing(tmp_path: Path, given: Any, is_async: bool) -> None:
    class Batch(MockBatch):
        def respond(self, requests: list[Request]) -> list[Response]:
            good = super().respond(requests)
            return [given if request.text == "q1" else each for request, each in zip(requests, good, strict=True)]

    class Endpoint(MockEndpoint):
        async def respond(self, request: Request) -> Response:
            return given if request.text == "q1" else await super().respond(request)  # type: ignore[no-any-return]

    model = Endpoint(answer_of) if is_async else Batch(answer_of)
    outcome = run_tasks([ListTask(docs(4))], model, tmp_path / "run")
    assert statuses(outcome) == {"ok": 3, "error": 1}


def test_the_wrong_number_of_outputs_is_no_answer(tmp_path: Path) -> None:
    class Two(MockBatch):
        def respond(self, requests: list[Request]) -> list[Response]:
            return [Response.of_text("a", "b") for _ in requests]

    outcome = run_tasks([ListTask(docs(2))], Two(answer_of), tmp_path / "run")
    assert statuses(outcome) == {"error": 2}


def test_a_request_without_identity_fails_its_sample_only(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample, extra={"callback": print} if sample.index == 1 else {})

    outcome = run_tasks([ListTask(docs(3), play=play)], MockBatch(answer_of), tmp_path / "run")
    assert statuses(outcome) == {"ok": 2, "error": 1}


def test_foreign_code_that_raises_past_exception_fails_its_sample_only(tmp_path: Path) -> None:
    class TimedOut(BaseException):
        pass

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        if sample.index == 1:
            raise TimedOut("too slow")
        return Score({("m", "none"): 1.0})

    outcome = run_tasks([ListTask(docs(3), score=score, is_guest=True)], MockBatch(answer_of), tmp_path / "run")
    assert statuses(outcome) == {"ok": 2, "error": 1}


def test_a_group_key_that_cannot_be_one_fails_its_requests(tmp_path: Path) -> None:
    model = MockBatch(answer_of, group_key=lambda request: ["a", "list"])  # type: ignore[arg-type, return-value]
    outcome = run_tasks([ListTask(docs(2))], model, tmp_path / "run")
    assert statuses(outcome) == {"error": 2}


def test_one_object_may_be_model_and_judge(tmp_path: Path) -> None:
    together = 0
    most = 0
    lock = threading.Lock()

    class Alone(MockBatch):
        def respond(self, requests: list[Request]) -> list[Response]:
            nonlocal together, most
            with lock:
                together += 1
                most = max(most, together)
            answers = super().respond(requests)
            with lock:
                together -= 1
            return answers

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        return Score({("m", "none"): float(bool(asker("judge", ask(sample.id)).text))})

    model = Alone(lambda request: "yes", batch_size=2)
    task = ListTask(docs(30), score=score, roles=["judge"])
    outcome = run_tasks([task], model, tmp_path / "run", roles={"judge": model})
    assert statuses(outcome) == {"ok": 30}
    assert most == 1


def test_a_judge_asked_in_a_reduction_is_not_asked_again(tmp_path: Path) -> None:
    n_judged = 0

    def judge(request: Request) -> str:
        nonlocal n_judged
        n_judged += 1
        return "fine"

    class Judged(ListTask):
        def reduce(self, rows: Any, context: Any) -> list[Result]:
            assert len(list(rows)) == 3
            return [Result("m", "none", float(context.role_client("judge", ask("all of it")).text == "fine"), 3)]

    def go(source: str) -> Any:
        model, referee = MockBatch(answer_of, identity={"m": 1}), MockBatch(judge, identity={"j": 1})
        task = Judged(docs(3), roles=["judge"], source=source)
        return run_tasks([task], model, tmp_path / "run", roles={"judge": referee})

    assert value_of(go("1"), "m") == value_of(go("2"), "m") == 1.0
    assert n_judged == 1
    rows = [json.loads(line) for line in (tmp_path / "run" / "samples" / "list.jsonl").read_text().splitlines()]
    assert [len(row["exchanges"]) for row in rows] == [1, 1, 1]


def test_an_old_journal_is_refused_by_its_version(tmp_path: Path) -> None:
    import sqlite3

    run_tasks([ListTask(docs(2))], MockBatch(answer_of), tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "journal.db") as db:
        db.execute("PRAGMA user_version=1")
    with pytest.raises(PlanError, match="schema version 1"):
        run_tasks([ListTask(docs(2), source="2")], MockBatch(answer_of), tmp_path / "run")
