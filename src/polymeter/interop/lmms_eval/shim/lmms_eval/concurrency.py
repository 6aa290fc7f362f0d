"""``lmms_eval.models.model_utils.concurrency_control``: how a wrapper of an endpoint adapts its own concurrency.

A wrapper gets one batch of requests at a time, so this works within a batch. For an endpoint behind ``openai:`` the
engine adapts the concurrency.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_YES = ("1", "true", "yes", "on")
_RATE_LIMIT_SIGNS = (
    "429",
    "rate limit",
    "rate_limit",
    "too many requests",
    "quota",
    "throttle",
    "requests per min",
    "tokens per min",
    "rpm",
    "tpm",
)
_SLOW, _FAST = 1.1, 0.85  # fractions of the target latency: reduce above the first, grow below the second
_LEAST_RATE_LIMITED = 0.02


@dataclass(frozen=True)
class AdaptiveConcurrencyConfig:
    """Limits of the concurrency, the target for the 95th percentile of latencies in seconds, and steps as fractions."""

    min_concurrency: int
    max_concurrency: int
    target_latency_s: float
    increase_step: float
    decrease_factor: float
    failure_threshold: float

    @classmethod
    def from_raw(
        cls,
        min_concurrency: int,
        max_concurrency: int,
        target_latency_s: float,
        increase_step: float,
        decrease_factor: float,
        failure_threshold: float,
    ) -> AdaptiveConcurrencyConfig:
        """A configuration with each value moved into its range."""
        least = max(1, int(min_concurrency))
        return cls(
            min_concurrency=least,
            max_concurrency=max(least, int(max_concurrency)),
            target_latency_s=max(0.1, float(target_latency_s)),
            increase_step=max(0.01, float(increase_step)),
            decrease_factor=min(0.95, max(0.1, float(decrease_factor))),
            failure_threshold=min(1.0, max(0.0, float(failure_threshold))),
        )


@dataclass(frozen=True)
class AdaptiveConcurrencyDecision:
    """The next concurrency, and the figures behind the decision."""

    current_concurrency: int
    next_concurrency: int
    failure_rate: float
    rate_limit_rate: float
    p95_latency_s: float
    should_reduce: bool


def decide_next_concurrency(
    *,
    current_concurrency: int,
    total_requests: int,
    failed_requests: int,
    rate_limited_requests: int,
    latencies: Sequence[float],
    config: AdaptiveConcurrencyConfig,
) -> AdaptiveConcurrencyDecision:
    """The concurrency after some requests: lower if too many failed or took too long, higher if all went well, else
    unchanged.
    """
    if total_requests <= 0:
        return AdaptiveConcurrencyDecision(current_concurrency, current_concurrency, 0.0, 0.0, 0.0, False)
    failed, limited = failed_requests / total_requests, rate_limited_requests / total_requests
    p95 = compute_p95(latencies)
    is_cut = (
        limited >= max(_LEAST_RATE_LIMITED, config.failure_threshold)
        or failed > config.failure_threshold
        or p95 > config.target_latency_s * _SLOW
    )
    is_calm = limited == 0 and failed <= config.failure_threshold / 2 and p95 < config.target_latency_s * _FAST
    pace = current_concurrency
    if is_cut:
        pace = int(current_concurrency * config.decrease_factor)
    elif is_calm:
        step = max(1, int(current_concurrency * config.increase_step))
        pace = min(config.max_concurrency, current_concurrency + step)
    pace = max(config.min_concurrency, pace)
    return AdaptiveConcurrencyDecision(current_concurrency, pace, failed, limited, p95, is_cut)


def compute_p95(values: Sequence[float]) -> float:
    """The 95th percentile, without interpolation and rounded down; 0 for no values."""
    return sorted(values)[int(0.95 * (len(values) - 1))] if values else 0.0


def parse_bool(value: Any) -> bool:
    """The boolean of an argument: true for ``True``, ``1``, ``true``, ``yes`` and ``on``."""
    return value if isinstance(value, bool) else str(value).strip().lower() in _YES


def is_rate_limit_error(error_msg: str) -> bool:
    """Return whether an error message looks like a rate limit."""
    return any(sign in error_msg.lower() for sign in _RATE_LIMIT_SIGNS)


def make_prefix_hash(text: str, prefix_chars: int = 256) -> str:
    """A key for placing requests with equal beginnings next to each other."""
    prefix = (text or "")[: max(1, int(prefix_chars))]
    return hashlib.sha1(prefix.encode("utf-8", errors="ignore"), usedforsecurity=False).hexdigest()


def extract_text_prefix_from_chat_messages(messages: Sequence[Any], max_chars: int = 256) -> str:
    """The first characters of the text in OpenAI messages."""
    return "".join(_texts(messages))[: max(1, int(max_chars))]


def _texts(messages: Sequence[Any]) -> Iterator[str]:
    for message in messages or ():
        content = message.get("content") if isinstance(message, dict) else None
        for item in [content] if isinstance(content, str) else content if isinstance(content, list) else ():
            text = item.get("text") if isinstance(item, dict) else item
            if isinstance(text, str):
                yield text
