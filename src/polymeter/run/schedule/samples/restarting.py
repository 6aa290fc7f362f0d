"""Samples that start anew, because an environment gave other observations when an episode was opened again.

The answers of the model stay known: an equal question has an equal answer. Observations of the earlier attempt are set
aside, and stay in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polymeter.core.names.stable_names import ACT_ROLE
from polymeter.core.request import Error, Response
from polymeter.run.schedule.running_samples import RunningSample
from polymeter.store.journal import AnswerKey, Journal
from polymeter.store.wire import attempt_of

_MOST_ATTEMPTS = 5
"""An environment that differs this often will not settle."""

Restarter = Callable[[RunningSample], None]


def attempt_in(known: Mapping[AnswerKey, str]) -> int:
    """The number of the last attempt at a sample whose answers are known."""
    return max((attempt_of(body) for key, body in known.items() if key.role.startswith(ACT_ROLE)), default=0)


class SampleRestarter:
    """Prepares samples.

    Args:
        known: Reads all answers of a sample, also those of this part of the run.
        release: Closes the episodes of a sample.
    """

    def __init__(
        self, known: Callable[[RunningSample], Mapping[AnswerKey, str]], release: Callable[[RunningSample], None]
    ) -> None:
        self._known = known
        self._release = release

    def __call__(self, running: RunningSample) -> None:
        """Begin a sample again; it fails if its environment differs too often."""
        self._release(running)
        if running.attempt + 1 >= _MOST_ATTEMPTS:
            why = f"Its environment gave other observations each of {_MOST_ATTEMPTS} times that the sample began."
            running.waiting[0].response = Response(error=Error("guest", why))
            return
        running.generator.close()
        task = running.task.task
        running.start_anew(task.samples[running.sample.index], self._known(running))
        running.generator = task.rollout(running.sample)


def n_restarted(journal: Journal, task: str) -> int:
    """The number of samples of a task that were started anew, from the rows of the journal."""
    return len({sample for sample, body in journal.observations(task) if attempt_of(body)})
