"""Reports made of a run folder: tables and one self-contained page. Made as text; the store writes it."""

from polymeter.report.page import make_page
from polymeter.report.render import print_table, to_markdown, to_text
from polymeter.report.table import Line, footnotes, table_lines
from polymeter.report.traffic import endpoints

__all__ = ["Line", "endpoints", "footnotes", "make_page", "print_table", "table_lines", "to_markdown", "to_text"]
