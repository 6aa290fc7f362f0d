"""Who may send a batch that is not full: nobody while more may come, but for a judge, whose asker holds up others."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.records.progress import Silence
from polymeter.guests.door import Door
from polymeter.run.schedule.running_samples import (
    MODEL_ROLE,
    OWN_PROMPT_ROLE,
    PendingRequest,
    RunningSample,
    RunningTask,
)
from polymeter.run.schedule.scheduler import Scheduler
from polymeter.run.schedule.work_list import ScheduleSettings
from tests.helpers.heard import Heard
from tests.helpers.tasks import ListTask, ask, docs


class Lane:
    """A way to a model that notes how it is poked."""

    def __init__(self) -> None:
        self.pokes: list[bool] = []

    def poke(self, *, is_quiet: bool) -> None:
        self.pokes.append(is_quiet)


def scheduler_of(own: Any, judge: Any) -> Scheduler:
    """A scheduler that runs one sample now."""
    lanes = {MODEL_ROLE: own, OWN_PROMPT_ROLE: own, "judge": judge}
    nobody: Any = None
    scheduler = Scheduler(
        lanes, nobody, nobody, Door(0), nobody, ScheduleSettings(0, 1, None, 1, None, None), Silence(), Heard()
    )
    scheduler._n_active = 1
    return scheduler


def question(role: str) -> PendingRequest:
    task = RunningTask(ListTask(docs(1)).as_task(), 0, range(1), "d")
    return RunningSample(task, task.task.samples[0]).ask(role, ask("?"))


def test_a_model_that_judges_itself_fills_its_batches() -> None:
    lane = Lane()
    scheduler_of(lane, lane)._poke(is_source_dry=True)
    assert lane.pokes == [False], "once, and while a sample is being played more may come"


def test_a_question_for_a_judge_is_not_kept_waiting_even_by_a_model_that_judges_itself() -> None:
    lane = Lane()
    scheduler = scheduler_of(lane, lane)
    scheduler._asking.add(question("judge"))
    scheduler._poke(is_source_dry=True)
    assert lane.pokes == [True]


@pytest.mark.parametrize("is_asked", [False, True])
def test_another_judge_never_waits_for_a_fuller_batch(is_asked: bool) -> None:
    own, judge = Lane(), Lane()
    scheduler = scheduler_of(own, judge)
    if is_asked:
        scheduler._asking.add(question("judge"))
    scheduler._poke(is_source_dry=True)
    assert (own.pokes, judge.pokes) == ([False], [True])
