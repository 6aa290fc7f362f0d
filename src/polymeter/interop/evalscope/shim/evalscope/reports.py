"""``evalscope.report`` of both generations: classes are those of the generation that the importing code is written for,
and tables are made of whatever reports they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.interop.evalscope.shim.generation import is_imported_by_1x
from polymeter.interop.evalscope.tasks.scoring import report as report_of_0_17
from polymeter.interop.evalscope.tasks.scoring import report_tables as tables_of_0_17
from polymeter.interop.evalscope.tasks.scoring.report import ReportKey
from polymeter.interop.evalscope.tasks.scoring.report_tables import get_data_frame
from polymeter.interop.evalscope.v1.report import tables, tree
from polymeter.interop.evalscope.v1.report.generator import ReportGenerator
from polymeter.interop.evalscope.v1.report.tables import (
    get_display_data_frame,
    percentage_weighted_average_from_subsets,
    unweighted_average_from_subsets,
    weighted_average_from_subsets,
)
from polymeter.interop.evalscope.v1.report.tree import ExecutionSubset, ExecutionSummary

if TYPE_CHECKING:
    pass

_CLASSES = {
    "Category": (report_of_0_17.Category, tree.ReportCategory),
    "Metric": (report_of_0_17.Metric, tree.ReportMetric),
    "Report": (report_of_0_17.Report, tree.EvaluationReport),
    "Subset": (report_of_0_17.Subset, tree.ReportSubset),
}
__all__ = [  # noqa: F822  (``__getattr__`` gives the classes)
    "Category",
    "ExecutionSubset",
    "ExecutionSummary",
    "Metric",
    "Report",
    "ReportGenerator",
    "ReportKey",
    "Subset",
    "gen_table",
    "get_data_frame",
    "get_display_data_frame",
    "get_report_list",
    "percentage_weighted_average_from_subsets",
    "unweighted_average_from_subsets",
    "weighted_average_from_subsets",
]


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(name)
    return _CLASSES[name][is_imported_by_1x()]


def get_report_list(reports_path_list: Iterable[str | Path]) -> list[Any]:
    """Return the reports in folders and all folders below: of 0.17 if all are, else of 1.x."""
    folders = list(reports_path_list)
    earlier = tables_of_0_17.get_report_list(folders)
    later = tables.get_report_list(folders)
    return list(earlier) if len(earlier) == len(later) else list(later)


def gen_table(
    reports_path_list: Sequence[str | Path] | None = None,
    report_list: Sequence[Any] | None = None,
    flatten_metrics: bool = True,
    flatten_categories: bool = True,
    add_overall_metric: bool = False,
) -> str:
    """Return reports as one table.

    Args:
        reports_path_list: Folders with reports; read where ``report_list`` is not given.
        report_list: The reports.
        flatten_metrics: Rows of all metrics, not of the first alone.
        flatten_categories: A column for each level of categories.
        add_overall_metric: A row ``OVERALL`` after the rows of a metric that has more than one.

    Raises:
        PlanError: if there are no reports.
    """
    reports = get_report_list(reports_path_list or ()) if report_list is None else report_list
    text: str = _tables_of(reports).gen_table(
        report_list=reports,
        flatten_metrics=flatten_metrics,
        flatten_categories=flatten_categories,
        add_overall_metric=add_overall_metric,
    )
    return text


def _tables_of(reports: Sequence[Any]) -> Any:
    is_earlier = all(isinstance(report, report_of_0_17.Report) for report in reports)
    return tables_of_0_17 if is_earlier else tables
