"""Stand-in for ``lmms_eval.models.model_utils.usage_metrics``: tokens that wrappers of endpoints count themselves.

The figures of a run come from the token counts of its answers; these are kept for wrappers that stop at a budget, and
for scripts that read them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval._logging import eval_logger

_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")


class _Ledger:
    """The calls so far. Wrappers report from several threads."""

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
            is_news, self.is_spent = is_over and not self.is_spent, self.is_spent or is_over
        if is_news:
            eval_logger.warning(f"The budget of {self.budget} tokens is spent: {self.n_tokens} were used.")


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
    """Most tokens of all calls together; ``None`` for no limit."""
    _ledger.budget = max_tokens


def is_budget_exceeded() -> bool:
    """Whether the budget is spent."""
    return _ledger.is_spent


def set_task_context(task_name: str | None) -> None:
    """The task of calls that do not name theirs."""
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
