"""The speeds and token counts that wrappers report themselves.

Speeds are logged and summarised for ``simple_evaluate``; token counts are kept for wrappers that stop at a budget and
for scripts that read them. A run's own figures use neither.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.logs import eval_logger

_TOKENS_PER_WORD = 1.5
_N_REQUESTS = ("total_requests", "request_count", "num_requests")
_SUMMED = ("total_gen_tokens", "total_elapsed_time", "avg_speed", *_N_REQUESTS)
# Of the process, as in lmms-eval, whose functions are called without an object; one of them empties it.
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
    """Report seconds, generated tokens and tokens per second. ``e2e_latency`` and ``total_tokens`` are the names of the
    first two in versions before 0.6.
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
    """A summary of all reports: the sums of tokens and seconds, the resulting speed, and means of all other numbers;
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
    """A context that times generation: call ``stop_timer()`` after it, then ``log_metric(answers)``."""

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


_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")


class _Ledger:
    """The calls so far, with a lock, because wrappers report from several threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        with self.lock:
            self.calls: list[dict[str, Any]] = []
            self.n_tokens = 0
            self.budget: int | None = None
            self.is_spent = False
            self.task: str | None = None

    def add(self, call: dict[str, Any]) -> None:
        with self.lock:
            self.calls.append({**call, "task_name": call["task_name"] or self.task})
            self.n_tokens += sum(call[name] for name in _COUNTS)
            is_over = self.budget is not None and self.n_tokens >= self.budget
            is_first, self.is_spent = is_over and not self.is_spent, self.is_spent or is_over
        if is_first:
            eval_logger.warning(f"The budget of {self.budget} tokens is spent: {self.n_tokens} were used.")


# Of the process, for the same reason.
_ledger = _Ledger()


def log_usage(
    model_name: str,
    task_name: str | None = None,
    input_tokens: int = 0,
    output_tokens: int = 0,
    reasoning_tokens: int = 0,
    source: str = "model",
) -> None:
    """Report the tokens of one call; ``source`` is ``model`` or ``judge``."""
    counts = zip(_COUNTS, (input_tokens, output_tokens, reasoning_tokens), strict=True)
    _ledger.add(
        {
            "model_name": model_name,
            "task_name": task_name,
            **{name: count or 0 for name, count in counts},
            "source": source,
        }
    )


def set_budget(max_tokens: int | None = None) -> None:
    """Set the maximum number of tokens of all calls together; ``None`` for no limit."""
    _ledger.budget = max_tokens


def is_budget_exceeded() -> bool:
    """Return whether the budget is spent."""
    return _ledger.is_spent


def set_task_context(task_name: str | None) -> None:
    """Set the task of calls that do not name one."""
    _ledger.task = task_name


def reset_usage_metrics() -> None:
    """Forget all calls, the budget and the task."""
    _ledger.clear()


def get_running_totals() -> dict[str, int]:
    """Tokens by kind, their sum, and the number of calls."""
    with _ledger.lock:
        return _totals(_ledger.calls)


def summarize_usage_metrics() -> dict[str, Any]:
    """Totals of all calls, by task and by source; empty without calls."""
    with _ledger.lock:
        calls = list(_ledger.calls)
    if not calls:
        return {}
    return {
        "total": _totals(calls),
        "by_task": _by(calls, "task_name"),
        "by_source": _by(calls, "source"),
        "budget_exceeded": _ledger.is_spent,
        "budget_total_tokens": _ledger.budget,
    }


def _by(calls: Sequence[dict[str, Any]], field: str) -> dict[str, dict[str, int]]:
    keys = dict.fromkeys(call[field] for call in calls)
    return {key or "_unknown": _totals([call for call in calls if call[field] == key]) for key in keys}


def _totals(calls: Sequence[dict[str, Any]]) -> dict[str, int]:
    sums = {name: sum(call[name] for call in calls) for name in _COUNTS}
    return {**sums, "total_tokens": sum(sums.values()), "n_api_calls": len(calls)}
