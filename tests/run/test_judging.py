"""Judges in a run: asked once, kept with the score, replaced without asking the model, and never a zero by mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.request import Generate, Origin, Output, Request, Response
from polymeter.judge import LLMJudge
from polymeter.models.mock import MockBatch, MockEndpoint
from polymeter.run.schedule.role_client import SampleRoleClient
from polymeter.store.exports.export import read_samples
from polymeter.store.journal import Journal
from tests.helpers.judged import CARELESS, CODE, N_ROWS, TASK, judged_folder
from tests.run.judging_child import carry_out

ROOT = Path(__file__).parents[2]


class Judge(MockBatch):
    """A judge that notes of which samples it was asked."""

    def __init__(self, verdict: Callable[[int], str | Response], name: str = "judge") -> None:
        self.asked: list[int] = []

        def compute(request: Request) -> str | Response:
            assert request.origin is not None
            self.asked.append(int(request.origin.sample))
            return verdict(int(request.origin.sample))

        super().__init__(compute, identity={"backend": name})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged_folder(tmp_path / "tasks")


def evaluate(folder: Path, judge: Any, *, output: str = "run", **options: Any) -> polymeter.RunResult:
    model = MockBatch(lambda request: "said", identity={"backend": "answers"})
    return polymeter.evaluate(
        model,
        TASK,
        include_paths=[folder],
        output=folder.parent / output,
        roles={"judge": judge},
        cache_dir=folder.parent / "cache",
        **options,
    )


def statuses(found: polymeter.RunResult) -> dict[str, int]:
    counts: dict[str, int] = found.results["tasks"][TASK]["statuses"]
    return counts


@pytest.mark.parametrize("code", [CODE, CARELESS])
def test_an_unusable_verdict_leaves_the_sample_unscored_whatever_the_task_makes_of_it(
    tmp_path: Path, code: str
) -> None:
    folder = judged_folder(tmp_path / "tasks", code=code)
    found = evaluate(folder, Judge(lambda n: "All in all it is right." if n == 2 else "A"))
    assert found.value(TASK, "judged") == 1.0
    assert statuses(found) == {"ok": N_ROWS - 1, "unscored": 1}
    lost = next(row for row in read_samples(found.folder, TASK) if row["status"] == "unscored")
    assert "does not show a verdict (A, B): 'All in all it is right.'" in lost["error"]["message"]
    assert found.exit_code == 1


def test_a_judge_that_fails_leaves_the_sample_unscored_and_says_why(tmp_path: Path) -> None:
    def verdict(number: int) -> str:
        if number == 1:
            raise ModelError("The judge is out to lunch.")
        return "A"

    found = evaluate(judged_folder(tmp_path / "tasks", code=CARELESS), Judge(verdict))
    assert statuses(found) == {"ok": N_ROWS - 1, "unscored": 1}
    lost = next(row for row in read_samples(found.folder, TASK) if row["status"] == "unscored")
    assert "The judge is out to lunch." in lost["error"]["message"]


@pytest.mark.parametrize("code", [CODE, CARELESS])
@pytest.mark.parametrize(
    "output",
    [
        Output(text="<think>Verdict: A", finish_reason="length"),
        Output(text="", reasoning="Verdict: A", finish_reason="length"),
    ],
    ids=["in its text", "in a field of its own"],
)
def test_a_judge_that_was_cut_off_in_its_reasoning_leaves_the_sample_unscored(
    tmp_path: Path, code: str, output: Output
) -> None:
    def verdict(number: int) -> Any:
        return Response((output,)) if number == 2 else "A"

    found = evaluate(judged_folder(tmp_path / "tasks", code=code), Judge(verdict))
    assert statuses(found) == {"ok": N_ROWS - 1, "unscored": 1}
    lost = next(row for row in read_samples(found.folder, TASK) if row["status"] == "unscored")
    assert "ended inside its reasoning (token limit), before a verdict. Raise the judge's" in lost["error"]["message"]
    assert found.exit_code == 1
    said = next(exchange for exchange in lost["exchanges"] if exchange["role"] == "judge")["response"]["outputs"][0]
    assert (said["text"], said.get("reasoning")) == (output.text, output.reasoning)  # as it was received


def test_judge_prompt_version_and_verdict_are_kept_with_the_score(folder: Path) -> None:
    found = evaluate(folder, Judge(lambda n: "B" if n == 3 else "A"))
    manifest = json.loads(found.folder.manifest.read_text())
    row = [*read_samples(found.folder, TASK)][3]
    asked = next(exchange for exchange in row["exchanges"] if exchange["role"] == "judge")
    assert asked["model"] == manifest["roles"]["judge"]["fingerprint"]
    assert manifest["roles"]["judge"]["identity"] == {"backend": "judge"}
    assert asked["request"]["judge_prompt"] == LLMJudge().prompt_version
    assert asked["response"]["outputs"][0]["text"] == "B"
    assert len(row["judge_calls"]) == 1
    assert row["judge_rules"] == ["the whole answer"]
    page = found.report.read_text()
    assert '"read_by":"the whole answer"' in page
    assert LLMJudge().prompt_version in page
    assert "Model in the role judge" in page


def test_verdicts_are_asked_for_together_also_where_the_task_does_not_declare_a_judge(tmp_path: Path) -> None:
    judge = MockEndpoint(lambda request: "A", identity={"backend": "endpoint"}, delay_s=0.05)
    found = evaluate(judged_folder(tmp_path / "tasks", n_rows=60), judge, concurrency=32)
    assert statuses(found) == {"ok": 60}
    assert judge.n_requests == 60
    assert 8 < judge.most_in_flight <= 32


# --- scoring again ----------------------------------------------------------------------------------------------------


def test_scoring_again_asks_nobody(folder: Path) -> None:
    first = evaluate(folder, judge := Judge(lambda n: "B" if n == 3 else "A"))
    again = polymeter.score(first.folder.path)
    assert again.folder.path.name == "run-rescored"
    assert again.results["tasks"] == first.results["tasks"]
    assert len(judge.asked) == N_ROWS
    assert "Scored again from the answers of run." in again.results["notes"]
    assert again.folder.read_manifest()["usage"] == first.folder.read_manifest()["usage"]
    assert again.results["usage_by_role"] == first.results["usage_by_role"]
    assert {role: usage.requests for (role, _), usage in again.usage.items()} == {"model": N_ROWS, "judge": N_ROWS}


def test_another_judge_is_asked_once_and_the_old_verdicts_stay(folder: Path) -> None:
    first = evaluate(folder, Judge(lambda n: "A"))
    before = {path: path.read_bytes() for path in (first.folder.results, first.folder.manifest)}
    other = Judge(lambda n: "B" if n % 2 else "A", "other")
    again = polymeter.score(first.folder.path, roles={"judge": other})
    assert (again.value(TASK, "judged"), first.value(TASK, "judged")) == (0.5, 1.0)
    assert sorted(other.asked) == list(range(N_ROWS))
    assert again.folder.path.name == "run-judge-Judge"
    assert {path: path.read_bytes() for path in before} == before
    journal = Journal(again.folder.journal)
    models = Counter(key.model for n in range(N_ROWS) for key in journal.answers(TASK, n) if key.role == "judge")
    journal.close()
    assert sorted(models.values()) == [N_ROWS, N_ROWS]
    verdicts = [row["exchanges"][0]["response"]["outputs"][0]["text"] for row in read_samples(again.folder, TASK)]
    assert verdicts == ["A", "B"] * (N_ROWS // 2), "only the verdicts that count are shown"
    polymeter.score(first.folder.path, roles={"judge": other})
    assert len(other.asked) == N_ROWS


def test_the_same_judge_is_asked_only_for_what_is_missing(folder: Path) -> None:
    evaluate(folder, Judge(lambda n: "A"), limit=8)
    utils = folder / "utils.py"
    utils.write_text(CODE.replace("LLMJudge()", "LLMJudge(system_prompt='Be strict.' )"))
    judge = Judge(lambda n: "A")
    run = folder.parent / "run"
    changed = polymeter.score(run, roles={"judge": judge}, output=folder.parent / "changed")
    assert (statuses(changed), len(judge.asked)) == ({"ok": 8}, 8), "another prompt is another question"
    utils.write_text(CODE)
    polymeter.score(run, roles={"judge": judge}, output=folder.parent / "as_before")
    assert len(judge.asked) == 8
    assert statuses(polymeter.score(changed.folder.path, output=folder.parent / "third")) == {"ok": 8}


def test_without_a_judge_a_new_question_has_no_verdict(folder: Path) -> None:
    evaluate(folder, Judge(lambda n: "A"))
    (folder / "utils.py").write_text(CODE.replace("LLMJudge()", "LLMJudge(system_prompt='Be strict.')"))
    again = polymeter.score(folder.parent / "run")
    assert statuses(again) == {"unscored": N_ROWS}
    row = next(read_samples(again.folder, TASK))
    assert "scoring again does not ask for one" in row["error"]["message"]


def test_changed_scoring_is_scored_anew_from_the_answers(folder: Path) -> None:
    evaluate(folder, Judge(lambda n: "A"))
    (folder / "utils.py").write_text(CODE.replace('{"judged": judge', '{"judged": 10 * judge'))
    assert polymeter.score(folder.parent / "run").value(TASK, "judged") == 10.0


def test_a_run_with_holes_is_scored_as_far_as_it_goes_and_further_when_they_are_filled(folder: Path) -> None:
    broken = {"question 3", "question 4"}

    def answer(request: Request) -> str:
        if request.text in broken:
            raise ModelError("The model broke down.")
        return "said"

    def evaluated() -> polymeter.RunResult:
        return polymeter.evaluate(
            MockBatch(answer, identity={"backend": "answers"}),
            TASK,
            include_paths=[folder],
            output=folder.parent / "run",
            roles={"judge": Judge(lambda n: "A")},
            cache_dir=folder.parent / "cache",
        )

    run, other = evaluated().folder.path, Judge(lambda n: "A", "other")
    partial = polymeter.score(run, roles={"judge": other})
    assert statuses(partial) == {"ok": N_ROWS - 2, "error": 2}
    lost = [row for row in read_samples(partial.folder, TASK) if row["status"] == "error"]
    assert all("The run holds no answer to this question" in row["error"]["message"] for row in lost)
    broken.clear()
    evaluated()
    whole = polymeter.score(run, roles={"judge": other})
    assert whole.folder.path == partial.folder.path
    assert statuses(whole) == {"ok": N_ROWS}
    assert sorted(other.asked) == list(range(N_ROWS))


def test_a_model_that_brings_its_own_prompts_is_not_needed_to_score_again(folder: Path) -> None:
    model = MockBatch(
        lambda request: "said",
        ModelTraits("mock", has_own_prompts=True),
        identity={"backend": "answers"},
    )
    polymeter.evaluate(
        model,
        TASK,
        include_paths=[folder],
        output=folder.parent / "run",
        roles={"judge": Judge(lambda n: "A")},
        cache_dir=folder / "cache",
    )
    judge = Judge(lambda n: "A")
    assert statuses(polymeter.score(folder.parent / "run", roles={"judge": judge})) == {"ok": N_ROWS}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"output": "run"}, "scored again into a folder of its own"),
        ({"output": "other"}, "The output folder holds another run"),
        ({"output": "run-rescored"}, "another scoring of this run"),
        ({"limit": 3}, "Option 'limit' can change the model's answers"),
        ({"limits": 3}, "There is no option 'limits'"),
    ],
)
def test_what_scoring_again_refuses(folder: Path, how: dict[str, Any], message: str) -> None:
    evaluate(folder, Judge(lambda n: "A"))
    evaluate(folder, Judge(lambda n: "A"), output="other")
    polymeter.score(folder.parent / "run")
    told = {**how, "output": folder.parent / how["output"]} if "output" in how else how
    with pytest.raises(PlanError, match=message):
        polymeter.score(folder.parent / "run", roles={"judge": Judge(lambda n: "A", "new")}, **told)


def test_there_must_be_a_run(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="There is no run folder"):
        polymeter.score(tmp_path / "nothing")


@pytest.mark.needs_system("evalscope")
def test_a_dialect_s_rules_may_change(tmp_path: Path) -> None:
    from tests.conformance.evalscope.test_adapter_guide import METHODS, pets

    run = polymeter.evaluate(
        "mock",
        "guide_judge",
        include_paths=[METHODS],
        data={"example/guide_judge": str(pets(tmp_path / "pets"))},
        output=tmp_path / "run",
        cache_dir=tmp_path / "cache",
    )
    assert run.value("guide_judge", "AverageAccuracy") == 0.0
    judge = MockBatch(lambda request: "Verdict: A", identity={"backend": "kind"})
    judged = polymeter.score(
        run.folder.path, roles={"judge": judge}, dialect_options={"adapter": {"judge_strategy": "llm"}}
    )
    assert judged.value("guide_judge", "AverageAccuracy") == 1.0


# --- killed and resumed -----------------------------------------------------------------------------------------------


def killed(folder: Path, verb: str, output: str, instant: str, occurrence: int) -> None:
    """Begin in a process of its own, which dies on the way."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.judging_child", *words(folder, verb, output), instant, str(occurrence)],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def resumed(folder: Path, verb: str, output: str) -> Counter[str]:
    """Go on; gives what was asked."""
    log = folder.parent / "log"
    log.unlink(missing_ok=True)
    carry_out(*words(folder, verb, output))
    return Counter(log.read_text().splitlines() if log.exists() else ())


