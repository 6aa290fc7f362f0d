"""Detection of an endpoint that is down: pure decisions, like those about concurrency.

Consecutive failures, with no answer between them, first count as an outage. During an outage no other request is sent.
Small requests at growing intervals check whether the endpoint is back (a *circuit breaker*: Nygard, "Release It!",
2007). When all of these have failed, the endpoint is down for the rest of the run.
"""

from __future__ import annotations

from polymeter.run.dispatch.endpoint.concurrency import backoff_s

MOST_PROBES = 9
"""The number of probes of an endpoint: with the default limit on waits, they last about four minutes."""

_LEAST_FRUITLESS = 5
_INTERVAL_GROWTH = 3.0


class Breaker:
    """Counts tries that brought nothing.

    Args:
        longest_wait_s: The longest wait before a probe.
    """

    def __init__(self, longest_wait_s: float) -> None:
        self._longest_wait_s = longest_wait_s
        self.is_open = False
        self.n_fruitless = 0
        self.n_probes = 0

    def answered(self) -> None:
        """An answer came: the endpoint is there."""
        self.is_open = False
        self.n_fruitless = self.n_probes = 0

    def failed(self, limit: int) -> bool:
        """A try brought nothing; whether nobody is to be sent there from now on.

        Args:
            limit: How many tries may be in flight. Half of them may fail together, as when one connection carried
                them, before that counts as an outage.
        """
        self.n_fruitless += 1
        opens = not self.is_open and self.n_fruitless >= max(_LEAST_FRUITLESS, limit // 2)
        self.is_open = self.is_open or opens
        return opens

    def next_wait_s(self) -> float | None:
        """Return the wait before the next probe; ``None``: the endpoint is given up."""
        if self.n_probes >= MOST_PROBES:
            return None
        self.n_probes += 1
        return min(self._longest_wait_s, backoff_s(1, 0.0) * _INTERVAL_GROWTH ** (self.n_probes - 1))
