"""Availability of an endpoint: conclusions from its answers, waits during an outage, and notices to the user.

An endpoint that is down, or rejects all requests (a wrong key, an exhausted quota), ends the run. Requests without an
answer are dropped, not failed, and asked again when the run is resumed. ``breaker`` decides when failures are an outage
and when to probe again. The dispatcher decides which requests are sent while the endpoint is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from polymeter.core.request import Error, Response
from polymeter.run.dispatch.endpoint.attempts import Attempts
from polymeter.run.dispatch.endpoint.breaker import Breaker
from polymeter.run.dispatch.endpoint.concurrency import Limiter, Verdict

PATIENCE_S = 120.0
"""The longest time that an endpoint may answer nothing but rate limits before it is given up."""

_TELLING_S = 0.9
"""The shortest wait that is reported: about a second."""
_CLEARED_S = 1.0
"""For how long the endpoint's readiness to answer others is believed after a refusal that might concern everyone."""


class Notices:
    """Reports to the user why and how long the run waits, each wait once.

    Args:
        name: The role that the endpoint serves.
        on_wait: Called with a sentence; with an empty one when the run resumes.
        on_gone: Called with the reason when the endpoint can answer no more requests.
        clock: Seconds that only ever grow.
        longest_wait_s: The longest wait, whatever the endpoint asks for.
    """

    def __init__(
        self,
        name: str,
        on_wait: Callable[[str], None],
        on_gone: Callable[[str], None],
        clock: Callable[[], float],
        longest_wait_s: float,
    ) -> None:
        self._name = name
        self._on_wait = on_wait
        self._on_gone = on_gone
        self._clock = clock
        self._longest_wait_s = longest_wait_s
        self._told_until_s: float | None = None

    def outage(self, n_fruitless: int, wait_s: float, error: Error) -> None:
        """Tell that nothing was answered lately, and when the next try is."""
        if wait_s >= _TELLING_S:
            self._told_until_s = self._clock() + wait_s
            self._on_wait(
                f"{self._name} gave no answer to {n_fruitless} tries in a row; the next try is in "
                f"{_seconds(wait_s)}. {error.message}"
            )

    def pause(self, pause_s: float, error: Error) -> None:
        """Tell that the endpoint asked everyone to wait."""
        until_s = self._clock() + pause_s
        is_told = self._told_until_s is not None and until_s < self._told_until_s + _TELLING_S
        if pause_s < _TELLING_S or is_told:
            return
        self._told_until_s = until_s
        asked_s = error.retry_after_s or 0.0
        most = f"; the longest wait is {_seconds(self._longest_wait_s)}" if asked_s > self._longest_wait_s else ""
        self._on_wait(f"{_seconds(pause_s)} for {self._name}, which asked for {_seconds(asked_s)}{most}")

    def over(self) -> None:
        """Report that the run resumes, if a wait was reported."""
        if self._told_until_s is not None:
            self._told_until_s = None
            self._on_wait("")

    def gone(self, reason: str) -> None:
        """Tell that the endpoint can answer nobody any more."""
        self._on_gone(f"{self._name} cannot be asked any more: {reason}")


