"""Reports and their tables."""

from polymeter.interop.evalscope.tasks.report import Category, Report, ReportGenerator, ReportKey, Subset
from polymeter.interop.evalscope.tasks.report_tables import gen_table, get_data_frame, get_report_list

__all__ = [
    "Category",
    "Report",
    "ReportGenerator",
    "ReportKey",
    "Subset",
    "gen_table",
    "get_data_frame",
    "get_report_list",
]
