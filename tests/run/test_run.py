"""Whole runs of the engine over tasks made of lists."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polymeter.cli.progress import PlainProgress
from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.request import Error, Loglikelihood, Message, Request, Response
from polymeter.core.role_client import RoleClient
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.models.mock import MockBatch, MockEndpoint
from polymeter.store import schema
from polymeter.store.database import connect
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from tests.helpers.tasks import ListTask, answer_of, ask, docs, run_tasks


def value_of(outcome: Any, metric: str = "exact_match", task: str = "list") -> Any:
    return next(r["value"] for r in outcome.results["tasks"][task]["results"] if r["metric"] == metric)


@pytest.mark.parametrize("n_docs", [1, 7, 300])
@pytest.mark.parametrize("batch_size", [0, 1, 8])
def test_every_sample_is_asked_once_and_scored(tmp_path: Path, n_docs: int, batch_size: int) -> None:
    asked: list[str] = []

    def compute(request: Request) -> str:
        asked.append(request.text)
        return answer_of(request)

    outcome = run_tasks([ListTask(docs(n_docs))], MockBatch(compute, batch_size=batch_size), tmp_path / "run")
    assert outcome.status == "complete"
    assert value_of(outcome) == 1.0
    assert sorted(asked) == sorted(f"q{n}" for n in range(n_docs))


def test_a_run_that_is_interrupted_while_its_journal_is_made_has_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, *more: Any, **named: Any) -> Any:
        connect(path, may_create=True).close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(schema, "connect", interrupted)
        with suppress(KeyboardInterrupt):
            run_tasks([ListTask(docs(4))], MockBatch(answer_of), tmp_path / "run")
    assert not RunFolder(tmp_path / "run").is_begun(), "a journal without tables would look like a damaged one"
    assert run_tasks([ListTask(docs(4))], MockBatch(answer_of), tmp_path / "run").status == "complete"


def test_batches_are_full_while_samples_last(tmp_path: Path) -> None:
    model = MockBatch(answer_of, batch_size=8)
    run_tasks([ListTask(docs(80))], model, tmp_path / "run")
    assert model.batches == [8] * 10


def test_requests_with_different_settings_never_share_a_batch(tmp_path: Path) -> None:
    seen: list[set[float | None]] = []

    class Watching(MockBatch):
        def respond(self, requests: list[Request]) -> list[Response]:
            seen.append({request.parameters.temperature for request in requests})  # type: ignore[union-attr]
            return super().respond(requests)

    def play(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample, temperature=float(sample.index % 3))

    run_tasks([ListTask(docs(30), play=play)], Watching(answer_of), tmp_path / "run")
    assert all(len(temperatures) == 1 for temperatures in seen)


def test_endpoint_never_has_more_in_flight_than_told(tmp_path: Path) -> None:
    model = MockEndpoint(answer_of, delay_s=0.001)
    outcome = run_tasks([ListTask(docs(120))], model, tmp_path / "run", concurrency=7)
    assert value_of(outcome) == 1.0
    assert model.most_in_flight <= 7


def test_results_do_not_depend_on_batch_size_or_kind_of_model(tmp_path: Path) -> None:
    identity = {"backend": "same"}
    models = [
        MockBatch(answer_of, identity=identity),
        MockBatch(answer_of, identity=identity, batch_size=3),
        MockEndpoint(answer_of, identity=identity),
    ]
    pages = []
    for number, model in enumerate(models):
        outcome = run_tasks([ListTask(docs(50), is_guest=number == 1)], model, tmp_path / str(number))
        (usage,) = outcome.results["usage_by_role"]["model"].values()  # by the name of the model
        assert usage["requests"] == 50
        pages.append({**outcome.results, "model": "", "usage_by_role": usage})
    assert pages[0] == pages[1] == pages[2]


def test_a_failing_request_fails_its_sample_only(tmp_path: Path) -> None:
    def compute(request: Request) -> str:
        if request.text == "q3":
            raise ValueError("cannot read this one")
        return answer_of(request)

    outcome = run_tasks([ListTask(docs(10))], MockBatch(compute), tmp_path / "run")
    task = outcome.results["tasks"]["list"]
    assert task["statuses"] == {"ok": 9, "error": 1}
    assert outcome.n_failed == 1
    failed = [row for row in read_samples(outcome.folder, "list") if row["status"] == "error"]
    assert [row["id"] for row in failed] == ["3"]
    assert "cannot read this one" in failed[0]["error"]["message"]
    assert "test_run.py" in failed[0]["error"]["message"]


def test_a_failure_is_never_an_answer_and_is_tried_again_on_resume(tmp_path: Path) -> None:
    is_down = True

    def compute(request: Request) -> str:
        if is_down and request.text == "q3":
            raise ValueError("down")
        return answer_of(request)

    model = MockBatch(compute, identity={"backend": "m"})
    first = run_tasks([ListTask(docs(10))], model, tmp_path / "run")
    assert first.n_failed == 1
    is_down = False
    second = run_tasks([ListTask(docs(10))], model, tmp_path / "run")
    assert second.n_failed == 0
    assert value_of(second) == 1.0


@pytest.mark.parametrize("is_async", [False, True])
def test_a_passing_failure_is_asked_again(tmp_path: Path, is_async: bool) -> None:
    tries: dict[str, int] = {}

    def compute(request: Request) -> Any:
        tries[request.text] = tries.get(request.text, 0) + 1
        if tries[request.text] < 3 and request.text == "q1":
            return Response(error=Error("transient", "busy", retryable=True, retry_after_s=0.0))
        return answer_of(request)

    model = MockEndpoint(compute) if is_async else MockBatch(compute)
    outcome = run_tasks([ListTask(docs(4))], model, tmp_path / "run", max_retries=3)
    assert value_of(outcome) == 1.0
    assert tries["q1"] == 3


def test_refused_is_its_own_status(tmp_path: Path) -> None:
    def compute(request: Request) -> Any:
        return Response(error=Error("refused", "no")) if request.text == "q1" else answer_of(request)

    outcome = run_tasks([ListTask(docs(3))], MockBatch(compute), tmp_path / "run")
    assert outcome.results["tasks"]["list"]["statuses"] == {"ok": 2, "refused": 1}


def test_a_scoring_exception_is_attributed_and_the_run_goes_on(tmp_path: Path) -> None:
    def score(sample: Sample, played: Rollout, ask: RoleClient) -> Score:
        if sample.index == 2:
            raise KeyError("answer_key")
        return Score({("m", "none"): 1.0})

    outcome = run_tasks([ListTask(docs(5), score=score, is_guest=True)], MockBatch(answer_of), tmp_path / "run")
    failed = [row for row in read_samples(outcome.folder, "list") if row["status"] == "error"]
    assert len(failed) == 1
    assert "KeyError" in failed[0]["error"]["message"]
    assert failed[0]["exchanges"][0]["response"]["outputs"][0]["text"] == "a2"


def test_max_errors_stops_the_run(tmp_path: Path) -> None:
    def compute(request: Request) -> str:
        raise ValueError("always")

    outcome = run_tasks([ListTask(docs(5000))], MockBatch(compute, batch_size=4), tmp_path / "run", max_errors=5)
    assert outcome.status == "stopped"
    assert 5 < outcome.n_failed < 5000


def test_a_model_that_cannot_be_loaded_ends_the_run_with_its_error(tmp_path: Path) -> None:
    class Broken(MockBatch):
        def load(self) -> None:
            raise OSError("no such weights")

    with pytest.raises(PlanError, match="no such weights"):
        run_tasks([ListTask(docs(5))], Broken(answer_of), tmp_path / "run")


def test_many_repeats_of_one_sample_are_many_rows_of_the_journal(tmp_path: Path) -> None:
    asked = 0

    def play(sample: Sample) -> RolloutSteps:
        responses = yield tuple(ask(sample.doc["question"], sample) for _ in range(8))
        assert len(responses) == 8
        return [response.text for response in responses]

    def compute(request: Request) -> str:
        nonlocal asked
        asked += 1
        return f"answer {asked}"

    def score(sample: Sample, played: Rollout, ask: RoleClient) -> Score:
        assert played.returned == [response.text for response in played.responses]
        return Score({("distinct", "none"): len(set(played.returned))})

    task = ListTask(docs(3), play=play, score=score)
    outcome = run_tasks([task], MockBatch(compute, identity={"backend": "m"}), tmp_path / "run")
    assert value_of(outcome, "distinct") == 8
    assert asked == 24
    journal = Journal(outcome.folder.journal)
    assert [len(journal.answers("list", index)) for index in range(3)] == [8, 8, 8]
    again = run_tasks(
        [ListTask(docs(3), play=play, score=score)], MockBatch(compute, identity={"backend": "m"}), tmp_path / "run"
    )
    assert again.results == outcome.results
    assert asked == 24


def test_a_sample_of_several_contexts(tmp_path: Path) -> None:
    def context(text: str, sample: Sample) -> Request:
        return Request((Message("user", (Text(text),)),), Loglikelihood((" yes", " no")), ask("", sample).origin)

    def play(sample: Sample) -> RolloutSteps:
        with_question, without = yield context(sample.doc["question"], sample), context("", sample)
        return [
            a.logprob - b.logprob
            for a, b in zip(with_question.outputs[0].logprobs, without.outputs[0].logprobs, strict=True)
        ]

    def score(sample: Sample, played: Rollout, ask: RoleClient) -> Score:
        return Score({("gain", "none"): max(played.returned)})

    outcome = run_tasks([ListTask(docs(20), play=play, score=score)], MockBatch(lambda request: ""), tmp_path / "run")
    assert outcome.results["tasks"]["list"]["statuses"] == {"ok": 20}


def test_a_multi_round_task_yields_until_it_is_done(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        rounds = []
        text = sample.doc["question"]
        for _ in range(sample.index % 4 + 1):
            response = yield ask(text, sample)
            rounds.append(response.text)
            text = response.text + "!"
        return rounds

    def score(sample: Sample, played: Rollout, ask: RoleClient) -> Score:
        return Score({("rounds", "none"): len(played.returned)}, answer=played.returned[-1])

    model = MockBatch(lambda request: request.text + "?")
    outcome = run_tasks([ListTask(docs(8), play=play, score=score)], model, tmp_path / "run")
    rows = list(read_samples(outcome.folder, "list"))
    assert [len(row["exchanges"]) for row in rows] == [1, 2, 3, 4, 1, 2, 3, 4]
    assert rows[2]["answer"] == "q2?!?!?"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_judge_is_asked_from_three_threads_inside_score(tmp_path: Path, is_async: bool) -> None:
    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        verdicts: list[str] = []
        threads = [
            threading.Thread(target=lambda n=n: verdicts.append(asker("judge", ask(f"{sample.id}:{n}")).text))
            for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return Score({("verdicts", "none"): len(set(verdicts))})

    def make(judge_batch: int) -> Any:
        def compute(request: Request) -> str:
            return f"verdict on {request.text}"

        return MockEndpoint(compute) if is_async else MockBatch(compute, batch_size=judge_batch)

    task = ListTask(docs(40), score=score, is_guest=True, roles=["judge"])
    outcome = run_tasks([task], MockBatch(answer_of, batch_size=4), tmp_path / "run", roles={"judge": make(16)})
    assert value_of(outcome, "verdicts") == 3
    rows = list(read_samples(outcome.folder, "list"))
    assert all(sum(exchange["role"] == "judge" for exchange in row["exchanges"]) == 3 for row in rows)


def test_scoring_again_never_asks_the_judge_again(tmp_path: Path) -> None:
    n_judged = 0

    def judge(request: Request) -> str:
        nonlocal n_judged
        n_judged += 1
        return "yes"

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        return Score(
            {
                ("ok", "none"): float(asker("judge", ask(played.responses[0].text)).text == "yes"),
                ("set", "none"): {1, 2},
            }
        )

    class CountSets(ListTask):
        def reduce(self, rows: Any, context: Any) -> Any:
            sets = [row.score.values["set", "none"] for row in rows]
            assert sets == [{1, 2}] * 6
            return []

    model, referee = MockBatch(answer_of, identity={"b": 1}), MockBatch(judge, identity={"b": 2})
    run_tasks([CountSets(docs(6), score=score, roles=["judge"])], model, tmp_path / "run", roles={"judge": referee})
    assert n_judged == 6


def test_a_failed_judge_leaves_the_sample_unscored(tmp_path: Path) -> None:
    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        response = asker("judge", ask(played.responses[0].text))
        return Score({("ok", "none"): 0.0 if response.error else 1.0})

    def judge(request: Request) -> Any:
        return Response(error=Error("permanent", "down")) if request.text == "a1" else "yes"

    task = ListTask(docs(4), score=score, roles=["judge"])
    outcome = run_tasks([task], MockBatch(answer_of), tmp_path / "run", roles={"judge": MockBatch(judge)})
    assert outcome.results["tasks"]["list"]["statuses"] == {"ok": 3, "unscored": 1}
    assert value_of(outcome, "ok") == 1.0


@pytest.mark.parametrize("workers", [1, 8])
def test_a_parser_that_guesses_guesses_the_same_on_any_number_of_threads(tmp_path: Path, workers: int) -> None:
    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        return Score({("guess", "none"): random.choice(range(1000))})

    def guesses(folder: Path, n_workers: int, batch_size: int) -> list[int]:
        task = ListTask(docs(60), score=score, is_guest=True)
        outcome = run_tasks([task], MockBatch(answer_of, batch_size=batch_size), folder, score_workers=n_workers)
        return [row["scores"][0]["value"] for row in read_samples(outcome.folder, "list")]

    before = random.getstate()
    found = guesses(tmp_path / "a", workers, 5)
    assert random.getstate() == before
    assert found == guesses(tmp_path / "b", 3, 1)
    assert len(set(found)) > 40


def test_a_hook_keeps_its_random_state_while_it_waits_for_a_judge(tmp_path: Path) -> None:
    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        first = random.random()
        asker("judge", ask(sample.id))
        return Score({("pair", "none"): [first, random.random()]})

    class Keep(ListTask):
        def reduce(self, rows: Any, context: Any) -> Any:
            return []

    def pairs(folder: Path, workers: int) -> list[Any]:
        task = Keep(docs(30), score=score, is_guest=True, roles=["judge"])
        roles = {"judge": MockEndpoint(lambda request: "yes", delay_s=0.001)}
        outcome = run_tasks([task], MockBatch(answer_of), folder, roles=roles, score_workers=workers)
        return [row["scores"][0]["value"] for row in read_samples(outcome.folder, "list")]

    assert pairs(tmp_path / "a", 1) == pairs(tmp_path / "b", 8)


def test_scoring_that_waits_runs_several_at_a_time_and_guesses_the_same(tmp_path: Path) -> None:
    together: list[int] = []
    inside = 0
    lock = threading.Lock()

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        nonlocal inside
        first = random.random()
        with lock:
            inside += 1
            together.append(inside)
        time.sleep(0.004)
        with lock:
            inside -= 1
        legacy = float(np.random.rand())  # noqa: NPY002  (what task code does)
        return Score({("pair", "none"): [first, random.random(), legacy]})

    class Keep(ListTask):
        def reduce(self, rows: Any, context: Any) -> Any:
            return []

    def pairs(folder: Path, workers: int) -> list[Any]:
        together.clear()
        task = Keep(docs(40), score=score, is_guest=True)
        outcome = run_tasks([task], MockBatch(answer_of, batch_size=8), folder, score_workers=workers)
        return [row["scores"][0]["value"] for row in read_samples(outcome.folder, "list")]

    alone = pairs(tmp_path / "a", 1)
    assert max(together) == 1
    assert pairs(tmp_path / "b", 4) == alone
    assert 1 < max(together) <= 4


def test_two_tasks_share_a_run_and_a_chunk_can_be_kept_apart(tmp_path: Path) -> None:
    seen: list[set[str]] = []

    class Watching(MockBatch):
        def respond(self, requests: list[Request]) -> list[Response]:
            seen.append({request.origin.task for request in requests if request.origin})
            return super().respond(requests)

    model = Watching(answer_of, group_key=lambda request: request.origin.task if request.origin else "")
    tasks = [ListTask(docs(30), name="one"), ListTask(docs(30), name="two")]
    outcome = run_tasks(tasks, model, tmp_path / "run")
    assert value_of(outcome, task="one") == value_of(outcome, task="two") == 1.0
    assert all(len(names) == 1 for names in seen)


def test_limit_is_a_count_or_a_share(tmp_path: Path) -> None:
    for limit, expected in ((3, 3), (0.5, 5), (100, 10), (0.01, 1)):
        outcome = run_tasks([ListTask(docs(10))], MockBatch(answer_of), tmp_path / str(limit), limit=limit)
        assert outcome.results["tasks"]["list"]["n_samples"] == expected


def test_another_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    run_tasks([ListTask(docs(3))], MockBatch(answer_of), tmp_path / "run", seed=1)
    with pytest.raises(PlanError, match="seed differs"):
        run_tasks([ListTask(docs(3))], MockBatch(answer_of), tmp_path / "run", seed=2)
    with pytest.raises(PlanError, match="changed since"):
        run_tasks([ListTask(docs(4))], MockBatch(answer_of), tmp_path / "run", seed=1)
    run_tasks([ListTask(docs(4))], MockBatch(answer_of), tmp_path / "run", seed=2, is_restart=True)


def test_changed_scoring_code_scores_again_without_asking(tmp_path: Path) -> None:
    n_asked = 0

    def compute(request: Request) -> str:
        nonlocal n_asked
        n_asked += 1
        return answer_of(request)

    model = MockBatch(compute, identity={"backend": "m"})
    run_tasks([ListTask(docs(9), source="v1")], model, tmp_path / "run")
    lenient = ListTask(docs(9), source="v2", score=lambda *_: Score({("exact_match", "none"): 0.5}))
    outcome = run_tasks([lenient], model, tmp_path / "run")
    assert value_of(outcome) == 0.5
    assert n_asked == 9


def test_a_completed_sample_whose_prompt_has_changed_is_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def compute(request: Request) -> str:
        asked.append(request.text)
        return "x"

    def task(version: str) -> ListTask:
        def play(sample: Sample) -> RolloutSteps:
            yield ask(f"{sample.doc['question']} {version}", sample)

        return ListTask(docs(3), source=version, play=play)

    model = MockBatch(compute, identity={"backend": "m"})
    for version in ("v1", "v1", "v2", "v2"):
        outcome = run_tasks([task(version)], model, tmp_path / "run")
        assert outcome.results["tasks"]["list"]["statuses"] == {"ok": 3}
    questions = [doc["question"] for doc in docs(3)]
    assert asked == [f"{question} {version}" for version in ("v1", "v2") for question in questions]


def test_a_nondeterministic_task_is_reported(tmp_path: Path) -> None:
    version = 1

    def play(sample: Sample) -> RolloutSteps:
        yield ask(f"{sample.doc['question']} v{version}", sample)

    class Forgetful(MockBatch):
        pass

    model = Forgetful(lambda request: "x", identity={"backend": "m"})

    def score(sample: Sample, played: Rollout, asker: RoleClient) -> Score:
        if version == 1:
            raise ValueError("not yet")
        return Score({("m", "none"): 1.0})

    run_tasks([ListTask(docs(4), play=play, score=score)], model, tmp_path / "run")
    version = 2
    outcome = run_tasks([ListTask(docs(4), play=play, score=score)], model, tmp_path / "run")
    assert outcome.results["tasks"]["list"]["n_nondeterministic"] == 4
    assert any("not deterministic" in note for note in outcome.results["notes"])


def test_stop_strings_are_applied_for_every_backend_alike(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample, stop=("\n\n", "END"))

    said = "<think>a\n\nb END</think>answerEND more"
    for number, model in enumerate([MockBatch(lambda r: said), MockEndpoint(lambda r: said)]):
        outcome = run_tasks([ListTask(docs(1), play=play)], model, tmp_path / str(number))
        row = next(read_samples(outcome.folder, "list"))
        assert row["answer"] == "answer"
        assert row["exchanges"][0]["response"]["outputs"][0]["text"] == said, "the journal keeps what was received"


def test_stop_strings_do_not_touch_a_foreign_model(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample, stop=("END",))

    for applies, expected in [(False, "answerEND more"), (True, "answer")]:
        model = MockBatch(lambda r: "answerEND more", traits=ModelTraits("x", is_foreign=True))
        options = {"apply_stops_to_foreign": applies}
        outcome = run_tasks([ListTask(docs(1), play=play)], model, tmp_path / str(applies), **options)
        assert next(read_samples(outcome.folder, "list"))["answer"] == expected


def test_the_manifest_tells_what_ran(tmp_path: Path) -> None:
    outcome = run_tasks([ListTask(docs(3))], MockBatch(answer_of), tmp_path / "run", seed=7)
    manifest = json.loads(outcome.folder.manifest.read_text())
    assert manifest["status"] == "complete"
    assert manifest["options"]["identity"]["seed"] == 7
    assert manifest["polymeter"]["version"]
    assert manifest["tasks"][0]["n_samples"] == 3
    assert manifest["hardware"]["cores"] >= 1


def test_an_unknown_ability_is_settled_by_a_probe_before_the_rest_is_asked(tmp_path: Path) -> None:
    asked: list[str] = []

    def compute(request: Request) -> Any:
        asked.append(request.text)
        return Response(error=Error("permanent", "this endpoint takes no such request"))

    with pytest.raises(PlanError, match=r"asks for generate and text: this endpoint takes no such request"):
        run_tasks([ListTask(docs(500))], MockBatch(compute, traits=ModelTraits("x")), tmp_path / "run")
    assert asked == ["q0", "q250"]


def test_a_probe_is_a_sample_like_any_other_and_is_not_asked_twice(tmp_path: Path) -> None:
    asked: list[str] = []

    def compute(request: Request) -> str:
        asked.append(request.text)
        return answer_of(request)

    lines: list[str] = []
    model = MockBatch(compute, traits=ModelTraits("x"))
    outcome = run_tasks([ListTask(docs(20))], model, tmp_path / "run", progress=PlainProgress(lines.append))
    assert outcome.results["tasks"]["list"]["n_scored"] == 20
    assert asked[0] == "q0"
    assert len(asked) == 20
    # The sample of the probe did not end before this run, so a fresh run says nothing of earlier ones.
    assert "20 samples" in lines
    assert lines[-1].startswith(("20/20 samples", "reducing", "writing"))
