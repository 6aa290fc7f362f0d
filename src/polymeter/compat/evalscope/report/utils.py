"""The tree of a report."""

from polymeter.dialects.adapter.report import Category, Metric, Report, ReportKey, Subset

__all__ = ["Category", "Metric", "Report", "ReportKey", "Subset"]
