"""The page of a leaderboard: one HTML file with a table that can be sorted and searched, and the scores against their
usage. Like the HTML report it fetches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.report.comparison.text import value
from polymeter.report.formatting import count, moment, one_line
from polymeter.report.leaderboard.text import MISSING, interval, legend, metric, rank, title
from polymeter.report.page import make_page
from polymeter.report.scatter import scatter

_STYLES = ("base.css", "leaderboard.css")
_SCRIPTS = ("leaderboard.js",)
_WIDE, _NARROW = (760, 400), (326, 340)
Cell = Mapping[str, Any]


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


def leaderboard_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of ``templates/board.html``, and the facts above it.

    Args:
        document: As for ``make_leaderboard_page``.
    """
    models, plot = document["models"], document["plot"]
    newest = max((str(run["ended"]) for model in models for run in model["runs"]), default="")
    n_runs = len({run["path"] for model in models for run in model["runs"]})
    has_plot = plot is not None and bool(plot["points"])
    columns = [*_columns(document)]
    return {
        "facts": [
            ("Models", f"{len(models):,}"),
            ("Runs", f"{n_runs:,}"),
            ("Tasks and groups", f"{len(document['columns']):,}"),
            ("Newest run", moment(newest) if newest else "–"),
        ],
        "columns": columns,
        "rows": [_row(model, columns) for model in models],
        "statement": f"{count(len(models), 'model')}, best first by {columns[0]['title']}.",
        "footnotes": [one_line(note) for note in document["footnotes"]],
        "notes": [*legend(document)],
        "plot": plot if has_plot else None,
        "front": [*_front(plot)] if has_plot else [],
        "plot_note": _plot_note(document) if has_plot else "",
        "wide": scatter(plot, width=_WIDE[0], height=_WIDE[1], kind="wide") if has_plot else "",
        "narrow": scatter(plot, width=_NARROW[0], height=_NARROW[1], kind="narrow") if has_plot else "",
    }


def _columns(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if document["average"] is not None:
        n = len(document["average"]["columns"])
        yield {"title": "average", "below": f"of {count(n, 'task')}", "key": "average", "order": "descending"}
    for place, column in enumerate(document["columns"]):
        yield {
            "title": title(column),
            "below": metric(column),
            "key": place,
            "order": "ascending" if column["higher_is_better"] is False else "descending",
        }
    for key, unit in (("tokens", "tokens"), ("seconds", "seconds"), ("cost", "cost")):
        if any(_taken(model, key) is not None for model in document["models"]):
            yield {"title": unit, "below": "per sample", "key": key, "order": "ascending"}


def _row(model: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    cells = []
    for column in columns:
        key = column["key"]
        if key in ("tokens", "seconds", "cost"):
            taken = _taken(model, key)
            cells.append({"kind": "taken", "sort": taken, "value": "–" if taken is None else _few_digits(taken)})
        else:
            cell = model["average"] if key == "average" else model["cells"][key]
            cells.append(_cell(cell, is_average=key == "average"))
    names = [one_line(run["name"]) for run in model["runs"]]
    runs = names[0] if len(names) == 1 else count(len(names), "run")
    return {"name": model["name"], "runs": "" if runs in model["name"] else runs, "cells": cells}


def _cell(cell: Cell | None, *, is_average: bool) -> dict[str, Any]:
    if cell is None:
        return {"kind": "missing", "sort": None, "value": "no average" if is_average else MISSING}
    return {
        "kind": "number",
        "sort": cell["value"],
        "value": value(cell["value"]) if cell["value"] is not None else "–",
        "interval": interval(cell) or "no interval",
        "rank": rank(cell),
        "is_ranked": cell["rank"] is not None,
        "marks": list(cell.get("footnotes", ())),
        "n": None if is_average else cell.get("n"),
    }


def _taken(model: Mapping[str, Any], key: str) -> float | None:
    own = model["expense"]
    if not own["n"]:
        return None
    if key == "tokens":
        return None if own["input_tokens"] is None else (own["input_tokens"] + own["output_tokens"]) / own["n"]
    return None if own[key] is None else own[key] / own["n"]


def _few_digits(taken: float) -> str:
    return f"{taken:,.0f}" if taken >= 1000 else f"{taken:.3g}"


def _front(plot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The models on the Pareto front, those with the least usage first."""
    for point in sorted(plot["points"], key=lambda point: float(point["x"])):
        if point["is_on_front"]:
            yield {"model": point["model"], "x": _few_digits(point["x"]), "y": value(point["y"])}


def _plot_note(document: Mapping[str, Any]) -> str:
    plot = document["plot"]
    lacking = len(document["models"]) - len(plot["points"])
    without = f" {count(lacking, 'model')} without one of the two values left out." if lacking else ""
    clock = " Time is wall-clock time on the machine of each run." if plot["x"] == "time" else ""
    better = "higher" if plot["higher_is_better"] else "lower"
    best = [point["model"] for point in plot["points"] if point["is_on_front"]]
    if len(best) == 1:
        said = f"{best[0]} needs least and has the best score."
    else:
        said = f"The line joins the models that no other model beats in both: lower usage and a {better} score."
    return f"{said}{clock}{without}"
