"""The table of a leaderboard for a page: its columns in groups, its rows in the order of one column, and one line for
each cell: the value with its interval as a bar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.comparison.text import value
from polymeter.report.formatting import count, latency, one_line
from polymeter.report.leaderboard.text import interval, metric, rank, title
from polymeter.report.scales import Scale, axis
from polymeter.report.value_step import value_step

BAR_PX, _INSET_PX = 56, 2
_USAGE = {"tokens": "Tokens", "seconds": "Time", "cost": "Cost"}
Cell = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column of the page.

    Attributes:
        key: Its name in addresses.
        title: Its heading.
        below: Its metric, or the unit.
        group: The heading above it and its neighbours.
        order: The order that shows the best value first.
        cells: The cell of each model in the document: a result, an expense or ``None``.
        is_usage: Whether its values are tokens, time or cost.
        is_lower_better: Its direction; ``None``: unknown.
    """

    key: str
    title: str
    below: str
    group: str
    order: str
    cells: Sequence[Any]
    is_usage: bool = False
    is_lower_better: bool | None = None

    def sort_value(self, place: int) -> float | None:
        """Return the value by which a model is sorted."""
        cell = self.cells[place]
        found = cell if self.is_usage or cell is None else cell["value"]
        return found if isinstance(found, (int, float)) and math.isfinite(found) else None

    def rank(self, place: int) -> tuple[int, int] | None:
        """Return the rank interval of a model."""
        cell = None if self.is_usage else self.cells[place]
        return None if cell is None or cell["rank"] is None else (cell["rank"][0], cell["rank"][1])


def columns_of(document: Mapping[str, Any]) -> list[ShownColumn]:
    """Return the columns of a leaderboard: the average, groups, tasks, and the usage per sample."""
    models = document["models"]
    found = []
    if document["average"] is not None:
        n = len(document["average"]["columns"])
        cells = [model["average"] for model in models]
        found.append(
            ShownColumn("average", "average", f"of {count(n, 'task')}", "", "descending", cells, is_lower_better=False)
        )
    for place, heading in _tree(document["columns"]):
        found.append(_scored(document["columns"][place], heading, [model["cells"][place] for model in models]))
    for key, name in _USAGE.items():
        cells = [used(model, key) for model in models]
        if any(cell is not None for cell in cells):
            found.append(ShownColumn(key, name, "per sample", "Usage", "ascending", cells, True, True))
    return found


