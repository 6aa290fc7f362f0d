"""The page of a leaderboard: one HTML file with a table that can be sorted and searched, and the scores against their
usage. Like the HTML report it fetches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from polymeter.report.comparison.text import value
from polymeter.report.formatting import count, listing, moment, one_line
from polymeter.report.leaderboard.rows import (
    ShownColumn,
    columns_of,
    few_digits,
    places,
    rows,
    sorted_by,
    spans,
    usual_column,
)
from polymeter.report.leaderboard.text import interval, left_out, page_notes, title
from polymeter.report.page import make_page
from polymeter.report.scatter import scatter

_STYLES = ("base.css", "leaderboard.css")
_SCRIPTS = ("leaderboard.js",)
_WIDE, _NARROW = (1080, 400), (326, 340)
_MOST_LISTED = 1_000
"""The most values that are also listed in full below the table."""
_MOST_NAMED = 3
_SECOND = 1.0
Link = Callable[[str, str], str]


def make_leaderboard_page(document: Mapping[str, Any]) -> str:
    """The page as one self-contained HTML file. The same leaderboard gives the same page.

    Args:
        document: The leaderboard, as ``polymeter leaderboard --json`` prints it.
    """
    return make_page(
        "leaderboard.html",
        title="Leaderboard",
        kind="leaderboard",
        styles=_STYLES,
        scripts=_SCRIPTS,
        data="{}",
        images={},
        **leaderboard_values(document),
    )


def leaderboard_values(
    document: Mapping[str, Any], sort: str = "", order: str = "", link: Link | None = None
) -> dict[str, Any]:
    """Return the values of ``templates/board.html``, and the facts above it.

    Args:
        document: As for ``make_leaderboard_page``.
        sort: The key of the column that sorts the rows; default: the first.
        order: ``ascending`` or ``descending``; default: the best value first.
        link: The address of the page sorted by a column in an order; default: a script sorts.
    """
    models, plot = document["models"], _plotted(document)
    columns = columns_of(document)
    column, direction = sorted_by(columns, sort, order)
    sequence = places(models, column, direction)
    table = [*rows(models, columns, column, sequence)]
    n_values = len(table) * len(columns)
    return {
        "facts": _facts(document),
        "lead": _lead(models, column, columns, sequence),
        "columns": [*_heads(columns, column, direction, link)],
        "spans": spans(columns),
        "rows": table,
        "statement": f"{count(len(models), 'model')}, {_order_in_words(column, direction)}.",
        "by_name": _name_head(column, direction, link),
        "is_listed": n_values <= _MOST_LISTED,
        "footnotes": [one_line(note) for note in document["footnotes"]],
        "left_out": [*left_out(document)],
        "notes": [*page_notes(document)],
        "plot": plot,
        "front": [*_front(plot)] if plot else [],
        "plot_note": _plot_note(document, plot) if plot else "",
        "wide": scatter(plot, width=_WIDE[0], height=_WIDE[1], kind="wide") if plot else "",
        "narrow": scatter(plot, width=_NARROW[0], height=_NARROW[1], kind="narrow") if plot else "",
    }


def _facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    models = document["models"]
    newest = max((str(run["ended"]) for model in models for run in model["runs"]), default="")
    n_runs = len({run["path"] for model in models for run in model["runs"]})
    return [
        ("Models", f"{len(models):,}"),
        ("Runs", f"{n_runs:,}"),
        ("Tasks and groups", f"{len(document['columns']):,}"),
        ("Newest run", moment(newest) if newest else "–"),
    ]


def _lead(
    models: Sequence[Mapping[str, Any]],
    column: ShownColumn | None,
    columns: Sequence[ShownColumn],
    sequence: Sequence[int],
) -> dict[str, str]:
    """Return the best model by the sorting column, and whether its lead is more than noise."""
    by = usual_column(columns) if column is None or column.is_usage else column
    usual = places(models, by, by.order)
    ranked = [place for place in usual if by.rank(place) is not None] if sequence else []
    if not ranked:
        return {"text": f"No model is ranked by {by.title}.", "more": "", "tone": "even"}
    best, rest = ranked[0], ranked[1:]
    cell = by.cells[best]
    ends = interval(cell)
    between = f" (95 % interval {ends})" if ends else ""
    text = f"{models[best]['name']} is best by {by.title.removesuffix(' ↓')}: {value(cell['value'])}{between}."
    if not rest:
        return {"text": text, "more": "No other model has a comparable score.", "tone": "even"}
    # A model whose rank may be 1, too, is not shown to be worse than all others.
    rivals = [str(models[place]["name"]) for place in rest if (by.rank(place) or (2, 2))[0] == 1]
    if not rivals:
        return {"text": text, "more": "Its lead is more than noise.", "tone": "gain"}
    named = rivals if len(rivals) <= _MOST_NAMED else [*rivals[: _MOST_NAMED - 1], f"{len(rivals) - 2} more"]
    return {"text": text, "more": f"Its lead over {listing(named)} is no more than noise.", "tone": "even"}


def _heads(
    columns: Sequence[ShownColumn], column: ShownColumn | None, direction: str, link: Link | None
) -> Iterator[dict[str, Any]]:
    for one in columns:
        is_sorted = one is column
        yield {
            "key": one.key,
            "title": one.title,
            "below": one.below,
            "order": one.order,
            "is_usage": one.is_usage,
            "aria": direction if is_sorted else "none",
            "link": _link(link, one.key, one.order, direction if is_sorted else ""),
        }


def _name_head(column: ShownColumn | None, direction: str, link: Link | None) -> dict[str, str]:
    now = direction if column is None else ""
    return {"aria": now or "none", "link": _link(link, "model", "ascending", now)}


def _link(link: Link | None, key: str, usual: str, now: str) -> str:
    """Return the address that sorts by a column, or turns its order around if it sorts already."""
    other = {"ascending": "descending", "descending": "ascending"}
    if link is None:
        return ""
    return link(key, other[usual] if now == usual else "")


def _order_in_words(column: ShownColumn | None, direction: str) -> str:
    if column is None:
        return "by name"
    first = ("least", "most") if column.is_usage else ("best", "worst")
    return f"{first[0] if direction == column.order else first[1]} first by {column.title.removesuffix(' ↓')}"


def _plotted(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the plot with its task's title and a unit of time that needs few digits; ``None`` without a point."""
    plot = document["plot"]
    if plot is None or not plot["points"]:
        return None
    titles = {column["name"]: title(column) for column in document["columns"]}
    plot = {**plot, "y": plot["y"] if document["average"] is not None else titles.get(plot["y"], plot["y"])}
    if plot["x"] != "time" or max(float(point["x"]) for point in plot["points"]) >= _SECOND:
        return plot
    points = [{**point, "x": 1000 * float(point["x"])} for point in plot["points"]]
    return {**plot, "x_unit": "milliseconds per sample", "points": points}


def _front(plot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The models on the Pareto front, those with the least usage first."""
    for point in sorted(plot["points"], key=lambda point: float(point["x"])):
        if point["is_on_front"]:
            yield {"model": point["model"], "x": few_digits(point["x"]), "y": value(point["y"])}


def _plot_note(document: Mapping[str, Any], plot: Mapping[str, Any]) -> str:
    missing = len(document["models"]) - len(plot["points"])
    what = {"tokens": "fewest tokens", "time": "least time", "cost": "lowest cost"}[plot["x"]]
    best = [point["model"] for point in plot["points"] if point["is_on_front"]]
    n_drawn = len(plot["points"])
    if n_drawn == 1:
        parts = [f"Only {best[0]} can be drawn." if missing else f"{best[0]} is the only model."]
    elif len(best) == 1:
        among = f"Of the {n_drawn:,} models drawn, " if missing else ""
        parts = [f"{among}{best[0]} has the best score and the {what}."]
    else:
        parts = ["The line joins the models that no other model beats in both score and usage."]
    if plot["x"] == "time":
        parts.append("Time is elapsed time on the machine of each run.")
    if missing:
        parts.append(f"Not drawn: {count(missing, 'model')} without both values.")
    return " ".join(parts)
