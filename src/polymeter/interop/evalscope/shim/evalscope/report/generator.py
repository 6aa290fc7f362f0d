"""Making reports."""

from polymeter.interop.evalscope.tasks.report import ReportGenerator

__all__ = ["ReportGenerator"]
