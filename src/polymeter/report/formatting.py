"""Numbers, durations and text from models and datasets in readable form. Owns all rounding in reports."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from polymeter.core.errors import count as count  # noqa: PLC0414  (offered here too)
from polymeter.core.records.usage import Cost

DASH = "–"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BIDI = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_SMALLEST_PLAIN = 1e-4
_UNITS = ("B", "kB", "MB", "GB", "TB")
_SMALL = 0.1
"""The amount of money from which on cents are enough."""


def number(value: Any) -> str:
    """A result's value as text: four decimals where they mean something, fewer for large numbers; a dash for ``None``.

    NaN is written as ``NaN``: the metric could not be computed, which differs from a metric that was never requested.
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clip(one_line(text), 60)


def as_float(value: Any) -> float | None:
    """The value as a float if it is a finite number, else ``None``."""
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return None


def duration(seconds: float) -> str:
    """``42 s``, ``3 min 05 s``, ``2 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def latency(seconds: float) -> str:
    """``0.4 ms``, ``120 ms``, ``1.2 s``, ``3 min 05 s``."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{1000 * seconds:.0f} ms"
    return duration(seconds)


def money(cost: Cost) -> str:
    """An amount in US dollars, or its range: ``$1.23``, ``$0.0012``, ``$1.20 to $2.40``, ``at least $1.20``."""
    if cost.low is None:
        return "unknown" if cost.high is None else f"at most {_dollars(cost.high)}"
    if cost.high is None:
        return f"at least {_dollars(cost.low)}"
    low, high = _dollars(cost.low), _dollars(cost.high)
    return low if low == high else f"{low} to {high}"


def _dollars(amount: float) -> str:
    """An amount in cents, or with two digits if it is less than ten cents."""
    if not 0 < amount < _SMALL:
        return f"${amount:,.2f}"
    return f"${amount:.{1 - math.floor(math.log10(amount))}f}"


def data_size(n_bytes: int) -> str:
    """``512 B``, ``1.4 MB``, ``20.0 GB``."""
    value, unit = float(n_bytes), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.{1 if unit else 0}f} {_UNITS[unit]}"


def moment(stamp: str) -> str:
    """An ISO timestamp to the minute; text that is not one is returned unchanged."""
    try:
        time = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    except ValueError:
        return stamp
    return f"{time:%Y-%m-%d %H:%M}" + (f" {time.tzname()}" if time.tzname() else "")


def one_line(text: str) -> str:
    """The text on one line, without control sequences for a terminal and without direction overrides."""
    return clean(" ".join(text.split()))


def clean(text: str) -> str:
    """The text without control characters (line breaks and tabs stay) and without direction overrides."""
    return _BIDI.sub("", _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def clip(text: str, length: int) -> str:
    """The text cut to ``length`` characters; where it is cut, the last one is an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def listing(parts: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *head, last = [*parts] or [""]
    return f"{', '.join(head)} and {last}" if head else last


def _float(value: float) -> str:
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "∞", "-inf": "-∞"}[str(value)]
    magnitude = abs(value)
    if 0 < magnitude < _SMALLEST_PLAIN:
        return f"{value:.2e}"
    decimals = 4 if magnitude < 10 else 3 if magnitude < 100 else 2 if magnitude < 1000 else 1
    return f"{value:.{decimals}f}"
