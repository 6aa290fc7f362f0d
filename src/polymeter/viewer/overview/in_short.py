"""The scores and the usage of a run as the list of runs shows them, ready to print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.usage import USAGE_BY_ROLE, ModelUsage, usage_of_document
from polymeter.report.formatting import as_float
from polymeter.report.run.usage_table import token_facts
from polymeter.report.scales import Bar, axis, bars
from polymeter.report.table import Line, table_lines
from polymeter.report.value_step import value_step

_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


@dataclass(frozen=True, slots=True)
class ScoreInShort:
    """The first metric of a task or group.

    Attributes:
        name: The task or group.
        title: Its name as it is printed.
        metric: The metric, with its direction.
        value: Its value.
        number: The value as a number.
        n: The samples behind it.
        interval: Its 95 % interval.
        interval_text: The same, ready to print; empty if it has none.
        bar: The interval on the axis of the metric; ``None`` if the metric declares no ends.
        step: The step of the colour scale.
        is_top: True if it is not a member of a group.
    """

    name: str
    title: str
    metric: str
    value: str
    number: float
    n: str
    interval: tuple[float, float] | None
    interval_text: str
    bar: Bar | None
    step: int | None
    is_top: bool = True


@dataclass(frozen=True, slots=True)
class UsageInShort:
    """The usage of a run, of all roles together.

    Attributes:
        tokens: All tokens of prompts and answers; ``None``: they are unknown.
        cost: The cost that the run records, in its own currency; ``None``: it records none.
        is_at_least: True if some requests do not report their tokens.
        details: The tokens by role and direction.
    """

    tokens: int | None = None
    cost: float | None = None
    is_at_least: bool = False
    details: str = ""

    @property
    def text(self) -> str:
        """The cost, or else the tokens, in few characters; a dash if neither is known."""
        if self.cost is not None:
            return f"{self.cost:.4g}"
        return "–" if self.tokens is None else f"{'≥ ' if self.is_at_least else ''}{compact(self.tokens)}"


def scores_in_short(results: Mapping[str, Any]) -> Iterator[ScoreInShort]:
    """The first metric of each task and group, those at the top of the table first."""
    lines = sorted(table_lines(results), key=lambda line: bool(line.depth))
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if line.subset or line.number is None or (line.kind, line.name) in seen:
            continue
        seen.add((line.kind, line.name))
        yield _score(line, line.number)


def _score(line: Line, value: float) -> ScoreInShort:
    (bar,) = bars([line])
    is_lower_better = {"↑": False, "↓": True}.get(line.direction)
    return ScoreInShort(
        line.name,
        line.alias or line.name,
        f"{line.metric} {line.direction}".strip(),
        line.value,
        value,
        line.n,
        line.interval,
        line.interval_text,
        bar,
        value_step(value, axis(line.bounds, ()), is_lower_better=is_lower_better),
        not line.depth,
    )


def usage_in_short(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> UsageInShort:
    """The usage of a run. A count of 0 is unknown if the run has no usage by role: such runs do not separate them."""
    recorded = manifest.get("usage") or {}
    cost = as_float(recorded.get("cost"))
    details = "; ".join(f"{label}: {text}" for label, text in token_facts(manifest, results).items())
    by_role = usage_of_document(results.get(USAGE_BY_ROLE) or manifest.get(USAGE_BY_ROLE))
    if not by_role:
        total = sum(int(recorded.get(name) or 0) for name in ("input_tokens", "output_tokens"))
        return UsageInShort(total or None, cost, details=details)
    spent = sum(by_role.values(), ModelUsage()).cost
    cost = spent.low if cost is None and spent.low == spent.high else cost
    known = [n for own in by_role.values() for n in (own.prompt, own.output) if n is not None]
    is_at_least = any(own.requests and None in (own.prompt, own.output) for own in by_role.values()) or any(
        own.unknown.get(name) for own in by_role.values() for name in ("input", "output")
    )
    return UsageInShort(sum(known) if any(known) else None, cost, is_at_least, details)


def compact(n: int) -> str:
    """A count in few characters: ``970``, ``12.3k``, ``4.5M``."""
    for size, unit in _UNITS:
        if n >= size:
            return f"{n / size:.1f}{unit}"
    return str(n)
