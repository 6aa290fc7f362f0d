"""Sentences on the verdicts of several judges: the mean of each, and their agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.report.formatting import DASH, listing, one_line


def panel_sentences(judges: Mapping[str, Any] | None) -> Iterator[str]:
    """One sentence for each metric.

    Args:
        judges: The entry ``judges`` of a task in ``results.json``; ``None``: only one.
    """
    if not judges:
        return
    models = judges.get("models") or {}
    rule = {"majority": "the majority"}.get(str(judges.get("rule")), "the mean")
    for metric in judges.get("metrics") or ():
        means = listing(f"{_name(own['role'], models)} {_number(own['value'])}" for own in metric["judges"])
        pairs = metric["pairs"]
        raw = [pair["agreement"]["value"] for pair in pairs if pair["agreement"]["value"] is not None]
        equal = f"; two of them agree on {sum(raw) / len(raw):.3f} of the samples on average" if raw else ""
        if len(pairs) == 1:
            equal = f"; they agree on {raw[0]:.3f} of the samples" if raw else ""
            kappa = pairs[0]["kappa"]
            beyond = f" (kappa {_number(kappa['value'])}{_interval(kappa)})"
        else:
            alpha = metric["alpha"]
            beyond = f" (Krippendorff's alpha {_number(alpha['value'])}{_interval(alpha)})"
        yield f"{one_line(str(metric['metric']))} is {rule} of {len(metric['judges'])} judges: {means}{equal}{beyond}."


def _name(role: str, models: Mapping[str, Any]) -> str:
    """A judge's model, with its role where models are called the same."""
    name = one_line(str(models.get(role) or role))
    is_shared = sum(str(other) == str(models.get(role)) for other in models.values()) > 1
    return f"{name} ({role})" if is_shared else name


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, (int, float)) else DASH


def _interval(found: Mapping[str, Any]) -> str:
    interval = found.get("interval")
    return "" if interval is None else f", 95 % interval {interval[0]:.3f} to {interval[1]:.3f}"
