"""The formats of prediction files, and the changes that VLMEvalKit's spreadsheets make to cells.

ULMEvalKit's classes get a pickle. VLMEvalKit's get the format that ``PRED_FORMAT`` names, by default ``xlsx``, and read
it with ``load``. Such a file does not give back what was written: pandas reads "None" as a missing value, and a column
of texts that all look like numbers as numbers; Excel cuts texts. What a class gets back with Polymeter are the values
as they were written (``data.tables.exact``); at parity it gets what the file gives.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import guest_context
from polymeter.data.formats import dump, escaped_controls, require_excel

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "PRED_FORMAT"
SCORES_VARIABLE = "EVAL_FORMAT"
_FORMATS = ("xlsx", "tsv", "json")
_SCORES_FORMATS = ("csv", "json")
_LONGEST_CELL, _LONGEST_URL = 32_767, 2_079
_LINK = re.compile(r"(?:ftp|http)s?://")
_LINK_WITHOUT_MARK = re.compile(r"(?:mailto|internal|external):")
_ENCODED = re.compile("%[0-9a-fA-F]{2}")
_KEPT_IN_URLS = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"<>[]`^{}')
_DIGITS = "{:.16G}"


def prediction_format() -> str:
    """The format of VLMEvalKit's prediction files: what ``PRED_FORMAT`` says, else ``xlsx``.

    Raises:
        PlanError: if it is none of VLMEvalKit's.
    """
    named = os.environ.get(VARIABLE, "").lower() or _FORMATS[0]
    if named not in _FORMATS:
        hint = did_you_mean(named, _FORMATS) or f"Known: {', '.join(_FORMATS)}."
        raise PlanError(f"Prediction files cannot be written as {named!r}.", where=VARIABLE, hint=hint)
    return named


def scores_format() -> str:
    """The format of VLMEvalKit's tables of scores: what ``EVAL_FORMAT`` says, else ``csv``.

    Raises:
        PlanError: if it is none of VLMEvalKit's.
    """
    named = os.environ.get(SCORES_VARIABLE, "").lower() or _SCORES_FORMATS[0]
    if named not in _SCORES_FORMATS:
        hint = did_you_mean(named, _SCORES_FORMATS) or f"Known: {', '.join(_SCORES_FORMATS)}."
        raise PlanError(f"Scores cannot be written as {named!r}.", where=SCORES_VARIABLE, hint=hint)
    return named


def check_format(name: str) -> None:
    """Check, before anything is asked, that files of a format, and tables of scores, can be written.

    Args:
        name: The format.

    Raises:
        PlanError: if the package for it is not installed, or that of the scores is unknown.
    """
    scores_format()
    if name == _FORMATS[0]:
        try:
            require_excel(Path(f"predictions.{name}"))
        except PlanError as error:
            hint = f"{error.hint} Or set {VARIABLE}=tsv."
            raise PlanError(error.what, where=error.where or VARIABLE, hint=hint) from error


def write_table(table: pd.DataFrame, file: Path) -> None:
    """Write a table in the format of a file's suffix, as VLMEvalKit does: ``json`` as a list of rows.

    Raises:
        DataError: if it cannot be written.
    """
    if file.suffix == ".json":
        dump(table.to_dict("records"), file)
    elif file.suffix == ".xlsx" and guest_context().parity.on("spreadsheet-cells"):
        dump(table.map(as_in_a_sheet), file)
    else:
        dump(table, file)


def as_in_a_sheet(cell: Any) -> Any:
    """A cell as XlsxWriter, with which VLMEvalKit writes, stores it: texts up to 32,767 characters, links as what they
    show (none for a link of more than 2,079 characters), numbers with 16 digits.
    """
    if isinstance(cell, str):
        marked = _LINK_WITHOUT_MARK.match(cell)
        if marked or _LINK.match(cell):
            shown = cell[marked.end() :] if marked else cell
            parts = [shown] if _ENCODED.search(shown) else [quote(part, _KEPT_IN_URLS) for part in shown.split("#", 1)]
            return None if any(len(part) > _LONGEST_URL for part in parts) else escaped_controls(shown)
        return escaped_controls(cell[:_LONGEST_CELL])[:_LONGEST_CELL]
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return cell
    number = float(_DIGITS.format(cell))
    return int(number) if number.is_integer() and isinstance(cell, int) else number
