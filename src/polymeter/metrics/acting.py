"""Metrics of episodes: how they ended, and what they needed. The rollout of a task with tools gives their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation, Metric
from polymeter.stats.additive import Additive

Outcomes = Sequence[Mapping[str, Any]]
"""The outcomes of the episodes of one sample, as ``tasks.acting.conversation.Attempt`` has them."""
_OUTPUT = "generate_with_tools"
OF_SUCCESS = "tokens_per_success"
"""The metric that needs the tokens of a sample too."""


def _mean(values: Sequence[float | None]) -> float:
    """Compute the mean over a sample's episodes; not a number if one has no value."""
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else math.nan


def _of(name: str) -> Callable[[Outcomes], float]:
    return lambda outcomes: _mean([outcome[name] for outcome in outcomes])


def _success(outcomes: Outcomes) -> float:
    """Compute the share of episodes whose reward is at least 1."""
    rewards = [outcome["reward"] for outcome in outcomes]
    return _mean([None if reward is None else float(reward >= 1) for reward in rewards])


ACTING_VALUES: Mapping[str, Callable[[Outcomes], float]] = {
    "success": _success,
    "reward": _of("reward"),
    "turns": _of("turns"),
    "calls": _of("calls"),
    "call_problems": _of("problems"),
    OF_SUCCESS: lambda outcomes: math.nan,
}
"""The value of each of these metrics for one sample."""


def _pairs(values: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """Return tokens and successes of each sample, shape ``(n, 2)``."""
    return np.asarray(values, dtype=np.float64).reshape(-1, 2)


def _ratio(totals: Sequence[float]) -> float:
    return totals[0] / totals[1] if totals[1] else math.nan


PER_SUCCESS_AGGREGATION = Aggregation("per_success", Additive(_pairs, _ratio), bounds=(0.0, None))


def _metric(name: str, values: str, **rules: Any) -> Metric:
    return Metric(name, values={_OUTPUT: values}, **rules)


SUCCESS = _metric("success", "1 if the environment's reward is at least 1, else 0", bounds=(0.0, 1.0))
REWARD = _metric("reward", "the last reward that the environment stated")
TURNS = _metric("turns", "number of the model's answers", higher_is_better=False, bounds=(0.0, None))
CALLS = _metric("calls", "number of calls", higher_is_better=False, bounds=(0.0, None))
CALL_PROBLEMS = _metric("call_problems", "number of calls with a problem", higher_is_better=False, bounds=(0.0, None))
TOKENS_PER_SUCCESS = _metric(
    OF_SUCCESS, "tokens read and written, and success", aggregation="per_success", higher_is_better=False
)
