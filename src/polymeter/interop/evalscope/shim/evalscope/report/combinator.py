"""Several reports together."""

from polymeter.interop.evalscope.tasks.report_tables import gen_table, get_data_frame, get_report_list

__all__ = ["gen_table", "get_data_frame", "get_report_list"]