def _tree(columns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Yield the place of each task and group with the heading above it: groups first, each with those that it holds
    right after it and its title as their heading.
    """
    names = {column["name"]: place for place, column in enumerate(columns) if column["kind"] == "group"}
    inside: dict[int | None, list[int]] = {}
    for place, column in enumerate(columns):
        # Only groups that are shown; documents of earlier versions do not have the key.
        shown = [names[name] for name in column.get("groups", ()) if name in names]
        inside.setdefault(shown[-1] if shown else None, []).append(place)

    def below(parent: int, heading: str) -> Iterator[tuple[int, str]]:
        yield parent, heading
        for place in inside.get(parent, ()):
            yield from below(place, heading)

    roots = inside.get(None, [])
    for kind, usual in (("group", "Groups"), ("task", "Tasks")):
        for place in roots:
            if columns[place]["kind"] == kind:
                yield from below(place, title(columns[place]) if place in inside else usual)


def sorted_by(columns: Sequence[ShownColumn], key: str, order: str) -> tuple[ShownColumn | None, str]:
    """Return the column that sorts the rows, and the order; ``None``: the models' names.

    Args:
        columns: The columns.
        key: The key of a column, or ``model``; anything else: ``usual_column``.
        order: ``ascending`` or ``descending``; anything else: that of the column.
    """
    column = None if key == "model" else next((one for one in columns if one.key == key), usual_column(columns))
    usual = "ascending" if column is None else column.order
    return column, order if order in ("ascending", "descending") else usual


def usual_column(columns: Sequence[ShownColumn]) -> ShownColumn:
    """Return the column that sorts by default: the average, else the one that ranks most models."""
    if columns[0].key == "average":
        return columns[0]
    return max(columns, key=lambda one: sum(one.rank(place) is not None for place in range(len(one.cells))))


def places(models: Sequence[Mapping[str, Any]], column: ShownColumn | None, order: str) -> list[int]:
    """Return the order of the models: those whose value is not comparable with the others after those that are ranked,
    and those without a value last.
    """
    every = range(len(models))
    if column is None:
        return sorted(every, key=lambda place: str(models[place]["name"]).lower(), reverse=order == "descending")
    sign = -1.0 if order == "descending" else 1.0
    values = [column.sort_value(place) for place in every]
    is_ranked = [column.rank(place) is not None for place in every]
    return sorted(every, key=lambda place: (values[place] is None, not is_ranked[place], sign * (values[place] or 0.0)))


def rows(
    models: Sequence[Mapping[str, Any]],
    columns: Sequence[ShownColumn],
    column: ShownColumn | None,
    order: Sequence[int],
) -> Iterator[dict[str, Any]]:
    """Return the rows in an order, with a mark where everything above differs from everything below."""
    drawn = [_drawing(one) for one in columns]
    ranks = [None if column is None else column.rank(place) for place in order]
    for n, place in enumerate(order):
        model = models[place]
        names = [one_line(run["name"]) for run in model["runs"]]
        runs = names[0] if len(names) == 1 else count(len(names), "run")
        yield {
            "name": model["name"],
            "runs": "" if runs in model["name"] else runs,
            "rank": _rank_text(column, place),
            "is_apart": n > 0 and _is_apart(ranks[:n], ranks[n:]),
            "cells": [{**draw(place), "is_sorted": one is column} for one, draw in zip(columns, drawn, strict=True)],
        }


def spans(columns: Sequence[ShownColumn]) -> list[tuple[str, int]]:
    """Return the headings above the columns, each with the number of columns below it."""
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.group:
            found[-1] = (column.group, found[-1][1] + 1)
        else:
            found.append((column.group, 1))
    return found


def used(model: Mapping[str, Any], key: str) -> float | None:
    """Return the tokens, seconds or cost of a model per sample; ``None`` if unknown."""
    own = model["expense"]
    if not own["n"]:
        return None
    if key == "tokens":
        return None if own["input_tokens"] is None else (own["input_tokens"] + own["output_tokens"]) / own["n"]
    return None if own[key] is None else own[key] / own["n"]


def amount(key: str, taken: float) -> str:
    """Return tokens, seconds or a cost per sample in a unit that needs few digits."""
    if key == "seconds":
        return latency(taken)
    if key == "cost" and 0 < taken < 1:
        return f"{taken:.{1 - math.floor(math.log10(taken))}f}"
    return few_digits(taken)


def few_digits(taken: float) -> str:
    """Return a number with about three digits."""
    return f"{taken:,.0f}" if taken >= 1000 else f"{taken:.3g}"


def _scored(column: Mapping[str, Any], group: str, cells: Sequence[Any]) -> ShownColumn:
    lower = None if column["higher_is_better"] is None else not column["higher_is_better"]
    name = one_line(str(column["name"]))
    key = ":".join([name, one_line(str(column["metric"])), *([column["filter"]] if column["filter"] != "none" else [])])
    order = "ascending" if lower else "descending"
    return ShownColumn(key, title(column), metric(column), group, order, cells, is_lower_better=lower)


def _drawing(column: ShownColumn) -> Callable[[int], dict[str, Any]]:
    """Return a function that draws the cell of a model: values of one column share an axis."""
    if column.is_usage:
        return lambda place: _usage_cell(column.key, column.cells[place])
    known = [cell for cell in column.cells if cell is not None and cell["value"] is not None]
    ends = [end for cell in known for end in (cell["value"], *(cell["interval"] or ()))]
    # As wide as the intervals, so that a reader sees which ones overlap.
    shared = Scale(min(ends, default=0.0), max(ends, default=0.0))
    colours = axis((None, None), [cell["value"] for cell in known])
    return lambda place: _cell(column, column.cells[place], shared, colours)


def _usage_cell(key: str, taken: float | None) -> dict[str, Any]:
    if taken is None:
        return {"kind": "missing", "sort": None, "label": "missing"}
    return {"kind": "usage", "sort": taken, "value": amount(key, taken)}


def _cell(column: ShownColumn, cell: Cell | None, scale: Scale, colours: Scale | None) -> dict[str, Any]:
    if cell is None or cell["value"] is None:
        return {"kind": "missing", "sort": None, "label": "no average" if column.key == "average" else "missing"}
    ends = interval(cell)
    own = rank(cell) if cell["rank"] is not None else ""
    n = cell.get("n")
    about = [f"95 % interval {ends}" if ends else "no interval", f"rank {own}" if own else "not ranked"]
    return {
        "kind": "number",
        "sort": cell["value"],
        "value": value(cell["value"]),
        "step": value_step(cell["value"], colours, is_lower_better=column.is_lower_better),
        "about": ", ".join([*about, *([f"n {n:,}"] if n else [])]),
        "interval": ends,
        "rank": own or "–",
        "low": cell["rank"][0] if cell["rank"] else None,
        "high": cell["rank"][1] if cell["rank"] else None,
        "marks": list(cell.get("footnotes", ())),
        "n": f"{n:,}" if n else "",
        "bar": _bar(cell, scale),
    }


def _bar(cell: Cell, scale: Scale) -> dict[str, str] | None:
    if cell["interval"] is None or scale.low >= scale.high:
        return None
    low, high, at = (_INSET_PX + (BAR_PX - 2 * _INSET_PX) * scale.at(end) for end in (*cell["interval"], cell["value"]))
    return {"low": f"{low:.1f}", "width": f"{max(high - low, 1.5):.1f}", "at": f"{at:.1f}"}


def _rank_text(column: ShownColumn | None, place: int) -> str:
    """Return the rank of a model in a column; a dash for a value without one."""
    if column is None or column.is_usage or column.sort_value(place) is None:
        return ""
    return rank(column.cells[place])


def _is_apart(above: Sequence[tuple[int, int] | None], below: Sequence[tuple[int, int] | None]) -> bool:
    """Return whether all ranks above end before those below begin, or the other way around."""
    one, other = ([pair for pair in part if pair is not None] for part in (above, below))
    if not one or not other or len(one) < len(above):
        return False
    return max(high for _, high in one) < min(low for low, _ in other) or min(low for low, _ in one) > max(
        high for _, high in other
    )
