"""Reports on a run folder: tables and one self-contained HTML report. Made as text; the store writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.names.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.report.render import print_table, to_markdown, to_text
    from polymeter.report.run.failures import Failures, failures_of, shown_failures
    from polymeter.report.run.html_report import make_html_report
    from polymeter.report.run.provenance import endpoints
    from polymeter.report.run.replicas import replica_summary
    from polymeter.report.run.truncation_text import truncation_warnings
    from polymeter.report.run.usage_table import cost_summary
    from polymeter.report.table import Line, footnotes, table_lines

_HOMES = {
    "polymeter.report.run.failures": (
        "Failures",
        "failures_of",
        "shown_failures",
    ),
    "polymeter.report.run.html_report": ("make_html_report",),
    "polymeter.report.run.provenance": ("endpoints",),
    "polymeter.report.render": (
        "print_table",
        "to_markdown",
        "to_text",
    ),
    "polymeter.report.run.replicas": ("replica_summary",),
    "polymeter.report.run.usage_table": ("cost_summary",),
    "polymeter.report.run.truncation_text": ("truncation_warnings",),
    "polymeter.report.table": (
        "Line",
        "footnotes",
        "table_lines",
    ),
}

__all__ = [
    "Failures",
    "Line",
    "cost_summary",
    "endpoints",
    "failures_of",
    "footnotes",
    "make_html_report",
    "print_table",
    "replica_summary",
    "shown_failures",
    "table_lines",
    "to_markdown",
    "to_text",
    "truncation_warnings",
]


__getattr__ = from_homes(__name__, _HOMES)
