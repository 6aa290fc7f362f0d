"""Making reports."""

from polymeter.dialects.adapter.report import ReportGenerator

__all__ = ["ReportGenerator"]
