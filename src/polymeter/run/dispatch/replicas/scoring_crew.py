"""The crew of scorers: samples whose scoring holds up the run are scored in other processes, and the run writes down
what they come to.

Which tasks, and from when on, is measured (``scoring_pace``); who scores what, and what follows when a scorer is lost,
is decided by the same leases as for replicas. One thread starts scorers, sends samples and watches deadlines; answers
are handled on the host's threads. A sample that comes back unscored is scored by the run; one whose score waits for a
judge is given to a scorer again when the run has the answer.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import Raised, ScoreError, attempt, count
from polymeter.core.machine.opened_files import Noted
from polymeter.core.request import Error, Response
from polymeter.core.task import SampleStatus
from polymeter.run.dispatch.dispatchers import CLOSE_S
from polymeter.run.dispatch.replicas.hosts import Computed, HostListener, ReplicaHost, Work
from polymeter.run.dispatch.replicas.lease_records import Lease, LeaseLimits
from polymeter.run.dispatch.replicas.leases import Leases
from polymeter.run.dispatch.replicas.scorer import Finished, NotScoredYet, ScoredSample
from polymeter.run.dispatch.replicas.scoring_pace import PaceLimits, ScoringPace
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.running_samples import EndedSample, PendingRequest, RunningSample, RunningTask
from polymeter.store.wire import read_score

MOST_SCORERS = 64
"""Most scorers of a run: as many as one scheduler can feed with samples that are only just slow."""
_LEASE_S = 0.25
"""About how long the samples of one lease take."""
_ENOUGH = 4
"""After so many samples it is known how often one is scored before it has a score."""
_IN_HAND = 4
"""Samples that a scorer has in hand, at least: some that it scores, and some behind them."""

Sample = tuple[RunningSample, Any]
"""A sample, and what its rollout returned."""
MakeHost = Callable[[int, HostListener], "tuple[ReplicaHost, int]"]
"""Most scorers, and who hears of them → what holds scorers, and how many it has room for."""


@dataclass(slots=True, eq=False)
class _Share:
    """The crew's record of one task. ``n_asked``: the questions of those samples that it has scored."""

    pace: ScoringPace
    is_spread: bool = False
    is_over: bool = False
    n_scored: int = 0
    n_asked: int = 0
    n_returned: int = 0


