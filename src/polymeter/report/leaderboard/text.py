"""The cells of a leaderboard in words, and the sentences below it.

Works on the document of ``polymeter.analysis.leaderboards.board``, so that a stored one can be shown as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.report.comparison.text import value
from polymeter.report.formatting import DASH, listing, one_line

MISSING = "missing"
_METHODS = {
    "paired": "comparing samples one by one (McNemar's test, exact, or a t-test of differences)",
    "unpaired": "comparing the intervals of independent means",
    "mixed": "comparing samples where the task allows it, and the intervals of means elsewhere",
}
Cell = Mapping[str, Any]


def title(column: Mapping[str, Any]) -> str:
    """The heading of a column: the task's name, and an arrow where lower values are better."""
    arrow = " ↓" if column["higher_is_better"] is False else ""
    return f"{one_line(str(column['title']))}{arrow}"


def metric(column: Mapping[str, Any]) -> str:
    """The metric and the filter of a column."""
    name = one_line(str(column["metric"]))
    return name if column["filter"] in ("", "none") else f"{name}, {one_line(str(column['filter']))}"


def interval(cell: Cell) -> str:
    """The interval of a cell; empty without one."""
    if cell["interval"] is None:
        return ""
    low, high = cell["interval"]
    dash = " to " if low < 0 else "–"
    return f"{value(low)}{dash}{value(high)}"


def shown(cell: Cell | None, *, is_average: bool = False) -> str:
    """A cell in one text: value, interval and numbers of footnotes. A missing number differs from an average that
    cannot be computed.
    """
    if cell is None:
        return DASH if is_average else MISSING
    if cell["value"] is None:
        return " ".join([DASH, *marks(cell)])
    ends = interval(cell)
    return " ".join([value(cell["value"]), *([f"({ends})"] if ends else []), *marks(cell)])


def marks(cell: Cell) -> list[str]:
    """The numbers of a cell's footnotes: ``[1]``."""
    return [f"[{number}]" for number in cell.get("footnotes", ())]


def rank(cell: Cell | None) -> str:
    """A rank interval: ``2``, ``2–4``, or a dash for a cell that is not ranked."""
    if cell is None or cell["rank"] is None:
        return DASH
    low, high = cell["rank"]
    return str(low) if low == high else f"{low}–{high}"


def footnotes(document: Mapping[str, Any]) -> list[str]:
    """The footnotes, each with its number."""
    return [f"[{number}] {one_line(text)}" for number, text in enumerate(document["footnotes"], start=1)]


def legend(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the meaning of the numbers, and notes."""
    level = f"{document['level']:.0%}".replace("%", " %")
    yield (
        f"Each value has its {level} interval. The rank 2–4 of five means: one model is shown to be better, one to be "
        f"worse, and the others cannot be distinguished. All ranks of a column hold together with {level} (Holm's "
        "correction over all pairs)."
    )
    for method, names in _by_method(document).items():
        yield f"Ranks of {listing(names)}: by {_METHODS[method]}."
    if any(cell is not None and not cell["is_comparable"] for model in document["models"] for cell in model["cells"]):
        yield "A number without a rank is not comparable with the others of its column; its footnote gives the reason."
    yield from (one_line(note) for note in document["notes"])
    yield from left_out(document)


def left_out(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the runs that are left out, each with the reason."""
    for run in document["left_out"]:
        yield f"Left out: {one_line(run['path'])}: {one_line(run['why'])}"


def page_notes(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the meaning of the numbers as short sentences, for a page that shows intervals as bars."""
    level = f"{document['level']:.0%}".replace("%", " %")
    yield f"A bar is the {level} interval of a value. All bars of a column share one axis."
    yield (
        "Rank 2–4 means: one model is shown to be better, and the order of the next three is open. A line between rows "
        "means: all models above it differ from all below it by more than noise."
    )
    for method, names in _by_method(document).items():
        yield f"Ranks of {listing(names)}: {_METHODS[method]}, {level}, with Holm's correction over all pairs."
    if any(cell is not None and not cell["is_comparable"] for model in document["models"] for cell in model["cells"]):
        yield "A value without a rank is not comparable with its column; its footnote gives the reason."
    yield from (one_line(note) for note in document["notes"])


def _by_method(document: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if document["average"] is not None:
        found.setdefault(document["average"]["ranks"], []).append("the average")
    for column in document["columns"]:
        if column["ranks"]:
            found.setdefault(column["ranks"], []).append(one_line(str(column["title"])))
    if len(found) == 1:
        return {method: ["all columns"] for method in found}
    return {
        method: names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"] for method, names in found.items()
    }