def words(folder: Path, verb: str, output: str) -> list[str]:
    place = folder.parent
    return [verb, str(folder), str(place / "run"), str(place / output), str(place / "log")]


def durable(output: Path) -> set[str]:
    """The verdicts and answers that are in a journal."""
    journal = Journal(output / "journal.db")
    told = {f"{key.role} {n}" for n in range(N_ROWS) for key in journal.answers(TASK, n)}
    journal.close()
    return told


@pytest.mark.parametrize(
    ("instant", "occurrence"), [("after_answers", 9), ("mid_transaction", 9), ("before_reduce", 1)]
)
def test_a_killed_judge_run_pays_for_no_verdict_twice(folder: Path, instant: str, occurrence: int) -> None:
    killed(folder, "run", "run", instant, occurrence)
    paid = durable(folder.parent / "run")
    asked = resumed(folder, "run", "run")
    assert not paid & asked.keys()
    assert paid | asked.keys() == {f"{role} {n}" for role in ("model", "judge") for n in range(N_ROWS)}
    assert set(asked.values()) <= {1}


@pytest.mark.parametrize(("instant", "occurrence"), [("after_answers", 5), ("mid_transaction", 9)])
def test_killed_scoring_goes_on_and_pays_for_no_verdict_twice(folder: Path, instant: str, occurrence: int) -> None:
    evaluate(folder, Judge(lambda n: "A"))
    run = durable(folder.parent / "run")
    killed(folder, "score", "again", instant, occurrence)
    paid = verdicts_of_another(folder.parent / "again")
    asked = resumed(folder, "score", "again")
    assert not any(question.startswith("model") for question in asked)
    assert not paid & asked.keys()
    assert paid | asked.keys() == {f"judge {n}" for n in range(N_ROWS)}
    assert durable(folder.parent / "run") == run


