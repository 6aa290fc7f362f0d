"""The tree of a report."""

from polymeter.interop.evalscope.tasks.report import Category, Metric, Report, ReportKey, Subset

__all__ = ["Category", "Metric", "Report", "ReportKey", "Subset"]
