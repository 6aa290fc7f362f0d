"""Tables of several reports: data frames, and the grid that is printed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from polymeter.core.errors import DataError, PlanError
from polymeter.interop.evalscope.tasks.scoring.report import Report, report_rows

if TYPE_CHECKING:
    import pandas

_LOG = logging.getLogger("polymeter")


class TabularReport(Protocol):
    """A report of either generation of EvalScope."""

    def to_dataframe(
        self, flatten_metrics: bool = True, flatten_categories: bool = True, add_overall_metric: bool = False
    ) -> pandas.DataFrame:
        """The report as a table, one row for each metric and subset."""


def get_report_list(reports_path_list: Iterable[str | Path]) -> list[Report]:
    """The reports in folders and all folders below, by model and benchmark. JSON that is not a report is
    skipped with a warning.
    """
    reports = []
    for folder in reports_path_list:
        for file in sorted(Path(folder).rglob("*.json")):
            try:
                reports.append(Report.from_json(file))
            except DataError as error:
                _LOG.warning("%s", error)
    return sorted(reports, key=lambda report: (report.model_name, report.dataset_name))


def get_data_frame(
    report_list: Sequence[TabularReport],
    flatten_metrics: bool = True,
    flatten_categories: bool = True,
    add_overall_metric: bool = False,
) -> pandas.DataFrame:
    """The tables of several reports below each other; see ``Report.to_dataframe``.

    Raises:
        PlanError: if there are no reports.
    """
    import pandas

    _check_any(report_list)
    frames = [report.to_dataframe(flatten_metrics, flatten_categories, add_overall_metric) for report in report_list]
    return pandas.concat(frames, ignore_index=True)


def gen_table(
    report_list: Sequence[Report],
    flatten_metrics: bool = True,
    flatten_categories: bool = True,
    add_overall_metric: bool = False,
) -> str:
    """Reports as one table in a grid of ``+``, ``-`` and ``|``; numbers are right-aligned. Arguments are those of
    ``get_data_frame``.

    Raises:
        PlanError: if there are no reports.
    """
    from tabulate import tabulate

    _check_any(report_list)
    rows = [
        row
        for report in report_list
        for row in report_rows(report, flatten_metrics, flatten_categories, add_overall_metric)
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = [[row.get(name) for name in columns] for row in rows]
    return str(tabulate(table, headers=columns, tablefmt="grid", showindex=False))


def _check_any(reports: Sequence[TabularReport]) -> None:
    if not reports:
        raise PlanError(
            "There are no reports to make a table of.", hint="Give report_list, or folders that hold reports as JSON."
        )
