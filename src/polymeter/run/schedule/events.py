"""Events that workers, dispatchers, role clients and scorers report to the scheduler: typed, in one queue."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from polymeter.core.errors import Raised, attempt

if TYPE_CHECKING:
    from polymeter.run.schedule.recorder import Recorder
    from polymeter.run.schedule.rollouts import ChunkProgress
    from polymeter.run.schedule.running_samples import EndedSample, PendingRequest, RunningSample


@dataclass(frozen=True, slots=True)
class Begun:
    """A chunk of samples has begun. ``expected_bytes``: what its media was expected to take."""

    progressed: ChunkProgress
    expected_bytes: float


@dataclass(frozen=True, slots=True)
class Progressed:
    """A chunk of samples went on."""

    progressed: ChunkProgress


@dataclass(frozen=True, slots=True)
class Called:
    """A function that a worker was given has returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Asked:
    """Code that scores waits for answers to requests."""

    requests: Sequence[PendingRequest]


@dataclass(frozen=True, slots=True)
class Answered:
    """Requests are answered, and the answers are on their way into the journal."""

    requests: Sequence[PendingRequest]


@dataclass(frozen=True, slots=True)
class Ended:
    """Samples were scored in other processes."""

    samples: Sequence[EndedSample]


@dataclass(frozen=True, slots=True)
class Returned:
    """Samples that this process has to score, each with what its rollout returned."""

    samples: Sequence[tuple[RunningSample, Any]]


@dataclass(frozen=True, slots=True)
class Waits:
    """The run waits; an empty text: it continues."""

    text: str


@dataclass(frozen=True, slots=True)
class Gone:
    """Nobody answers any more; the run ends and can be resumed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The run ends with an error."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class CapReached:
    """A cap of the run is reached, and nothing is in flight any more; the run ends and can be resumed."""

    reason: str


Event: TypeAlias = (
    CapReached | Begun | Progressed | Called | Asked | Answered | Ended | Returned | Waits | Gone | Failed
)


class Events:
    """The queue. Its methods may be called on any thread.

    Args:
        recorder: Writes down answers and ends before they are reported, on the reporting thread, so that nothing
            continues that rests on an answer which might be lost.
        note: Takes what the user should know, such as that memory ran out.
    """

    def __init__(self, recorder: Recorder, note: Callable[[str], None]) -> None:
        self.note = note
        self._recorder = recorder
        self._records_tries = True
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def without_tries(self) -> Events:
        """The same queue for a model that is not asked: an answer that it lacks is not a failed try."""
        other = copy(self)
        other._records_tries = False
        return other

    def report(self, event: Event) -> None:
        """Report an event."""
        self._queue.put(event)

    def answered(self, requests: list[PendingRequest]) -> None:
        """Report answered requests; an empty list: look whether more can be started."""
        recorded = attempt(lambda: self._recorder.answers(requests))
        self.report(Failed(recorded.error) if isinstance(recorded, Raised) else Answered(requests))

    def tries_failed(self, requests: Sequence[PendingRequest]) -> None:
        """Record requests of which a try has failed, also those that are tried again."""
        if self._records_tries:
            recorded = attempt(lambda: self._recorder.failed_tries(requests))
            if isinstance(recorded, Raised):
                self.failed(recorded.error)

    def asked(self, requests: Sequence[PendingRequest]) -> None:
        """Report questions of code that scores."""
        self.report(Asked(requests))

    def ended(self, samples: list[EndedSample]) -> None:
        """Report samples that other processes have scored."""
        recorded = attempt(lambda: self._recorder.ends(samples))
        self.report(Failed(recorded.error) if isinstance(recorded, Raised) else Ended(samples))

    def returned(self, samples: Sequence[tuple[RunningSample, Any]]) -> None:
        """Report samples that other processes cannot score."""
        self.report(Returned(samples))

    def waiting(self, text: str) -> None:
        """Report for whom, why and how long the run waits; an empty text: it continues."""
        self.report(Waits(text))

    def gone(self, reason: str) -> None:
        """Report that an endpoint is down, or that the last replica or scorer was lost."""
        self.report(Gone(reason))

    def cap_reached(self, reason: str) -> None:
        """Report that a cap of the run is reached and all that was sent has been answered."""
        self.report(CapReached(reason))

    def failed(self, error: BaseException) -> None:
        """Report an error that ends the run: the model cannot be loaded, or the journal cannot be written."""
        self.report(Failed(error))

    def next(self) -> Event:
        """Wait for the next event."""
        return self._queue.get()

    def next_now(self) -> Event | None:
        """The next event, if there is one already."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None

    @property
    def is_empty(self) -> bool:
        """True if no event waits."""
        return self._queue.empty()
