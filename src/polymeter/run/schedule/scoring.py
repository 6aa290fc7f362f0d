"""Scoring a sample whose rollout is over.

Every score of a sample is made by ``SampleScorer.end``, in whichever way a run comes to it:

- The worker that advanced its rollout to the end scores it (``RolloutWorker.advance``). A run that is scored again
  differs only in that its answers come from the journal.
- A process of the crew, or of a Ray cluster, replays the rollout over the answers that it is sent and scores it
  (``ProcessScorer``). What that process cannot score as the run would comes back (``RolloutWorker.score_here``).
- A reduction replays a sample whose score the journal cannot hold exactly (``Scheduler.score_sample_again``).

The ways differ before the score, in where the answers come from, and after it, in who writes it down: a replay has to
rebuild what the rollout left in the row, which the score may read, and a process gives text in place of values.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, ErrorKind, PolymeterError, UnscoredError
from polymeter.core.guest_context import scoring_sample
from polymeter.core.machine.opened_files import is_own_file, noting
from polymeter.core.records.attempts import with_means
from polymeter.core.records.human_scores import replaced
from polymeter.core.request import Error
from polymeter.core.task import Rollout, SampleStatus, Score
from polymeter.guests.door import Door
from polymeter.judge.panel import Panel
from polymeter.run.dispatch.answers import why_no_choice
from polymeter.run.schedule.lost_verdicts import UnusableAnswer, first_loss
from polymeter.run.schedule.panel import score_by_panel
from polymeter.run.schedule.role_client import SampleRoleClient
from polymeter.run.schedule.running_samples import EndedSample, RunningSample

if TYPE_CHECKING:
    from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew

OPEN = nullcontext()
"""The way into a task that is not a guest."""
_NO_CHOICE = "Look at the model's precision (dtype) and at its weights; other samples are scored."
_SCORE = "score"


class SampleScorer:
    """Scores samples.

    Args:
        door: The run's way into guests.
        make_asker: Gives a sample its RoleClient.
        panel: The judges, if there are several.
        crew: Learns how long a score takes here; ``None``: nobody needs to know.
    """

    def __init__(
        self,
        door: Door,
        make_asker: Callable[[RunningSample], SampleRoleClient],
        panel: Panel | None,
        crew: ScoringCrew | None,
    ) -> None:
        self._door = door
        self._make_asker = make_asker
        self._panel = panel
        self._crew = crew

    def end(self, running: RunningSample, returned: Any) -> EndedSample:
        """Score a sample, or find out why it has no score.

        Args:
            running: The sample.
            returned: What its rollout returned.
        """
        began = time.perf_counter()
        try:
            return self._ended(running, returned)
        finally:
            if self._crew is not None:
                # Questions that several threads of a score ask at a time count several times.
                self._crew.learn(running.task, max(0.0, time.perf_counter() - began - running.asking_s))

    def _ended(self, running: RunningSample, returned: Any) -> EndedSample:
        human = running.task.human
        try:
            if human is not None and running.sample.id in human.excluded:
                raise UnscoredError(f"Excluded by a person: {human.excluded[running.sample.id]}")
            no_choice = why_no_choice(running.responses)
            if no_choice:
                raise UnscoredError(no_choice, hint=_NO_CHOICE)
            score = self._score(running, Rollout(tuple(running.responses), returned))
            if human is not None and running.sample.id in human.values:
                score = replace(score, values=replaced(score.values, human.values[running.sample.id])[0])
        except UnscoredError as error:
            return EndedSample(
                running, SampleStatus.UNSCORED, error=Error.from_exception(error, "score"), returned=returned
            )
        except PolymeterError as error:
            # Code that continues after a lost verdict fails without it: the judge's failure is the reason.
            status = SampleStatus.UNSCORED if running.lost_verdicts else SampleStatus.ERROR
            kind: ErrorKind = "data" if isinstance(error, DataError) else "score"
            return EndedSample(running, status, error=Error.from_exception(error, kind), returned=returned)
        return EndedSample(running, SampleStatus.OK, score, returned=returned)

    def _score(self, running: RunningSample, rollout: Rollout) -> Score:
        """The score of a sample, by its one judge or by each of the panel in turn.

        Raises:
            ScoreError: The task's own code failed.
            UnscoredError: A judge that it asked could not answer, or gave no verdict.
        """
        if self._panel is None:
            return self._score_once(running, rollout)
        score = score_by_panel(running, self._panel, lambda: self._score_once(running, rollout))
        return replace(score, values=with_means(score.values))  # a majority of means is not the mean of majorities

    def _score_once(self, running: RunningSample, rollout: Rollout) -> Score:
        task = running.task
        with (
            noting(running.files, is_own_file),
            into_hook(self._door, running, _SCORE),
            scoring_sample(self._make_asker(running)),
            task.scoring,
        ):
            wall_s, cpu_s = time.perf_counter(), time.thread_time()
            score = task.task.score(running.sample, rollout)
            if task.may_overlap and task.task.is_guest and not running.judge_calls:
                task.learn_waiting(time.perf_counter() - wall_s, time.thread_time() - cpu_s)
        task.asks_judges = task.asks_judges or bool(running.judge_calls)
        if running.lost_verdicts:
            raise UnscoredError(_why_unscored(running))
        if running.judge_calls:
            rules = tuple(running.judge_rules.get(number, "") for number in range(len(running.judge_calls)))
            score = replace(score, judge_calls=tuple(running.judge_calls), judge_rules=rules if any(rules) else ())
        if running.scorers or running.n_unfinished:
            score = replace(score, scorers=tuple(running.scorers), n_unfinished=running.n_unfinished)
        return score


def into_hook(door: Door, running: RunningSample, hook: str) -> AbstractContextManager[None]:
    """The way into a hook of a sample's task; a scoring that is seen to wait is let in beside others."""
    task = running.task
    if not task.task.is_guest:
        return OPEN
    if task.task.is_thread_safe or (hook == _SCORE and task.waits):
        return door.hook_beside(task.name, running.sample.id, hook)
    return door.hook(task.name, running.sample.id, hook)


def _why_unscored(running: RunningSample) -> str:
    """Return the reason why a sample that lost verdicts has no score."""
    loss = first_loss(running.lost_verdicts)
    why = running.lost_verdicts[loss]
    if isinstance(loss, UnusableAnswer):
        return why
    return f"A judge could not be asked, so this sample has no score. {why}"
