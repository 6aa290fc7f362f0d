"""Metrics as readers see them: labels with direction and dimensions, and values with their unit."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from polymeter.interop.evalscope.v1.report.semantics import (
    DIAGNOSTIC_DIGITS,
    MetricDirection,
    MetricDisplayKind,
    MetricKind,
    MetricSemantics,
)
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, Scalar

MISSING = "—"
"""Shown in place of a value that is none."""
_ARROWS = {MetricDirection.HIGHER_IS_BETTER: " ↑", MetricDirection.LOWER_IS_BETTER: " ↓", MetricDirection.NONE: ""}
_RANKS = {"target": 0, "level": 1, "scope": 2, "max_tokens": 4, "statistic": 4}
_OTHER_RANK = 3
_AXES = {
    "context_length": "Context",
    "depth_percent": "Depth",
    "k": "k",
    "max_tokens": "Max tokens",
    "min_tokens": "Min tokens",
    "ngram": "n-gram",
    "threshold": "Threshold",
}
"""Dimensions whose values alone do not say what they are."""
_FIRST_LETTER = re.compile(r"\b\w")


def format_metric_label(
    identity: MetricIdentity | str, semantics: MetricSemantics | None, legacy_name: str | None = None
) -> str:
    """Return the label of a metric: its name, an arrow, and its dimensions. One that only describes keeps the name of
    the report, unless its meaning has a label.

    Args:
        identity: The metric, or its name in an older report.
        semantics: Its meaning, if known.
        legacy_name: Its name in an older report.
    """
    name = legacy_name or (identity if isinstance(identity, str) else identity.key)
    if semantics is None:
        return name
    if semantics.kind is MetricKind.DIAGNOSTIC:
        return semantics.display_name or name
    axes = {} if isinstance(identity, str) else identity.dimensions
    order = sorted(axes, key=lambda axis: (_RANKS.get(axis, _OTHER_RANK), axis))
    own = f"{semantics.metric_name}{_ARROWS[semantics.direction]}"
    details = " · ".join(_dimension(axis, axes[axis]) for axis in order)
    return f"{own} · {details}" if details else own


def format_metric_labels(
    metrics: Iterable[tuple[MetricIdentity | str, MetricSemantics | None]],
) -> dict[str, str]:
    """Return the labels of a report's metrics by key; equal labels have the key behind them, in parentheses."""
    labels = {
        identity if isinstance(identity, str) else identity.key: format_metric_label(identity, semantics)
        for identity, semantics in metrics
    }
    counts = Counter(labels.values())
    return {key: f"{label} ({key})" if counts[label] > 1 else label for key, label in labels.items()}


def format_metric_value(value: float | None, semantics: MetricSemantics | None) -> str:
    """Return the text of a value; a dash if it is none.

    Args:
        value: The stored value.
        semantics: Its meaning; ``None``: four digits, without a unit.
    """
    if is_missing_value(value) or value is None:
        return MISSING
    if semantics is None:
        return _number(float(value), DIAGNOSTIC_DIGITS)
    text = _number(float(value) * (semantics.display_multiplier or 1.0), semantics.display_precision)
    space = "" if semantics.display_kind is MetricDisplayKind.PERCENT else " "
    return f"{text}{space}{semantics.display_unit}" if semantics.display_unit else text


def is_missing_value(value: Any) -> bool:
    """Return whether there is no finite number to show."""
    return isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)


def _number(value: float, digits: int) -> str:
    """The shortest decimal text; halves are rounded up, as browsers do."""
    step = Decimal(1).scaleb(-digits)
    rounded = (Decimal(str(value)) / step + Decimal("0.5")).to_integral_value(rounding=ROUND_FLOOR) * step
    return format(rounded.normalize(), "f") if rounded else "0"


def _dimension(axis: str, value: Scalar) -> str:
    if isinstance(value, bool):
        text = "Yes" if value else "No"
    else:
        text = _FIRST_LETTER.sub(lambda first: first[0].upper(), str(value).replace("_", " "))
    return f"{_AXES[axis]} {text}" if axis in _AXES else text
