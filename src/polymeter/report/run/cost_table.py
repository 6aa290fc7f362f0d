"""The estimate of a run as a table and sentences. Works on the document of ``polymeter.analysis.cost``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polymeter.report.formatting import DASH, duration, one_line
from polymeter.report.grids import Heading, terminal_table
from polymeter.report.render import at_least

if TYPE_CHECKING:
    from rich.console import Console

Span = Mapping[str, float | None]
_HEADINGS = ("requests", "input tokens", "output tokens", "cost", "time left")
_NAMES = ("requests", "input_tokens", "output_tokens", "total_cost")
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}


def print_cost(console: Console, document: Mapping[str, Any]) -> None:
    """Print the needs of each task, the total, the judges' share, and what the figures rest on."""
    from rich.text import Text

    headings = [Heading("task", is_number=False), *map(Heading, _HEADINGS)]
    rows = [[one_line(name), *_cells(document, task)] for name, task in document["tasks"].items()]
    if len(rows) > 1:
        rows.append(["total", *_cells(document, document["total"])])
    table, needed = terminal_table(headings, rows)
    with at_least(console, needed):
        console.print(table)
    for line in cost_lines(document):
        console.print(Text(line), soft_wrap=True)
    for line in document["notes"]:
        console.print(Text(one_line(line), style="dim"), soft_wrap=True)


def cost_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the total, the judges' share, what is spent, and the origin of the figures, as sentences."""
    total = document["total"]
    money_needed = span_text(total["total_cost"], document["currency"])
    told = [] if money_needed == "unknown" else [money_needed]
    told += [f"{span_text(total[name])} {word}" for name, word in _WORDS.items()]
    yield f"The whole run needs {', '.join(told)}."
    judged = total["judge_cost"]["expected"]
    if judged and total["total_cost"]["expected"]:
        share = judged / total["total_cost"]["expected"]
        yield f"Judges: {span_text(total['judge_cost'], document['currency'])}, {share:.0%} of the cost."
    elif total["judge_requests"]["expected"]:
        yield f"Judges: {span_text(total['judge_requests'])} requests, {span_text(total['judge_tokens'])} tokens."
    if document["spent"]:
        yield f"Spent so far: {money(document['spent'], document['currency'])}."
    for basis, names in _by_basis(document).items():
        of = "" if len(names) == len(document["tasks"]) else f" ({', '.join(map(one_line, names))})"
        yield f"{one_line(basis)}{of}."
    for role, price in document["prices"].items():
        if price:
            yield f"Price of the {role}: {one_line(price)}."


_WORDS = {"requests": "requests", "input_tokens": "input tokens", "output_tokens": "output tokens"}


def span_text(span: Span, currency: str = "") -> str:
    """A span as text: the expected value, and the range in parentheses; ``up to`` where only the end is known.

    Args:
        span: The span.
        currency: The currency, if it is money.
    """
    expected, low, high = span["expected"], span["low"], span["high"]

    def text(value: float) -> str:
        return money(value, currency) if currency else _short(value)

    if expected is None:
        if high is None:
            return f"at least {text(low)}" if low else "unknown"
        return f"{text(low)} to {text(high)}" if low else f"up to {text(high)}"
    if low is not None and high is not None and text(low) == text(expected) == text(high):
        return text(expected)
    ends = f"{DASH if low is None else text(low)}–{'?' if high is None else text(high)}"
    return f"{text(expected)} ({ends})"


def money(value: float, currency: str) -> str:
    """An amount of money: cents, or three digits of less than a dollar."""
    sign = _SIGNS.get(currency, f"{currency} ")
    if value == 0:
        return f"{sign}0"
    return f"{sign}{value:,.2f}" if value >= 1 else f"{sign}{value:.3g}" if value >= 1e-4 else f"{sign}{value:.1e}"


def _cells(document: Mapping[str, Any], needs: Mapping[str, Any]) -> list[str]:
    cells = [span_text(needs[name], document["currency"] if name == "total_cost" else "") for name in _NAMES]
    return [*cells, _time(needs["seconds"])]


def _time(span: Span) -> str:
    expected, low, high = span["expected"], span["low"], span["high"]
    if expected is None:
        return "unknown"
    if low is None or high is None or duration(low) == duration(high):
        return duration(expected)
    return f"{duration(low)} to {duration(high)}"


def _short(value: float) -> str:
    """A count: whole below ten thousand, then with three digits and a unit."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit * (10 if name == "k" else 1):
            return f"{value / unit:.3g} {name}" if value / unit < 999.5 else f"{value / unit:,.0f} {name}"
    return f"{value:,.0f}"


def _by_basis(document: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, task in document["tasks"].items():
        found.setdefault(task["basis"], []).append(name)
    return found
