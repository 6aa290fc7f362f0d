"""The crew of scorers: over hosts that do what a test says, and in whole runs with a scorer in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.records.progress import Silence
from polymeter.core.request import Response
from polymeter.core.task import SampleStatus
from polymeter.run.dispatch.replicas import planning, processes
from polymeter.run.dispatch.replicas.hosts import Computed, ComputerSetup, HostListener, Place, Work
from polymeter.run.dispatch.replicas.scorer import NotScoredYet, ScoredSample
from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew
from polymeter.run.dispatch.replicas.scoring_pace import PaceLimits
from polymeter.run.schedule.running_samples import EndedSample, PendingRequest, RunningSample, RunningTask, WrittenEnd
from tests.helpers.heard import Heard
from tests.helpers.slow_scoring import Benchmark, assert_same_journal
from tests.helpers.tasks import ListTask, ask, docs

AT_ONCE = PaceLimits(n_samples=1, sample_s=0.0, share=0.0, left_s=0.0)
FAR_S = 600.0
WRITTEN = WrittenEnd('{"values":[["exact_match","none",1.0]]}', "{}", None)


class Host:
    """Scorers that do with work what the test says."""

    def __init__(self, listener: HostListener, do: Callable[[Host, int, Work], None]) -> None:
        self.listener, self._do = listener, do
        self.killed: list[int] = []
        self.is_closed = False

    def start(self, number: int, slot: int) -> None:
        self.listener.ready(number)

    def send(self, number: int, work: Work) -> None:
        self._do(self, number, work)

    def kill(self, number: int) -> None:
        self.killed.append(number)

    def close(self) -> None:
        self.is_closed = True


class Told:
    """What a crew tells, until every sample is settled or the run is to end."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.over = threading.Event()
        self.ended: list[EndedSample] = []
        self.returned: list[Any] = []
        self.notes: list[str] = []
        self.reasons: list[str] = []
        self.asked: list[PendingRequest] = []
        self.answer: Callable[[PendingRequest], None] = self.asked.append
        self.events = Heard(
            ended=self._ended, returned=self._returned, asked=self._asked, note=self.notes.append, gone=self._gone
        )

    def _ended(self, ended: list[EndedSample]) -> None:
        self.ended += ended
        self._look()

    def _returned(self, samples: list[Any]) -> None:
        self.returned += samples
        self._look()

    def _asked(self, asked: list[PendingRequest]) -> None:
        for one in asked:
            self.answer(one)

    def _gone(self, reason: str) -> None:
        self.reasons.append(reason)
        self.over.set()

    def _look(self) -> None:
        if len(self.ended) + len(self.returned) == self._n:
            self.over.set()


def crewed(
    n: int,
    do: Callable[[Host, int, Work], None],
    *,
    n_scorers: int = 2,
    deadline_s: float = FAR_S,
    answers: bool = False,
) -> tuple[Told, ScoringCrew, list[Host]]:
    """Give some samples to a crew, and wait for what becomes of them."""
    task = RunningTask(ListTask(docs(n)).as_task(), 0, range(n), "")
    hosts: list[Host] = []

    def make_host(most: int, listener: HostListener) -> tuple[Host, int]:
        hosts.append(Host(listener, do))
        return hosts[0], min(most, n_scorers)

    told = Told(n)
    crew = ScoringCrew(make_host, ["list"], told.events, deadline_s, AT_ONCE)
    if answers:
        told.answer = lambda asked: answer(crew, asked)
    samples = [RunningSample(task, task.task.samples[index]) for index in range(n)]
    assert not crew.takes(samples[0])
    crew.learn(task, 0.1)
    assert crew.takes(samples[0])
    crew.add([(one, None) for one in samples])
    assert told.over.wait(60)
    return told, crew, hosts


def indices(work: Work) -> list[int]:
    return [one.index for group in work.groups for one in group]


def answer(crew: ScoringCrew, asked: PendingRequest) -> None:
    asked.response = Response.of_text("yes")
    crew.answered(asked)


