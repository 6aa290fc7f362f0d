"""Dispatchers: how requests reach a model. One for a model that computes batches (``batch.dispatcher``), one for an
endpoint that is awaited (``endpoint.dispatcher``).

A dispatcher takes requests whenever they come, prepares their media, and reports answers to ``Events``. It
never drops one: every request ends in a response, which may be an error.

Dispatchers are made before the scheduler, and no constructor starts a thread: the first request does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from polymeter.core.model import Model
from polymeter.core.request import Request, Response
from polymeter.core.settings.repeats import joined
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.running_samples import PendingRequest

Joined = list[PendingRequest]
"""Requests that reach the model in one call of it: one, or repeats of one prompt."""
CLOSE_S = 30
_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 30.0


def calls_of(model: Model, asked: Sequence[PendingRequest]) -> list[Joined]:
    """Group requests by the calls that answer them: one call each, but repeats together if the model joins them. A
    sample's requests arrive together, so these are the repeats that are still outstanding.
    """
    return joined(asked, lambda one: one.request) if model.joins_repeats else [[one] for one in asked]


def pause_s(again: Sequence[PendingRequest], *, n_asked: int) -> float:
    """Return the time to wait, in seconds, before requests are asked again. It is short if a whole batch of ``n_asked``
    failed transiently, since a wrapper that calls a server itself should not flood it. Otherwise it is zero.
    """
    tries = max(one.tries for one in again)
    if not tries or len(again) < n_asked:
        return 0.0
    return float(min(_PAUSE_S * 2 ** (tries - 1), _LONGEST_PAUSE_S))


def settle(
    asked: Sequence[PendingRequest], responses: Sequence[Response | None], max_retries: int, events: Events
) -> list[PendingRequest]:
    """Give requests of a batch their answers; returns those that are to be asked again.

    Args:
        asked: The requests.
        responses: What the model gave; ``None``: it did not fit into memory.
        max_retries: How often a request is asked again after a transient failure.
        events: Told of those that failed.
    """
    again, failed = [], []
    for one, response in zip(asked, responses, strict=True):
        if response is not None and response.error is not None and isinstance(one.request, Request):
            failed.append(one)
        if response is None:
            again.append(one)
        elif response.error is not None and response.error.retryable and one.tries < max_retries:
            one.tries += 1
            again.append(one)
        else:
            one.response = response
    events.tries_failed(failed)
    return again


def did_not_fit(n_at_once: int, smaller: int) -> str:
    """Return the note for the user after memory ran out: the number of requests that did not fit, and the number tried
    next.
    """
    return f"A batch of {n_at_once} did not fit into memory: continuing with {smaller}."


class Dispatcher(Protocol):
    """A way to a model."""

    @property
    def keeps_busy(self) -> int:
        """The number of samples in progress that keeps the model busy now."""
        ...

    @property
    def floor(self) -> int:
        """The least number of samples that fills the current computation and the next one."""
        ...

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take requests."""
        ...

    def poke(self, *, is_quiet: bool) -> None:
        """Start what can be started. ``is_quiet``: nothing else runs that could bring more requests."""
        ...

    def history(self) -> Mapping[str, Any]:
        """Return the dispatcher's statistics, for the run's record."""
        ...

    def close(self) -> None:
        """Let go of the model."""
        ...
