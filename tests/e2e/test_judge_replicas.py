"""Judges on this machine in several processes: the same verdicts as in one, whatever dies."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.api.result import RunResult
from polymeter.core.errors import PlanError
from polymeter.core.names.registries import MODELS
from polymeter.models.mock import MockBatch
from tests.e2e.kit import polymeter as command
from tests.helpers.judged import N_ROWS, TASK, judged_folder
from tests.helpers.slow_scoring import assert_same_journal

JUDGE = '''
import os, signal
from pathlib import Path
from polymeter import BatchModel, ModelTraits, Response, register_model


@register_model("careful")
class Careful(BatchModel):
    """Judges, notes in which process, and dies of some questions."""

    batch_hint = 1

    def __init__(self, folder):
        self.traits = ModelTraits(family="careful", requests={"generate": True}, modalities={"text": True})
        self._folder = Path(folder)

    @property
    def identity(self):
        return {"backend": "careful"}

    def respond(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        with open(self._folder / "asked", "a") as log:
            log.write(f"{os.getpid()} {request.origin.sample}\\n")
        for word in ("fatal", "once"):
            deadly = self._folder / word
            if deadly.exists() and deadly.read_text() == request.origin.sample:
                if word == "once":
                    deadly.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return Response.of_text("B" if "question 3" in request.text else "A")
'''


class Judged:
    """A task that a judge scores, with that judge.

    Args:
        folder: Where everything lies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        judged_folder(folder / "tasks")
        (folder / "careful.py").write_text(JUDGE)
        self.judge = polymeter.ModelSpec("careful", args={"folder": str(folder)})

    def run(self, name: str, model: Any = "mock", **options: Any) -> RunResult:
        """Run the task in this process."""
        (self.folder / "asked").write_text("")
        return polymeter.evaluate(
            model,
            TASK,
            include_paths=[self.folder / "tasks"],
            imports=[self.folder / "careful.py"],
            output=self.folder / name,
            cache_dir=self.folder / "cache",
            **{"roles": {"judge": self.judge}, **options},
        )

    def asked(self) -> list[tuple[int, str]]:
        """Which process was asked about which sample."""
        pairs = (line.split() for line in (self.folder / "asked").read_text().splitlines())
        return [(int(process), sample) for process, sample in pairs]


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    monkeypatch.setattr(MODELS, "_users", dict(MODELS._users))
    return Judged(tmp_path)


def of_judge(run: RunResult) -> dict[str, Any]:
    """What a run's manifest says of the judge's replicas."""
    found: dict[str, Any] = run.folder.read_manifest()["sessions"][-1]["lanes"]["judge"]["replicas"]
    return found


@pytest.mark.parametrize("beside", [{}, {"replicas": 1}])
def test_verdicts_are_those_of_one_process(judged: Judged, beside: dict[str, Any]) -> None:
    single = judged.run("single")
    assert {process for process, _ in judged.asked()} == {os.getpid()}
    several = judged.run("several", judge_replicas=2, **beside)
    assert_same_journal(single, several)
    asked = judged.asked()
    assert os.getpid() not in {process for process, _ in asked}
    assert sorted(int(sample) for _, sample in asked) == list(range(N_ROWS))
    assert (of_judge(several)["planned"], of_judge(several)["n_lost"]) == (2, 0)


def test_a_replica_of_a_judge_that_dies_costs_what_it_was_asked(judged: Judged) -> None:
    (judged.folder / "once").write_text("5")
    run = judged.run("run", judge_replicas=2)
    assert run.n_failed == 0
    assert Counter(sample for _, sample in judged.asked())["5"] == 2
    assert of_judge(run)["n_lost"] == 1


def test_a_question_that_kills_every_judge_leaves_one_sample_unscored(judged: Judged) -> None:
    (judged.folder / "fatal").write_text("5")
    run = judged.run("run", judge_replicas=2)
    statuses = {sample.id: sample.status for sample in run.samples()}
    assert statuses.pop("5") == "unscored"
    assert set(statuses.values()) == {"ok"}
    (failed,) = [sample for sample in run.samples() if sample.id == "5"]
    assert "Replicas were lost 2 times while computing this request" in failed.error


def test_a_run_is_scored_again_by_replicas_of_a_judge(judged: Judged) -> None:
    run = judged.run("run", roles={"judge": polymeter.ModelSpec("mock", args={"answer": "A"})}, replicas=2)
    (judged.folder / "asked").write_text("")
    again = polymeter.score(
        run.folder.path, roles={"judge": judged.judge}, output=judged.folder / "again", judge_replicas=2
    )
    assert again.n_failed == 0
    assert os.getpid() not in {process for process, _ in judged.asked()}
    assert "model" not in {
        role for role, lane in again.folder.read_manifest()["sessions"][-1]["lanes"].items() if "replicas" in lane
    }
    with pytest.raises(PlanError, match="is not asked, so it has no replicas"):
        polymeter.score(run.folder.path, output=judged.folder / "never", replicas=2)


def test_a_judge_that_is_the_measured_model_has_its_replicas(judged: Judged) -> None:
    run = judged.run("run", judged.judge, replicas=2)
    assert len(judged.asked()) == 2 * N_ROWS
    assert os.getpid() not in {process for process, _ in judged.asked()}
    lanes = run.folder.read_manifest()["sessions"][-1]["lanes"]
    assert lanes["judge"] == lanes["model"]


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (None, "has no judge on this machine, so it has none for replicas"),
        (polymeter.ModelSpec("mock", args={"is_async": True}), "has no judge on this machine"),
        (MockBatch(lambda request: "A", identity={"backend": "here"}), "The judge is a Python object of this process"),
        (polymeter.ModelSpec("mock"), "has no judge on this machine"),
    ],
    ids=["none", "endpoint", "object", "the model"],
)
def test_what_cannot_have_replicas_is_refused_before_anything_is_asked(judged: Judged, judge: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        judged.run("run", judge_replicas=2, roles={} if judge is None else {"judge": judge})
    assert not (judged.folder / "run").exists()


def test_the_command_says_how_the_judge_s_replicas_fared(judged: Judged) -> None:
    words = [
        "run",
        "--model",
        "mock",
        "--tasks",
        TASK,
        "--include-path",
        str(judged.folder / "tasks"),
        "--output",
        "run",
    ]
    words += ["--import", "careful.py", "--judge", "careful", "--judge-args", f"folder={judged.folder}"]
    done = command(*words, "--judge-replicas", "2", cwd=judged.folder)
    assert done.returncode == 0, done.stderr
    assert "replicas judge: 2, busy" in done.stderr + done.stdout
    shown = command("report", "run", cwd=judged.folder)
    assert shown.returncode == 0
    page = (judged.folder / "run" / "report.html").read_text()
    assert "judge: 2, busy" in page
    again = command("score", "run", *words[-4:], "--judge-replicas", "1", "--lease-timeout", "60", cwd=judged.folder)
    assert again.returncode == 0, again.stderr


def test_a_judge_in_the_process_of_the_run_takes_no_gpu_from_the_model(
    judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert judged.run("run", replicas=2).status == "complete"
    with pytest.raises(PlanError, match="The first GPU is the measured model's"):
        judged.run("never", judge_replicas=2)
    assert not (judged.folder / "never").exists()