def asking(n_questions: int) -> Callable[[Host, int, Work], None]:
    """Score samples that ask so many questions, one after the other."""

    def do(host: Host, number: int, work: Work) -> None:
        samples = [one for group in work.groups for one in group]
        if all(len(one.verdicts) == n_questions for one in samples):
            score(host, number, work)
            return
        found = [
            NotScoredYet("judge", ask("?"), f"mark {len(one.verdicts)}", 0, 2, False, {"/seen": (1, 2)})
            if len(one.verdicts) < n_questions
            else ScoredSample(SampleStatus.OK, None, WRITTEN, {}, ())
            for one in samples
        ]
        host.listener.computed(number, Computed(work.lease, found))

    return do


def score(host: Host, number: int, work: Work) -> None:
    scored = ScoredSample(SampleStatus.OK, None, WRITTEN, {"/a/file": (3, 4)}, ())
    host.listener.computed(number, Computed(work.lease, [scored for _ in work.groups]))


def test_samples_are_scored_elsewhere_and_end_with_what_was_written_there() -> None:
    told, crew, hosts = crewed(20, score)
    assert sorted(end.running.sample.index for end in told.ended) == list(range(20))
    assert told.ended[0].written is WRITTEN
    assert told.ended[0].score is not None
    assert told.ended[0].running.files == {"/a/file": (3, 4)}
    assert crew.history() == {"scorers": 2, "tasks": {"list": 20}, "n_lost": 0, "n_given_up": 0}
    assert told.notes == ["Scoring takes longer than the model: it is spread over 2 cores of the cluster (list)."]
    crew.close()
    assert hosts[0].is_closed


def test_a_sample_at_which_two_scorers_die_is_an_error_and_the_others_are_scored() -> None:
    def do(host: Host, number: int, work: Work) -> None:
        if 7 in indices(work):
            host.listener.lost(number, "it was killed.")
        else:
            score(host, number, work)

    told, crew, _ = crewed(20, do)
    failed = [end for end in told.ended if end.status is not SampleStatus.OK]
    assert [end.running.sample.index for end in failed] == [7]
    assert failed[0].error is not None
    message = failed[0].error.message
    assert "Scorers were lost 2 times while scoring this sample; the last time: it was killed." in message
    assert len(told.ended) == 20
    crew.close()


def test_a_scorer_that_hangs_is_ended_and_the_run_ends_when_none_is_left() -> None:
    told, crew, hosts = crewed(20, lambda *_: None, n_scorers=1, deadline_s=0.01)
    assert hosts[0].killed == [0, 1, 2]
    (reason,) = told.reasons
    assert reason.startswith("No scorer is left: the last one was lost, because it gave no answer within 0.01 s")
    assert "--score-workers" in reason
    crew.close()


def test_what_comes_back_is_scored_by_the_run_and_its_task_is_not_spread_any_more() -> None:
    def do(host: Host, number: int, work: Work) -> None:
        failed = Response.failed(PlanError("a file is missing."))
        host.listener.computed(number, Computed(work.lease, [failed for _ in work.groups]))

    told, crew, _ = crewed(5, do)
    assert len(told.returned) == 5
    assert told.notes[1:] == ["Task 'list' is scored by the run after all: a file is missing."]
    assert not crew.takes(told.returned[0][0])
    crew.close()


def test_a_sample_is_scored_again_with_each_answer_that_its_score_waits_for() -> None:
    told, crew, _ = crewed(20, asking(1), answers=True)
    assert sorted(end.running.sample.index for end in told.ended) == list(range(20))
    assert told.ended[0].running.files["/seen"] == (1, 2)
    assert told.returned == []
    assert len(told.notes) == 1
    crew.close()


def test_a_task_that_asks_too_often_one_after_the_other_stays_with_the_run() -> None:
    told, crew, _ = crewed(20, asking(7), answers=True)
    assert len(told.ended) == 20
    (said,) = told.notes[1:]
    assert said.startswith(
        "Task 'list' is scored by the run after all: its scoring asks other models one question after"
    )
    assert not crew.takes(told.ended[0].running)
    crew.close()


