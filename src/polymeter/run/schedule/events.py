"""What workers, dispatchers and role clients report to the driver: one queue, made before any of them."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

from polymeter.core.errors import Raised, attempt
from polymeter.run.schedule.recorder import Recorder
from polymeter.run.schedule.running_samples import EndedSample, PendingRequest


class Events:
    """A queue of ``(kind, value)``; a value that is ``Raised`` ends the run with its error. Thread-safe."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def report(self, kind: str, value: Any) -> None:
        """Tell the driver that something happened."""
        self._queue.put((kind, value))

    def answers_through(self, recorder: Recorder) -> Callable[[list[PendingRequest]], None]:
        """What a dispatcher calls with answered requests: they are written down on the dispatcher's thread, and only
        then reported, so that nothing goes on that rests on an answer which might be lost.
        """

        def answered(done: list[PendingRequest]) -> None:
            recorded = attempt(lambda: recorder.answers(done))
            self.report("answered", recorded if isinstance(recorded, Raised) else done)

        return answered

    def failures_through(self, recorder: Recorder) -> Callable[[Sequence[PendingRequest]], None]:
        """What a dispatcher calls with the requests of which a try has failed: that is written down, and no more."""

        def failed(tried: Sequence[PendingRequest]) -> None:
            recorded = attempt(lambda: recorder.failed_tries(tried))
            if isinstance(recorded, Raised):
                self.failed(recorded.error)

        return failed

    def ends_through(self, recorder: Recorder) -> Callable[[list[EndedSample]], None]:
        """What is called with samples that ended elsewhere: they are written down first, like answers."""

        def ended(done: list[EndedSample]) -> None:
            recorded = attempt(lambda: recorder.ends(done))
            self.report("ended", recorded if isinstance(recorded, Raised) else done)

        return ended

    def failed(self, error: BaseException) -> None:
        """Tell that a dispatcher can never answer."""
        self.report("failed", Raised(error))

    def waiting(self, text: str) -> None:
        """Tell that the run waits for an endpoint, and for how long; an empty text: it goes on."""
        self.report("waiting", text)

    def gone(self, reason: str) -> None:
        """Tell that an endpoint can answer nobody any more: the run ends, and can be resumed."""
        self.report("gone", reason)

    def next(self) -> tuple[str, Any]:
        """Wait for what happened next."""
        return self._queue.get()

    def next_now(self) -> tuple[str, Any] | None:
        """What has happened already; ``None`` where nothing has."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be looked at."""
        return self._queue.empty()
