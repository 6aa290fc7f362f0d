"""A scorer, in this process: what it scores as the run does, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Image
from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import has_role
from polymeter.core.model import ModelTraits
from polymeter.core.options import RunOptions
from polymeter.core.request import Generate, Message, Request, Response
from polymeter.core.task import SampleStatus, Score
from polymeter.judge.panel import Panel
from polymeter.run.dispatch.answers import AnswerReader
from polymeter.run.dispatch.replicas import scorer as scorers
from polymeter.run.dispatch.replicas.hosts import Work
from polymeter.run.dispatch.replicas.scorer import Finished, NotScoredYet, ScoredSample, ScoringSetup
from polymeter.run.schedule.running_samples import Question, RunningSample, RunningTask
from polymeter.store.wire import read_score
from tests.helpers.tasks import ListTask, ask, docs

KEY = ("exact_match", "none")


def scored(
    monkeypatch: pytest.MonkeyPatch,
    score: Callable[..., Score] | None,
    *,
    asked: str = "q0",
    roles: Any = (),
    panel: Panel | None = None,
    verdicts: Mapping[Question, Response] = MappingProxyType({}),
) -> Any:
    """What a scorer makes of the first row of a task, whose answer to ``asked`` was right."""
    task = ListTask(docs(1), score=score, is_guest=True)
    monkeypatch.setattr(scorers, "compiled", lambda *_: task.as_task())
    running = RunningSample(RunningTask(task.as_task(), 0, range(1), ""), task.samples[0])
    mark = running.ask("model", ask(asked, running.sample)).fingerprint
    setup = ScoringSetup(
        (task.spec,), ModelTraits(family="none"), roles, AnswerReader(), panel, OpenContext(), RunOptions()
    )
    made = setup.made()
    made.load()
    finished = Finished("list", 0, ((mark, Response.of_text("a0")),), verdicts)
    computed = made.compute(Work(5, [[finished]]), made.prepare(Work(5, [[finished]])))
    made.close()
    assert computed.lease == 5
    (answer,) = computed.responses
    return answer


def test_a_sample_is_played_over_its_answers_and_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = scored(monkeypatch, None)
    assert isinstance(answer, ScoredSample)
    assert (answer.status, answer.error) == (SampleStatus.OK, None)
    assert read_score(answer.written.score or "").values == {KEY: 1.0}
    assert answer.written.row == '{"question":"q0","answer":"a0"}'


def test_what_the_author_s_code_does_to_the_row_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(sample: Any, *_: Any) -> Score:
        sample.doc["seen"] = True
        return Score({KEY: float("nan")})

    assert scored(monkeypatch, score).written.row == '{"question":"q0","answer":"a0","seen":true}'


def test_a_score_that_fails_is_an_end_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(*_: Any) -> Score:
        raise ValueError("no number")

    answer = scored(monkeypatch, score)
    assert answer.status is SampleStatus.ERROR
    assert "ValueError: no number" in answer.error.message


def _with_objects(*_: Any) -> Score:
    return Score({KEY: object()})


def _with_images(*_: Any) -> Score:
    return Score({KEY: 1.0}, log={"reference": pil.new("RGB", (2, 2))})


@pytest.mark.parametrize(
    ("score", "asked", "why"),
    [
        (_with_objects, "q0", "cannot be written down exactly"),
        (_with_images, "q0", "logs images"),
        (None, "another", "replayed, it asks something else"),
    ],
)
def test_what_it_cannot_score_as_the_run_does_comes_back_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, score: Any, asked: str, why: str
) -> None:
    answer = scored(monkeypatch, score, asked=asked)
    assert isinstance(answer, Response)
    assert answer.error is not None
    assert why in answer.error.message


def _with_judge(sample: Any, played: Any, client: Any) -> Score:
    """Ask the judge, and depending on what it says ask again."""
    assert has_role("judge")
    first = client("judge", ask("Is it right?"))
    second = client("judge", ask(f"You said {first.text}. Is it?"))
    return Score({KEY: float(second.text == "yes")})


def test_what_the_judge_is_asked_comes_back_question_by_question(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: dict[Question, Response] = {}
    asked = []
    for said in ("no", "yes"):
        answer = scored(monkeypatch, _with_judge, roles=("judge",), verdicts=verdicts)
        assert isinstance(answer, NotScoredYet)
        asked.append((answer.role, answer.request.text, answer.occurrence, answer.turn))  # type: ignore[union-attr]
        verdicts[answer.role, answer.fingerprint, answer.occurrence] = Response.of_text(said)
    assert asked == [("judge", "Is it right?", 0, 2), ("judge", "You said no. Is it?", 0, 3)]
    answer = scored(monkeypatch, _with_judge, roles=("judge",), verdicts=verdicts)
    score = read_score(answer.written.score or "")
    assert score.values == {KEY: 1.0}
    assert score.judge_calls == tuple(mark for _, mark, _ in verdicts)


def test_the_judges_of_a_panel_are_asked_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    roles = ("judge", "judge_2")
    verdicts: dict[Question, Response] = {}
    asked = []
    for _ in range(4):
        answer = scored(monkeypatch, _with_judge, roles=roles, panel=Panel(roles, "mean", 2), verdicts=verdicts)
        asked.append((answer.role, answer.turn))
        verdicts[answer.role, answer.fingerprint, answer.occurrence] = Response.of_text("yes")
    assert asked == [("judge", 2), ("judge", 3), ("judge_2", 4), ("judge_2", 5)]


def test_a_judge_that_failed_leaves_the_sample_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = scored(monkeypatch, _with_judge, roles=("judge",))
    verdicts = {("judge", asked.fingerprint, 0): Response.failed(PlanError("It is too busy."))}
    answer = scored(monkeypatch, _with_judge, roles=("judge",), verdicts=verdicts)
    assert answer.status is SampleStatus.UNSCORED
    assert "It is too busy." in answer.error.message


def test_a_score_that_asks_the_judge_something_else_each_time_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = {("judge", "of another question", 0): Response.of_text("yes")}
    answer = scored(monkeypatch, _with_judge, roles=("judge",), verdicts=verdicts)
    assert isinstance(answer, Response)
    assert "scored again, it asks another model something else" in str(answer.error)


def test_a_judge_that_the_run_does_not_have_is_missed_as_in_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(sample: Any, played: Any, client: Any) -> Score:
        return Score({KEY: float(client("judge", ask("Is it right?")).text == "yes")})

    answer = scored(monkeypatch, score)
    assert answer.status is SampleStatus.UNSCORED
    assert "No model has the role 'judge'" in answer.error.message


def _retrying(sample: Any, played: Any, client: Any) -> Score:
    """Ask until the judge answers, as benchmarks do."""
    for _ in range(3):
        try:
            return Score({KEY: float(client("judge", ask("Is it right?")).text == "yes")})
        except Exception:
            sample.doc["waits"] = "a minute"
    return Score({KEY: 0.0})


def _holding(sample: Any, played: Any, client: Any) -> Score:
    """Ask until the judge answers, whatever happens."""
    while True:
        try:
            return Score({KEY: float(client("judge", ask("Is it right?")).text == "yes")})
        except:  # noqa: E722
            sample.doc["waits"] = "a minute"


@pytest.mark.parametrize("score", [_retrying, _holding])
def test_code_that_repeats_failed_questions_leaves_the_score_at_the_first(
    monkeypatch: pytest.MonkeyPatch, score: Any
) -> None:
    asked = scored(monkeypatch, score, roles=("judge",))
    assert isinstance(asked, NotScoredYet)
    assert asked.occurrence == 0
    verdicts = {("judge", asked.fingerprint, 0): Response.of_text("yes")}
    answer = scored(monkeypatch, score, roles=("judge",), verdicts=verdicts)
    assert read_score(answer.written.score or "").values == {KEY: 1.0}
    assert "waits" not in answer.written.row


def test_a_question_shows_and_rests_on_what_was_there_when_it_was_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "crop.png"

    def score(sample: Any, played: Any, client: Any) -> Score:
        Path(__file__).read_text()
        pil.new("RGB", (2, 3), (1, 2, 3)).save(file)
        try:
            client("judge", Request((Message("user", (Image(file),)),), Generate(8)))
        finally:
            file.unlink()
            Path(scorers.__file__).read_text()
        raise AssertionError

    asked = scored(monkeypatch, score, roles=("judge",))
    (image,) = asked.request.images()
    assert image.open().size == (2, 3)
    assert image.file_name() == "crop.png"
    assert [*asked.files] == [__file__]


def test_a_row_is_fresh_each_time_its_sample_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(sample: Any, played: Any, client: Any) -> Score:
        sample.doc["seen"].append(sample.doc.pop("new", True))
        return Score({KEY: float(client("judge", ask("Is it right?")).text == "yes")})

    row = {"question": "q0", "answer": "a0", "seen": []}
    monkeypatch.setattr(f"{__name__}.docs", lambda _: [row])
    asked = scored(monkeypatch, score, roles=("judge",))
    verdicts = {("judge", asked.fingerprint, 0): Response.of_text("yes")}
    answer = scored(monkeypatch, score, roles=("judge",), verdicts=verdicts)
    assert answer.written.row == '{"question":"q0","answer":"a0","seen":[true]}'
    assert row["seen"] == []
