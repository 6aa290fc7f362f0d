"""Cells that a spreadsheet shows as they are: a text of a model or a dataset is never taken for a formula."""

from __future__ import annotations

from typing import Any

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""What the text of a cell begins with that a spreadsheet computes."""


def without_formula(value: Any) -> Any:
    """A cell of CSV that no spreadsheet computes: a text that begins like a formula gets an apostrophe in front, which
    spreadsheets do not show. Everything else is returned as it is.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value
