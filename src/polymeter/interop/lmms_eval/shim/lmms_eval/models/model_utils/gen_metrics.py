"""Stand-in for ``lmms_eval.models.model_utils.gen_metrics``: how fast a wrapper says that it was.

What wrappers report is logged and summed up for ``simple_evaluate``. Polymeter's own figures do not rest on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval._logging import eval_logger

_TOKENS_PER_WORD = 1.5
_N_REQUESTS = ("total_requests", "request_count", "num_requests")
_SUMMED = ("total_gen_tokens", "total_elapsed_time", "avg_speed", *_N_REQUESTS)
_reports: list[dict[str, Any]] = []


def log_metrics(
    total_elapsed_time: float | None = None,
    total_gen_tokens: float | None = None,
    avg_speed: float = 0.0,
    additional_metrics: Mapping[str, Any] | None = None,
    *,
    e2e_latency: float | None = None,
    total_tokens: float | None = None,
) -> None:
    """Report seconds, generated tokens and tokens per second. ``e2e_latency`` and ``total_tokens`` are what versions
    before 0.6 call the first two.
    """
    seconds = total_elapsed_time if total_elapsed_time is not None else e2e_latency or 0.0
    tokens = total_gen_tokens if total_gen_tokens is not None else total_tokens or 0
    report = {
        "total_elapsed_time": seconds,
        "total_gen_tokens": tokens,
        "avg_speed": avg_speed,
        **(additional_metrics or {}),
    }
    _reports.append(report)
    eval_logger.info("Generation: " + ", ".join(f"{name} {_shown(value)}" for name, value in report.items()))


def get_logged_metrics_history() -> list[dict[str, Any]]:
    """All reports since the last reset."""
    return list(_reports)


def reset_logged_metrics() -> None:
    """Forget all reports."""
    _reports.clear()


def summarize_logged_metrics() -> dict[str, Any]:
    """All reports in one: sums of tokens and seconds, the speed that follows from them, means of all other numbers;
    empty without reports.
    """
    if not _reports:
        return {}
    tokens, seconds = _sum("total_gen_tokens"), _sum("total_elapsed_time")
    summary: dict[str, Any] = {
        "total_gen_tokens": int(tokens) if tokens.is_integer() else tokens,
        "total_elapsed_time": seconds,
        "avg_speed": tokens / seconds if seconds > 0 else _sum("avg_speed") / len(_reports),
    }
    n_requests = sum(
        next((number for name in _N_REQUESTS if (number := _number(report.get(name))) is not None), 0.0)
        for report in _reports
    )
    if n_requests > 0:
        summary["avg_latency"] = seconds / n_requests
    others = dict.fromkeys(name for report in _reports for name in report if name not in _SUMMED)
    for name in others:
        numbers = [number for report in _reports if (number := _number(report.get(name))) is not None]
        if numbers:
            summary[f"avg_{name}"] = sum(numbers) / len(numbers)
    return summary


def space_tokenizer(text: str) -> float:
    """A rough number of tokens: one and a half for each word."""
    return len(text.split(" ")) * _TOKENS_PER_WORD


def calculate_token_throughput(token_count: float, duration: float) -> float:
    """Tokens per second; 0 for no time."""
    return token_count / duration if duration > 0 else 0.0


class GenMetrics:
    """Times what is done inside it: ``stop_timer()`` after generating, then ``log_metric(answers)``."""

    def __init__(self, tokenize_fn: Callable[[Any], float] = space_tokenizer) -> None:
        self.tokenize_fn = tokenize_fn
        self.metrics: dict[str, Any] = {}
        self.start_time = self.end_time = time.perf_counter()

    def __enter__(self) -> GenMetrics:
        self.metrics = {}
        self.start_time = self.end_time = time.perf_counter()
        return self

    def stop_timer(self) -> None:
        self.end_time = time.perf_counter()

    def log_metric(self, content: Iterable[Any], additional_metrics: Mapping[str, Any] | None = None) -> None:
        n_tokens = sum(self.tokenize_fn(item) for item in content)
        seconds = self.end_time - self.start_time
        speed = calculate_token_throughput(n_tokens, seconds)
        self.metrics = {
            "num_tokens": n_tokens,
            "duration": seconds,
            "throughput": speed,
            **(additional_metrics or {}),
        }
        log_metrics(seconds, int(n_tokens), speed, additional_metrics)

    def __exit__(self, *_: object) -> None:
        self.end_time = time.perf_counter()
        self.metrics["duration"] = self.end_time - self.start_time


def _sum(name: str) -> float:
    return sum((_number(report.get(name)) or 0.0 for report in _reports), 0.0)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
