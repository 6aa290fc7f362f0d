"""The page of a power analysis: one HTML file with its tables and their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.report.formatting import listing, one_line
from polymeter.report.page import make_page
from polymeter.report.power.tables import notes, sentences, tables

_CAPTIONS = ("What could have been detected", "How many samples a difference needs")


def make_power_page(document: Mapping[str, Any]) -> str:
    """The page as one self-contained HTML file. The same analysis gives the same page.

    Args:
        document: The analysis, as ``polymeter power --json`` prints it.
    """
    made = [*tables(document)]
    captions = _CAPTIONS if len(made) > 1 else _CAPTIONS[1:]
    runs = [one_line(name) for name in document["runs"]]
    return make_page(
        "power.html",
        title=f"Power of {listing(runs)}" if runs else "Power",
        kind="power",
        styles=("base.css", "power.css"),
        scripts=(),
        data="{}",
        images={},
        tables=[
            {"caption": caption, "headings": headings, "rows": rows}
            for caption, (headings, rows) in zip(captions, made, strict=True)
        ],
        sentences=[*sentences(document)],
        notes=[*notes(document)],
    )