class EndpointWatch:
    """Watches one endpoint, on its dispatcher's event loop.

    Args:
        attempts: Makes small requests to the endpoint, if it offers any.
        limiter: Holds the wait that the endpoint asked for, and the limit on tries in flight.
        breaker: Decides when failures are an outage.
        notices: Reports to the user.
        longest_wait_s: The longest wait before another try.
        start: Makes a task of the dispatcher's loop, which ends with it.
        sleep: Waits between probes.
        clock: Seconds that only ever grow.

    Attributes:
        is_gone: Whether it can answer no more requests. Nothing is sent there then.
    """

    def __init__(
        self,
        attempts: Attempts,
        limiter: Limiter,
        breaker: Breaker,
        notices: Notices,
        *,
        longest_wait_s: float,
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
    ) -> None:
        self.is_gone = False
        self._attempts = attempts
        self._limiter = limiter
        self._breaker = breaker
        self._notices = notices
        self._longest_wait_s = longest_wait_s
        self._start = start
        self._sleep = sleep
        self._clock = clock
        self._limited_since_s: float | None = None
        self._limited: Error | None = None
        self._cleared_s: float | None = None
        self._verifying: asyncio.Task[Error | None] | None = None
        self._is_outlasting = False

    def learn(self, responses: Sequence[Response], error: Error | None, verdict: Verdict, *, has_others: bool) -> bool:
        """Learn from a try whether the endpoint is up, and whether it only limits. Return whether an outage begins that
        is to be waited for.

        Args:
            responses: The responses of the try.
            error: The error that represents the try.
            verdict: The conclusion from it.
            has_others: Whether there are requests that have not failed yet.
        """
        if any(response.error is None or response.error.kind == "refused" for response in responses):
            self._is_there()
        if error is not None and verdict == "rate_limit":
            self._notices.pause(self._limiter.pause_s, error)
            self._limited = error
            if self._limited_since_s is None:
                self._limited_since_s = self._clock()
        elif verdict == "failed" and (self._attempts.has_probe or has_others):
            # It can be found out that the endpoint is back: by a request of the model's own, or else by one that has
            # not failed yet. The last requests of a run may all fail for reasons of their own.
            return self._breaker.failed(self._limiter.limit) and not self._is_outlasting
        return False

    async def outlast(
        self, error: Error, has_work: Callable[[], bool], is_answered: Callable[[], Awaitable[bool]]
    ) -> None:
        """Wait until the endpoint answers again, or give it up.

        Args:
            error: The first error of the outage.
            has_work: Whether a request waits for an answer.
            is_answered: Sends a request of the run's own, and returns whether the endpoint answered it.
        """
        self._is_outlasting = True
        started_s, breaker = self._clock(), self._breaker
        while (wait_s := breaker.next_wait_s()) is not None and has_work():
            self._notices.outage(breaker.n_fruitless, wait_s, error)
            await self._sleep(wait_s)
            if not breaker.is_open or self.is_gone:
                break
            if self._attempts.is_dead:
                self._give_up("its server has ended.")
                break
            if await (self._is_probe_answered() if self._attempts.has_probe else is_answered()):
                break
        else:
            if has_work():
                n, waited_s = breaker.n_fruitless, self._clock() - started_s
                self._give_up(f"{n} tries in a row brought nothing in {waited_s:,.0f} s: {error.message}")
                return
        self._is_outlasting = False
        self._is_there()

    async def limits_only_this(self, *, is_passed_over: bool) -> bool:
        """Find out whether a rate limit concerns only the request that has used up its tries; give the endpoint up if
        it has answered nobody for too long.

        Limits are counted by the minute, and a small request may find room where a large one does not: so nothing but
        rate limits must have come for as long as the longest wait, before the answer to a small one says that the
        endpoint has room. Where no such answer comes from the model, those to others between the tries of this one say
        it, unless the small request is limited or refused as every request would be.

        Args:
            is_passed_over: Whether others were answered between its tries.
        """
        limited_s = 0.0 if self._limited_since_s is None else self._clock() - self._limited_since_s
        if self._breaker.is_open or limited_s < min(self._longest_wait_s, PATIENCE_S):
            return False
        found = await self._small_request() if self._attempts.has_probe else None
        if self._limited_since_s is None:  # others were answered meanwhile
            return False
        concerns_itself = found is not None and found.scope == "request" and found.kind != "rate_limit"
        if self._attempts.asks_model if found is None else concerns_itself and not found.retryable:
            return True
        if limited_s <= PATIENCE_S:
            return False
        if is_passed_over and (found is None or concerns_itself):
            return True
        message = self._limited.message if self._limited else ""
        self._give_up(f"it has answered with nothing but rate limits for {limited_s:,.0f} s: {message}")
        return False

    async def give_up_if_all_fail(self, error: Error) -> None:
        """Give the endpoint up if its server has ended, or an error concerns every request to it. If that is unclear, a
        small request decides.
        """
        if self._attempts.is_dead:
            self._give_up("its server has ended.")
        elif error.scope != "request" and await self._concerns_all(error):
            self._give_up(f"it refuses every request: {error.message}")

    async def _concerns_all(self, error: Error) -> bool:
        if error.scope == "endpoint" or not self._attempts.has_probe:
            return True
        if self._cleared_s is not None and self._clock() - self._cleared_s < _CLEARED_S:
            return False
        found = await self._small_request()
        if found is not None and found.scope != "request":
            return True
        self._cleared_s = self._clock()
        return False

    async def _small_request(self) -> Error | None:
        """Make a small request; those that want one meanwhile wait for the same answer."""
        if self._verifying is None:
            self._verifying = self._start(self._attempts.probe())
        found = await asyncio.shield(self._verifying)
        self._verifying = None
        return found

    async def _is_probe_answered(self) -> bool:
        error = await self._attempts.probe()
        if error is not None and error.scope != "request":
            self._give_up(f"it refuses every request: {error.message}")
        is_back = shows_presence(error)
        if not is_back:
            self._breaker.n_fruitless += 1
        return is_back

    def _is_there(self) -> None:
        self._limited_since_s = None
        self._breaker.answered()
        self._notices.over()

    def _give_up(self, reason: str) -> None:
        """Have nothing more sent, and the run ended."""
        if not self.is_gone:
            self.is_gone = True
            self._notices.gone(" ".join(filter(None, (reason, self._attempts.last_words))))


def shows_presence(error: Error | None) -> bool:
    """Return whether a try that ended so shows that the endpoint is there, even if it did not answer this request."""
    return error is None or not error.retryable or error.kind == "rate_limit"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 1 else f"{seconds:.1g} s"