def test_a_sample_that_waits_for_an_answer_goes_back_to_the_run_with_it_and_the_question_is_asked_once() -> None:
    told, asked = Told(1), threading.Event()
    held: list[PendingRequest] = []

    def hold(one: PendingRequest) -> None:
        held.append(one)
        asked.set()

    told.answer = hold
    task = RunningTask(ListTask(docs(1)).as_task(), 0, range(1), "")
    hosts: list[Host] = []

    def make_host(most: int, listener: HostListener) -> tuple[Host, int]:
        hosts.append(Host(listener, asking(1)))
        return hosts[0], 1

    crew = ScoringCrew(make_host, ["list"], told.events, FAR_S, AT_ONCE)
    sample = RunningSample(task, task.task.samples[0])
    crew.add([(sample, "said")])
    assert asked.wait(60)
    hosts[0].listener.gone("a replica needs the cores.")
    assert told.returned == []
    answer(crew, held[0])
    assert told.returned == [(sample, "said")]
    assert sample.verdicts[held[0].question].text == "yes"
    crew.close()


def test_scorers_that_had_to_make_room_leave_scoring_to_the_run() -> None:
    def do(host: Host, number: int, work: Work) -> None:
        if 7 in indices(work):
            host.listener.gone("a replica needs the cores.")
            host.listener.lost(number, "it was ended.")
        else:
            score(host, number, work)

    told, crew, hosts = crewed(20, do)
    assert 7 in [sample[0].sample.index for sample in told.returned]
    assert sorted(
        [end.running.sample.index for end in told.ended] + [one[0].sample.index for one in told.returned]
    ) == (list(range(20)))
    assert told.notes[1:] == ["Scoring is not spread any more, and goes back to the run: a replica needs the cores."]
    assert told.reasons == []
    assert not crew.takes(told.returned[0][0])
    crew.close()
    assert hosts[0].is_closed


def test_without_a_free_core_the_run_scores() -> None:
    told, crew, _ = crewed(5, score, n_scorers=0)
    assert len(told.returned) == 5
    assert told.notes == ["Scoring takes longer than the model, and stays with the run: no core is free for it."]
    crew.close()


def test_scorers_that_cannot_be_started_leave_scoring_to_the_run() -> None:
    class Broken(Host):
        def start(self, number: int, slot: int) -> None:
            self.listener.failed(number, PlanError("A package is missing."))

    told = Told(3)
    task = RunningTask(ListTask(docs(3)).as_task(), 0, range(3), "")
    crew = ScoringCrew(lambda most, listener: (Broken(listener, score), 1), ["list"], told.events, FAR_S, AT_ONCE)
    crew.add([(RunningSample(task, task.task.samples[index]), None) for index in range(3)])
    assert told.over.wait(60)
    assert len(told.returned) == 3
    assert told.notes[-1].endswith("stays with the run: no scorer can be started. A package is missing.")
    crew.close()