def verdicts_of_another(output: Path) -> set[str]:
    """The verdicts of the second judge that are in the journal of a scoring."""
    if not (output / "journal.db").exists():
        return set()
    journal = Journal(output / "journal.db")
    known = {n: [key.model for key in journal.answers(TASK, n) if key.role == "judge"] for n in range(N_ROWS)}
    journal.close()
    return {f"judge {n}" for n, models in known.items() if len(models) == 2}


def test_each_thread_refuses_the_answer_that_it_was_given() -> None:
    """The threads of an ``evaluate`` ask at the same time, and each finds later that its answer is no verdict."""
    said = Response(outputs=(Output(text="hm"),))
    request = Request((), Generate(), origin=Origin("task", "sample"))
    asked = SimpleNamespace(fingerprint="f", question="q", request=request)
    running = SimpleNamespace(
        lock=threading.Lock(), judge_calls=[], lost_verdicts={}, verdicts={"q": said}, ask=lambda role, request: asked
    )
    reader = SimpleNamespace(read=lambda *_: said)
    client = SampleRoleClient(running, {"judge"}, None, None, None, reader)  # type: ignore[arg-type]
    both_asked = threading.Barrier(2)

    def score(row: int) -> None:
        client("judge", request)
        both_asked.wait(timeout=10)
        client.refuse(f"no verdict on row {row}")
        client.refuse("which the caller says too")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(score, (1, 2)))
    assert set(running.lost_verdicts.values()) == {"no verdict on row 1", "no verdict on row 2"}
