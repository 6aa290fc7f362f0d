"""Tokens per right answer: lmms-eval's summary of the tokens and the time of a run's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_SCORES = ("score", "acc", "accuracy", "exact_match")
_SUMS = (
    "docs", "docs_with_token_counts", "total_input_tokens", "total_output_tokens", "total_tokens",
    "total_correct_score",
)  # fmt: skip


def task_efficiency(samples: Iterable[Mapping[str, Any]], score_key: str = "score") -> dict[str, Any]:
    """The summary of one task.

    Args:
        samples: The lines of its sample file; read once.
        score_key: Where a line holds its score, unless it has one under a usual name. Scores below 0 do not count.
    """
    sums = dict.fromkeys(_SUMS, 0.0)
    for sample in samples:
        counts = [entry for entry in sample.get("token_counts") or () if isinstance(entry, Mapping)]
        sums["docs"] += 1
        sums["docs_with_token_counts"] += bool(counts)
        sums["total_input_tokens"] += sum(float(entry.get("input_tokens") or 0) for entry in counts)
        sums["total_output_tokens"] += sum(float(entry.get("output_tokens") or 0) for entry in counts)
        sums["total_correct_score"] += max(0.0, _score(sample, score_key) or 0.0)
    sums["total_tokens"] = sums["total_input_tokens"] + sums["total_output_tokens"]
    return _with_ratios(sums)


def overall_efficiency(by_task: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The summaries of all tasks, and of all of them together; empty without tasks."""
    if not by_task:
        return {}
    sums = {name: sum((task[name] for task in by_task.values()), 0.0) for name in _SUMS}
    return {"by_task": dict(by_task), "overall": _with_ratios(sums)}


def build_efficiency_summary(results: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of what ``simple_evaluate`` returns; empty if that has no samples."""
    samples, configs = results.get("samples"), results.get("configs")
    if not isinstance(samples, Mapping):
        return {}
    keys = {name: _score_key(configs, name) for name in samples}
    return overall_efficiency(
        {name: task_efficiency(lines, keys[name]) for name, lines in samples.items() if isinstance(lines, list)}
    )


def _score_key(configs: Any, task: str) -> str:
    config = configs.get(task) if isinstance(configs, Mapping) else None
    return str((config.get("score_key") if isinstance(config, Mapping) else None) or "score")


def _with_ratios(sums: dict[str, float]) -> dict[str, Any]:
    n_counted, n_right, n_out = sums["docs_with_token_counts"], sums["total_correct_score"], sums["total_output_tokens"]
    return {
        **sums,
        "avg_output_tokens_per_sample": n_out / n_counted if n_counted else 0.0,
        "tokens_per_correct_answer": n_out / n_right if n_right > 0 else None,
    }


def _score(sample: Mapping[str, Any], score_key: str) -> float | None:
    """The first number under the task's key, a usual name, or a name that ends in ``_score``."""
    names = (score_key, *_SCORES, *(name for name in sample if str(name).endswith("_score")))
    return next((number for name in names if (number := as_number(sample.get(name))) is not None), None)


def as_number(value: Any) -> float | None:
    """A score as a number: the value itself, or what a mapping holds under ``score``; ``None`` if it is none."""
    if isinstance(value, Mapping):
        value = value.get("score")
    return float(value) if isinstance(value, (int, float)) else None