class Notes(Silence):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def with_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the places of this machine a scorer, in this process."""
    monkeypatch.setattr(planning, "SPREAD_FROM", AT_ONCE)
    place = processes.place

    class Here(Host):
        def __init__(self, setup: ComputerSetup, listener: HostListener) -> None:
            self._scorer = setup.made()
            super().__init__(listener, lambda _, number, work: listener.computed(number, self._computed(work)))

        def _computed(self, work: Work) -> Computed:
            # Opening a task puts the generators back as they were, and here hooks of the run draw from them, too.
            with self._scorer._door.held():
                for name in self._scorer._specs:
                    self._scorer._task(name)
            return self._scorer.compute(work)

        def close(self) -> None:
            self._scorer.close()

    def make_scorers(setup: ComputerSetup, most: int, listener: HostListener) -> tuple[Host, int]:
        return Here(setup, listener), 1

    def with_scorers(*told: Any, **here: Any) -> Place:
        return replace(place(*told, **here), make_scorers=make_scorers)

    monkeypatch.setattr(processes, "place", with_scorers)


@pytest.mark.usefixtures("with_scorer")
@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize("drifts", [False, True])
def test_a_run_is_the_same_wherever_its_samples_are_scored(tmp_path: Path, drifts: bool) -> None:
    benchmark = Benchmark(tmp_path / "a", n=24)
    single = benchmark.run("single")
    if drifts:  # the benchmark asks something else each time
        (benchmark.folder / "drifts").touch()
    notes = Notes()
    spread = benchmark.run("spread", replicas=1, progress=notes)
    n_scored = spread.folder.read_manifest()["sessions"][-1]["spread_scoring"]["tasks"]["slowly_scored"]
    if drifts:
        assert n_scored == 0
        assert any("replayed, it asks something else" in note for note in notes.notes), notes.notes
        assert [sample.status for sample in spread.samples()] == [sample.status for sample in single.samples()]
    else:
        assert n_scored > 12
        assert_same_journal(single, spread)


JUDGE = polymeter.ModelSpec("mock", args={"mode": "echo"})
JUDGES = {
    "one": JUDGE,
    "panel": [JUDGE, polymeter.ModelSpec("mock", args={"answer": "no"})],
    "failing": polymeter.ModelSpec("mock", args={"mode": "echo", "failure": "permanent", "failure_rate": 0.3}),
}


@pytest.mark.usefixtures("with_scorer")
@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize("judges", JUDGES)
def test_a_run_with_judges_is_the_same_wherever_its_samples_are_scored(tmp_path: Path, judges: str) -> None:
    benchmark = Benchmark(tmp_path / "a", n=24, asks=True)
    roles = {"judge": JUDGES[judges]}
    single = benchmark.run("single", roles=roles)
    spread = benchmark.run("spread", roles=roles, replicas=1)
    n_scored = spread.folder.read_manifest()["sessions"][-1]["spread_scoring"]["tasks"]["slowly_scored"]
    assert n_scored > 12
    assert_same_journal(single, spread)
    statuses = {sample.status for sample in single.samples()}
    assert ("unscored" in statuses) == (judges == "failing")


@pytest.mark.usefixtures("with_scorer")
@pytest.mark.needs_system("lmms_eval")
def test_a_score_that_asks_the_judge_something_else_each_time_asks_once_in_the_run(tmp_path: Path) -> None:
    benchmark = Benchmark(tmp_path / "a", n=24, asks=True)
    (benchmark.folder / "doubts").touch()
    notes = Notes()
    run = benchmark.run("spread", roles={"judge": JUDGE}, replicas=1, progress=notes)
    assert run.n_failed == 2  # rows that have no score
    assert any("scored again, it asks another model something else" in note for note in notes.notes), notes.notes


@pytest.mark.usefixtures("with_scorer")
@pytest.mark.needs_system("lmms_eval")
def test_who_says_how_many_threads_score_keeps_scoring_in_the_run(tmp_path: Path) -> None:
    run = Benchmark(tmp_path / "a", n=4).run("here", replicas=1, score_workers=1)
    assert run.status == "complete"
    assert "spread_scoring" not in run.folder.read_manifest()["sessions"][-1]


@pytest.mark.usefixtures("with_scorer")
@pytest.mark.needs_system("lmms_eval")
def test_scores_that_the_journal_cannot_hold_are_made_again_by_the_run(tmp_path: Path) -> None:
    benchmark = Benchmark(tmp_path / "a", n=24)
    with (benchmark.folder / "utils.py").open("a") as code:
        code.write(_WITH_OBJECTS)
    single = benchmark.run("single")
    spread = benchmark.run("spread", replicas=1)
    assert spread.folder.read_manifest()["sessions"][-1]["spread_scoring"]["tasks"]["slowly_scored"] > 12
    assert_same_journal(single, spread)


_WITH_OBJECTS = """

class Half:
    def __repr__(self):
        return "half"


plain = score


def score(doc, results):
    return {**plain(doc, results), **({"luck": Half()} if doc["number"] % 10 == 4 else {})}
"""
