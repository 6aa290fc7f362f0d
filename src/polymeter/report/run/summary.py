"""The results of a run in few lines, for a Python session: as text, as an HTML fragment for a notebook, and as rows.

Everything that a benchmark or a model wrote is escaped in the HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from polymeter.report.formatting import one_line
from polymeter.report.table import Line, footnotes, spread_value, table_lines

_HEADINGS = ("task", "metric", "value", "95 % interval", "n")
_RIGHT = (False, False, True, True, True)
_MOST_LINES = 60
_MOST_NOTES = 8
COLUMNS = (
    "kind",
    "name",
    "subset",
    "metric",
    "filter",
    "value",
    "stderr",
    "interval_low",
    "interval_high",
    "n",
    "n_planned",
    "higher_is_better",
)
"""The columns of ``result_rows``."""


def as_text(head: str, results: Mapping[str, Any]) -> str:
    """A compact table under a title."""
    lines, rest = _cells(results)
    if not lines:
        return "\n".join([head, *_notes(results)])
    rows = [_HEADINGS, *lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    table = [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, _RIGHT, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([head, *table, *rest, *_notes(results)])


def as_html(head: str, results: Mapping[str, Any]) -> str:
    """The same as an HTML fragment without styles of its own, as a notebook shows it."""
    lines, rest = _cells(results)
    parts = [f"<p><strong>{escape(head)}</strong></p>"]
    if lines:
        parts.append(f"<table><thead>{_html_row(_HEADINGS, 'th')}</thead><tbody>")
        parts += [_html_row(row, "td") for row in lines]
        parts.append("</tbody></table>")
    notes = [*rest, *_notes(results)]
    if notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>")
    return f"<div>{''.join(parts)}</div>"


def result_rows(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every number as a row with ``COLUMNS``; a value that has keys is one row for each of them."""
    for kind in ("task", "group"):
        for name, holder in results.get(f"{kind}s", {}).items():
            for result in holder.get("results", ()):
                low, high = result.get("interval") or (None, None)
                for metric, value in spread_value(str(result["metric"]), result.get("value")):
                    is_whole = value is result.get("value")
                    row = (
                        kind,
                        name,
                        "/".join(map(str, result.get("subset") or ())),
                        metric,
                        result.get("filter"),
                        value,
                        result.get("stderr") if is_whole else None,
                        low if is_whole else None,
                        high if is_whole else None,
                        result.get("n"),
                        result.get("n_planned", holder.get("n_samples") if not result.get("subset") else None),
                        result.get("higher_is_better"),
                    )
                    yield dict(zip(COLUMNS, row, strict=True))


def _cells(results: Mapping[str, Any]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of the table, and a line on those that are left out."""
    lines = table_lines(results)
    rest = [f"… and {len(lines) - _MOST_LINES:,} more lines; see to_pandas()."] if len(lines) > _MOST_LINES else []
    return [_row(line) for line in lines[:_MOST_LINES]], rest


def _row(line: Line) -> tuple[str, ...]:
    metric = " ".join(part for part in (line.metric, line.direction) if part)
    filtered = "" if line.filter in ("", "none") else f" ({line.filter})"
    mark = f" ({line.mark})" if line.mark else ""
    return (
        f"{'  ' * line.depth}{line.alias}" if line.alias else "",
        f"{metric}{filtered}{mark}",
        line.value,
        line.interval_text,
        line.n,
    )


def _notes(results: Mapping[str, Any]) -> list[str]:
    notes = footnotes(results) if results else []
    more = [f"… and {len(notes) - _MOST_NOTES:,} more notes; see the report."] if len(notes) > _MOST_NOTES else []
    return [*(one_line(note) for note in notes[:_MOST_NOTES]), *more]


def _html_row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(_html_cells(cells, tag))}</tr>"


def _html_cells(cells: Iterable[str], tag: str) -> Iterator[str]:
    for cell, is_right in zip(cells, _RIGHT, strict=True):
        side = "right" if is_right else "left"
        text = cell.lstrip(" ")
        indent = "&nbsp;" * (2 * (len(cell) - len(text)))
        yield f'<{tag} style="text-align: {side}">{indent}{escape(text)}</{tag}>'