class ScoringCrew:
    """Scores samples in other processes.

    Args:
        make_host: Makes what holds scorers, when the first sample is there.
        tasks: The names of the tasks that scorers can open.
        events: Hears of samples; answers to what it asks go to ``answered``.
        deadline_s: After so many seconds with some samples a scorer counts as lost.
        limits: From when on a task is spread.
        clock: Gives seconds.
    """

    def __init__(
        self,
        make_host: MakeHost,
        tasks: Sequence[str],
        events: Events,
        deadline_s: float,
        limits: PaceLimits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_host = make_host
        self._events = events
        self._deadline_s = deadline_s
        self._clock = clock
        self._shares = {name: _Share(ScoringPace(limits, clock)) for name in tasks}
        self._limits = LeaseLimits(deadline_s=deadline_s, lease_s=_LEASE_S)
        self._leases: Leases[Sample] = Leases(lambda *_: 1, self._limits, clock)
        self._held: dict[RunningSample, Any] = {}
        self._waiting: set[RunningSample] = set()
        self._leased: dict[int, list[Sample]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._host: ReplicaHost | None = None
        self._n_scorers = 0
        self._is_closed = self._is_off = self._was_ready = False

    def takes(self, running: RunningSample) -> bool:
        """Return whether a sample whose rollout is over is scored by the crew."""
        share = self._shares.get(running.task.name)
        if share is None or share.is_over or self._is_off:
            return False
        if not share.is_spread and share.pace.is_slow(len(running.task.selected)):
            share.is_spread = True
            share.is_over = _computes_on_gpu()
        return share.is_spread and not share.is_over

    def learn(self, task: RunningTask, took_s: float) -> None:
        """Learn how long the run took to score a sample."""
        share = self._shares.get(task.name)
        if share is not None:
            share.pace.learn(took_s)

    @property
    def keeps_busy(self) -> int:
        """The number of samples in progress that keeps the crew busy, beside those that keep the model busy."""
        return _IN_HAND * self._n_scorers

    def add(self, samples: Sequence[Sample]) -> None:
        """Take samples; returns at once."""
        with self._changed:
            if self._is_off:
                back = list(samples)
            else:
                back = []
                for sample in samples:
                    self._held[sample[0]] = sample[1]
                    self._leases.add(sample, sample[0].task.number, 0)
                if self._thread is None and not self._is_closed:
                    self._thread = threading.Thread(target=self._work, name="polymeter-scoring", daemon=True)
                    self._thread.start()
                self._changed.notify_all()
        if back:
            self._events.returned(back)

    def answered(self, asked: PendingRequest) -> None:
        """Take the answer to a question that a score waits for; none, where the run was stopped."""
        running, response = asked.running, asked.response
        back: list[Sample] = []
        with self._changed:
            if response is None or running not in self._waiting:
                return
            running.verdicts[asked.question] = response
            self._waiting.remove(running)
            if self._is_off:
                back.append((running, self._held.pop(running)))
            else:
                self._leases.add((running, self._held[running]), running.task.number, 0)
            self._changed.notify_all()
        if back:
            self._events.returned(back)

    def history(self) -> Mapping[str, Any] | None:
        """Return the crew's statistics, for the run's record; ``None`` if it did nothing."""
        with self._changed:
            if not self._n_scorers:
                return None
            totals = self._leases.totals()
            return {
                "scorers": self._n_scorers,
                "tasks": {name: one.n_scored for name, one in self._shares.items() if one.is_spread},
                "n_lost": totals["n_lost"],
                "n_given_up": totals["n_given_up"],
            }

    def close(self) -> None:
        """Let go of the scorers."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(CLOSE_S)
        if self._host is not None:
            self._host.close()

    def _work(self) -> None:
        worked = attempt(self._serve)
        if isinstance(worked, Raised):  # a thread that ends would leave the run waiting
            self._turn_off(f"{worked.error}")

    def _serve(self) -> None:
        host = self._begin()
        while host is not None:
            with self._changed:
                if self._is_closed or self._is_off:
                    return
                overdue = self._leases.overdue()
                given = [lease for lease in self._leases.give(is_partial_fine=True) if self._leases.sent(lease)]
                for lease in given:
                    self._leased[lease.number] = lease.items
                if not overdue and not given:
                    deadline = self._leases.next_deadline()
                    self._changed.wait(None if deadline is None else max(0.0, deadline - self._clock()))
                    continue
            for number in overdue:
                host.kill(number)
                self._lost(number, f"it gave no answer within {self._deadline_s:g} s (--lease-timeout).")
            for lease in given:
                host.send(lease.replica, _work_of(lease))

    def _begin(self) -> ReplicaHost | None:
        """Start the scorers; ``None`` where there is room for none."""
        with self._changed:
            most = min(MOST_SCORERS, max((len(one.task.selected) for one in self._held), default=1))
        host, n_scorers = self._make_host(
            most, HostListener(self._ready, self._computed, self._lost, self._failed, self._loading, self._gone)
        )
        self._host = host
        if not n_scorers:
            self._turn_off("no core is free for it.")
            return None
        names = ", ".join(name for name, one in self._shares.items() if one.is_spread)
        cores = count(n_scorers, "core")
        self._events.note(f"Scoring takes longer than the model: it is spread over {cores} of the cluster ({names}).")
        with self._changed:
            self._n_scorers = n_scorers
            numbers = [self._leases.join(slot) for slot in range(n_scorers)]
        for slot, number in enumerate(numbers):
            host.start(number, slot)
        return host

    def _gone(self, reason: str) -> None:
        """The scorers were ended, through no fault of theirs or of a sample's."""
        self._turn_off(reason, "Scoring is not spread any more, and goes back to the run")

    def _turn_off(self, why: str, what: str = "Scoring takes longer than the model, and stays with the run") -> None:
        """Give everything back to the run, for good."""
        with self._changed:
            if self._is_off or self._is_closed:
                return
            self._is_off = True
            # What waits for an answer goes back with it: the run would ask again.
            back = [(running, returned) for running, returned in self._held.items() if running not in self._waiting]
            for running, _ in back:
                del self._held[running]
            self._changed.notify_all()
        self._events.note(f"{what}: {why}")
        self._events.returned(back)

    def _loading(self, number: int) -> None:
        with self._changed:
            self._leases.loading(number)
            self._changed.notify_all()

    def _ready(self, number: int) -> None:
        with self._changed:
            self._was_ready = self._leases.ready(number) or self._was_ready
            self._changed.notify_all()

    def _computed(self, number: int, computed: Computed) -> None:
        ended: list[tuple[Sample, ScoredSample]] = []
        back: list[Sample] = []
        asked: list[PendingRequest] = []
        notes: list[str] = []
        with self._changed:
            lease = self._leases.answered(number, computed.lease)
            samples = self._leased.pop(computed.lease, None)
            self._changed.notify_all()
            if lease is None or samples is None:  # from a scorer that was taken for lost
                return
            for sample, answer in zip(samples, computed.responses, strict=True):
                running = sample[0]
                if running not in self._held:
                    continue
                if answer is None:  # it could not be sent along with another one
                    self._leases.add(sample, running.task.number, 0)
                    continue
                share = self._shares[running.task.name]
                if isinstance(answer, NotScoredYet):
                    self._waiting.add(running)
                    _note_files(running, answer.files)
                    asked.append(_question(running, answer))
                    continue
                del self._held[running]
                if isinstance(answer, ScoredSample):
                    share.n_scored += 1
                    share.n_asked += len(running.verdicts)
                    notes += [*answer.warnings, *self._why_too_often(share, running.task)]
                    ended.append((sample, answer))
                else:
                    share.n_returned += 1
                    back.append(sample)
                    notes += self._why_returned(share, running.task, answer)
        for note in notes:
            self._events.note(note)
        if back:
            self._events.returned(back)
        if asked:
            self._events.asked(asked)
        if ended:
            self._events.ended([_ended(sample, scored) for sample, scored in ended])

    def _why_returned(self, share: _Share, task: RunningTask, answer: Response) -> list[str]:
        """Record a sample that came back. A task of which as many samples come back as are scored stays with the
        run.
        """
        if share.is_over or share.n_returned <= share.n_scored:
            return []
        share.is_over = True
        why = answer.error.message.rstrip(".") if answer.error is not None else "a sample of it came back"
        return [f"Task {task.name!r} is scored by the run after all: {why}."]

    def _why_too_often(self, share: _Share, task: RunningTask) -> list[str]:
        """Record a task whose samples are scored more often, for consecutive questions, than there are scorers. It
        stays with the run from now on.
        """
        if share.is_over or share.n_scored < _ENOUGH:
            return []
        n_times = 1 + share.n_asked / share.n_scored
        if n_times <= max(2, self._n_scorers):
            return []
        share.is_over = True
        return [
            f"Task {task.name!r} is scored by the run after all: its scoring asks other models one question after "
            f"another, so another process would score each sample {n_times:.0f} times."
        ]

    def _lost(self, number: int, reason: str) -> None:
        with self._changed:
            if self._is_closed or self._is_off:
                return
            loss = self._leases.lost(number, reason)
            if loss is None:
                return
            for sample in loss.given_up:
                self._held.pop(sample[0], None)
            fresh = self._leases.join(loss.slot) if loss.may_restart else None
            is_over = self._leases.n_alive == 0
            self._changed.notify_all()
        back = f" Others take over {count(loss.n_returned, 'sample')}." if loss.n_returned else ""
        self._events.note(f"Scorer {loss.slot} was lost: {reason}{back}")
        if loss.given_up:
            self._events.ended([_given_up(sample, self._limits.deaths, reason) for sample in loss.given_up])
        if is_over:
            self._events.gone(
                f"No scorer is left: the last one was lost, because {reason} To continue, add --score-workers 4 "
                "to the same command: it scores on threads of its own process."
            )
        elif fresh is not None and self._host is not None:
            self._host.start(fresh, loss.slot)

    def _failed(self, number: int, error: BaseException) -> None:
        if self._was_ready:
            self._lost(number, f"it could not be started: {error}")
        else:
            self._turn_off(f"no scorer can be started. {error}")


def _work_of(lease: Lease[Sample]) -> Work:
    finished = [
        Finished(one.task.name, one.sample.index, tuple(one.trail), dict(one.verdicts)) for one, _ in lease.items
    ]
    return Work(lease.number, [[one] for one in finished])


def _question(running: RunningSample, asked: NotScoredYet) -> PendingRequest:
    what = (asked.role, asked.request, asked.fingerprint, asked.occurrence, asked.turn)
    return PendingRequest(running, *what, may_show=asked.may_show, is_of_scorer=True)


def _note_files(running: RunningSample, files: Noted) -> None:
    for path, state in files.items():
        running.files.setdefault(path, state)


def _ended(sample: Sample, scored: ScoredSample) -> EndedSample:
    running, returned = sample
    _note_files(running, scored.files)
    score = None if scored.written.score is None else read_score(scored.written.score)
    return EndedSample(running, scored.status, score, scored.error, returned, scored.written)


def _given_up(sample: Sample, n_lost: int, reason: str) -> EndedSample:
    what = f"Scorers were lost {n_lost} times while scoring this sample; the last time: {reason}"
    return EndedSample(
        sample[0], SampleStatus.ERROR, error=Error.from_exception(ScoreError(what), "score"), returned=sample[1]
    )


def _computes_on_gpu() -> bool:
    """Return whether scoring has used a GPU of this machine: on the cores of another one it would give other digits.
    The models of a run with replicas are in other processes, so nobody else has used one.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_initialized())
