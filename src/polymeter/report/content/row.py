"""Further stored data of a sample: the row of its dataset, and the log of its scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.content.text import ShownText, visible
from polymeter.report.content.view import Block, BlockView, as_json, as_text, entry
from polymeter.report.formatting import one_line

ORDER = 90


@dataclass(frozen=True, slots=True)
class ShownDict:
    """A dictionary as names with values; those that are not text are shown as JSON. ``is_open``: unfolded."""

    title: str
    rows: tuple[tuple[str, ShownText], ...]
    is_open: bool = False


def make(view: BlockView) -> Block | None:
    """Return the row, and the log without the entries that other blocks show."""
    log = {name: value for name, value in entry(view.sample, "log").items() if not _is_image(value)}
    doc = view.sample.get("doc")
    tables = [
        # For a sample that was never answered, only the row shows its question.
        _table("Row of the dataset", _row(doc), is_open=not view.exchanges()),
        _table("Log of the scoring", log, is_open=False),
    ]
    shown = [table for table in tables if table.rows]
    return Block("row", "", "content/row.html", shown, "below") if shown else None


def _row(doc: Any) -> Mapping[str, Any]:
    return doc if isinstance(doc, Mapping) else {} if doc is None else {"row": doc}


def _table(title: str, values: Mapping[str, Any], *, is_open: bool) -> ShownDict:
    rows = ((one_line(str(name)), visible(as_text(value) or as_json(value))) for name, value in values.items())
    return ShownDict(title, tuple(rows), is_open)


def _is_image(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("image"), Mapping)
