"""What the fault server does to those who ask it: latencies, faults, capacity, answers."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

FAULTS: Mapping[str, str] = {
    "rate_limit": "429 without Retry-After",
    "rate_limit_after": "429 with Retry-After",
    "internal": "500",
    "bad_gateway": "502 with a page of HTML",
    "unavailable": "503 with a plain text",
    "reset": "the connection is reset before an answer",
    "hang": "never an answer",
    "truncated": "the connection ends in the middle of the JSON",
    "malformed": "200 with something that is no JSON",
    "error_body": "200 with an error in the body",
    "no_message": "200 with a choice that holds nothing",
    "no_end": "200 with a message without text, and no reason why it ended",
    "slow": "the right answer, a few bytes at a time",
    "wrong_type": "200 with the page of a proxy",
}
PERSISTENT = "bad_request"
"""A fault that comes at every try: 400."""
DECLINED = ("rate_limit", "rate_limit_after", PERSISTENT)
"""Faults before any work, which nobody pays for."""


@dataclass(frozen=True)
class Latency:
    """How long an answer takes, in seconds.

    Attributes:
        kind: ``constant``, ``uniform`` (0 to twice the mean) or ``lognormal``.
        mean_s: The mean.
        sigma: Of the logarithm, for ``lognormal``.
    """

    kind: str = "constant"
    mean_s: float = 0.0
    sigma: float = 0.5

    def draw(self, source: random.Random) -> float:
        """One latency."""
        if self.kind == "constant":
            return self.mean_s
        if self.kind == "uniform":
            return source.uniform(0, 2 * self.mean_s)
        return source.lognormvariate(math.log(self.mean_s) - self.sigma**2 / 2, self.sigma)


@dataclass(frozen=True)
class Weather:
    """What the server does.

    Attributes:
        latency: Of answers; faults come at once, or after it where a server would have worked.
        shares: For each fault, which share of tries meets it.
        bad_requests: Share of contents that are refused with 400 at every try.
        retry_after_s: What ``Retry-After`` says.
        slow_s: How long a slow answer drips.
        capacity: Requests it works on at a time; 0: any number.
        queues: Whether more than that wait for their turn; else they get 429.
        seed: Of everything that is drawn.
        answers: Question → answer; other questions are echoed.
        keeps_bill: Whether it charges for what it works on, and keeps the questions.
        charges_most: Whether a byte of a prompt is a token, and every answer as long as it may be.
        unstated: Share of contents whose answers state no tokens.
    """

    latency: Latency = Latency()
    shares: Mapping[str, float] = field(default_factory=dict)
    bad_requests: float = 0.0
    retry_after_s: float = 0.02
    slow_s: float = 0.02
    capacity: int = 0
    queues: bool = False
    seed: int = 0
    answers: Mapping[str, str] = field(default_factory=dict)
    keeps_bill: bool = False
    charges_most: bool = False
    unstated: float = 0.0

    def __post_init__(self) -> None:
        unknown = self.shares.keys() - FAULTS.keys()
        if unknown or sum(self.shares.values()) > 1:
            raise ValueError(f"unknown faults {sorted(unknown)}, or shares of more than one in all")
