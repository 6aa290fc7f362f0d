"""``leaderboard``: the models of many runs, their scores on each task, and the possible places of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from polymeter.analysis.comparison.comparability import check_allowed
from polymeter.analysis.leaderboards.cells import BoardCell, BoardColumn, make_column
from polymeter.analysis.leaderboards.expenses import EXPENSES, Expense, expense_of, pareto_front, usage_notes
from polymeter.analysis.leaderboards.ranking import MOST_PAIRED, Average, average, n_scores, rank_column
from polymeter.analysis.leaderboards.reading import BoardRun, read_board_runs
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.settings.arguments import Names, names_of
from polymeter.prices.lists import PatternPrices, is_named, pattern_prices
from polymeter.prices.priced_model import model_named
from polymeter.report.formatting import count, listing, one_line
from polymeter.report.render import as_text
from polymeter.stats.intervals import Interval, ends_of
from polymeter.store.reading.reused import may_share
from polymeter.store.reading.run_folders import find_runs

SCHEMA_VERSION = 1
LEVEL = 0.95
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A model of a leaderboard.

    Attributes:
        name: Its name beside the others.
        model: The name of the model.
        runs: The runs with its scores.
        expense: The tokens, money and time of these runs.
    """

    name: str
    model: str
    runs: tuple[BoardRun, ...]
    expense: Expense


@dataclass(frozen=True, slots=True, repr=False)
class Leaderboard:
    """Models and tasks, with rank intervals. Its representation is the output of ``polymeter leaderboard``.

    Attributes:
        rows: The models, the best first.
        columns: The tasks and groups; the cells of each are in the order of the rows.
        average: The average over the columns that all models have; ``None`` if there is none.
        notes: Notes for the reader, one sentence each.
        left_out: Run folders without results, each with the reason.
        x: The quantity on the horizontal axis of the plot; ``None`` if no run has it.
    """

    rows: tuple[BoardRow, ...]
    columns: tuple[BoardColumn, ...]
    average: Average | None
    notes: tuple[str, ...]
    left_out: tuple[tuple[Path, str], ...]
    x: Literal["tokens", "cost", "time"] | None = None

    def __repr__(self) -> str:
        from polymeter.report.leaderboard.tables import print_leaderboard

        return as_text(print_leaderboard, self.document())

    def document(self) -> dict[str, Any]:
        """Return the leaderboard as plain data, as ``polymeter leaderboard --json`` prints it."""
        footnotes: dict[str, int] = {}
        models = [self._model(place, row, footnotes) for place, row in enumerate(self.rows)]
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "leaderboard",
            "level": LEVEL,
            "columns": [
                {
                    "kind": column.kind,
                    "name": column.name,
                    "title": one_line(column.title),
                    "metric": column.key[0],
                    "filter": column.key[1],
                    "higher_is_better": column.higher_is_better,
                    "groups": list(column.groups),
                    "ranks": column.method or None,
                    "n_ranked": len(column.ranked),
                }
                for column in self.columns
            ],
            "average": None
            if self.average is None
            else {"columns": list(self.average.columns), "ranks": self.average.method},
            "models": models,
            "footnotes": list(footnotes),
            "notes": list(self.notes),
            "left_out": [{"path": str(path), "why": why} for path, why in self.left_out],
            "plot": self._plot(),
        }

    def _model(self, place: int, row: BoardRow, footnotes: dict[str, int]) -> dict[str, Any]:
        own = self.average
        return {
            "name": row.name,
            "model": row.model,
            "runs": [{"name": run.name, "path": str(run.path), "ended": run.ended} for run in row.runs],
            "average": None
            if own is None or (places := own.ranks[place]) is None
            else {
                "value": own.values[place],
                "interval": ends_of(own.intervals[place]),
                "rank": list(places),
            },
            "cells": [_cell_document(column.cells[place], footnotes) for column in self.columns],
            "expense": row.expense.document(),
        }

    def _plot(self) -> dict[str, Any] | None:
        """Return the score of each model against its expense per sample. On the front are the models that no other one
        beats in both.
        """
        if self.x is None:
            return None
        column = None if self.average is not None else next((own for own in self.columns if own.method), None)
        if self.average is None and column is None:
            return None
        points: list[dict[str, Any]] = []
        is_higher = column is None or bool(column.higher_is_better)
        places: list[tuple[float, float]] = []
        for place, row in enumerate(self.rows):
            taken = row.expense.per_sample(self.x)
            score: float | None = None
            interval: Interval | None = None
            if self.average is not None:
                score, interval = self.average.values[place], self.average.intervals[place]
            elif column is not None and (cell := column.cells[place]) is not None and cell.is_ranked:
                score, interval = cell.value, cell.interval
            if taken is not None and score is not None:
                points.append({"model": row.name, "x": taken, "y": score, "interval": ends_of(interval)})
                places.append((taken, score if is_higher else -score))
        for point, is_on_front in zip(points, pareto_front(places), strict=True):
            point["is_on_front"] = is_on_front
        y = "average" if column is None else column.name
        return {"x": self.x, "x_unit": EXPENSES[self.x], "y": y, "higher_is_better": is_higher, "points": points}


@naming_places()
def leaderboard(
    *runs: Path | str,
    tasks: Names = (),
    metric: str = "",
    every: bool = False,
    members: bool = False,
    paired: bool | None = None,
    allow: Collection[str] = (),
    x: Literal["tokens", "cost", "time"] | None = None,
    prices: Mapping[str, tuple[float, float] | str] | None = None,
) -> Leaderboard:
    """Rank the models of many runs, with an interval for each rank.

    Args:
        *runs: Run folders, and folders that contain run folders, up to four levels deep.
        tasks: Only tasks and groups whose names match one of these patterns; default: tasks and groups that are in no
            group.
        metric: Only this metric; default: the first of each task.
        every: Give each run a separate row; default: one row for each model, with each task from its newest complete
            run.
        members: Also show the tasks and groups below a group.
        paired: Whether to compare samples one by one; default: if there are not too many. Rank intervals without pairs
            are also valid, but wider.
        allow: Allowed differences besides the model between scores that are ranked together, as for ``compare``:
            ``samples``, ``data``, ``task``, ``prompts``, ``judge``, ``unfinished``.
        x: The quantity on the horizontal axis of the plot; default: tokens if runs have counted them, else time.
        prices: By pattern of a measured model's name: the price of a million tokens of input, and of output, instead of
            the rates that its runs kept. Cached tokens count as input; judges are listed apart.

    Raises:
        PlanError: if there is nothing to rank, or a price is not possible.
        StorageError: if a folder cannot be read.
    """
    check_allowed(allow)
    given = pattern_prices(prices or {})
    if not runs:
        raise PlanError("There is no run to rank.", hint="Name run folders, or a folder that holds them.")
    found, left_out = read_board_runs(find_runs([Path(path) for path in runs]))
    groups = _by_model(found, is_each_own=every)
    columns = _columns(groups, names_of(tasks, "tasks"), metric, members=members, allow=allow)
    n = n_scores(columns)
    is_paired = n <= MOST_PAIRED if paired is None else paired
    gaps = [rank_column(column, is_paired=is_paired) for column in columns]
    overall = average(columns, gaps, len(groups))
    used = [_used(columns, place) or tuple(own[:1]) for place, own in enumerate(groups)]
    rows = [
        BoardRow(name, own[0].model, own, expense_of(own, given))
        for name, own in zip(_row_names(used), used, strict=True)
    ]
    if x is not None and all(row.expense.per_sample(x) is None for row in rows):
        hint = (
            "Give prices: --price 'gpt-*=2.50/10' is the price of a million tokens of input and of output."
            if x == "cost"
            else "Imported runs, and runs of models that do not count tokens, may not have it."
        )
        raise PlanError(f"No run has recorded {x}.", where="--x", hint=hint)
    chosen = x or next((one for one in EXPENSES if any(row.expense.per_sample(one) is not None for row in rows)), None)
    order = _order(columns, overall, len(rows))
    for column in columns:
        column.cells = [column.cells[place] for place in order]
    notes = [
        *(f"--price {name}: no run has such a model." for name in _unused_prices(found, given)),
        *_notes(groups, rows, columns, overall, n, is_paired=is_paired, is_asked=paired is not None, every=every),
    ]
    return Leaderboard(
        tuple(rows[place] for place in order),
        tuple(columns),
        _ordered(overall, order),
        tuple(notes),
        tuple(left_out),
        chosen,
    )


def _unused_prices(runs: Sequence[BoardRun], prices: PatternPrices) -> list[str]:
    models = [model_named(run.model) for run in runs]
    return [pattern for pattern in prices.by_pattern if not any(is_named(model, pattern) for model in models)]


def _by_model(runs: Sequence[BoardRun], *, is_each_own: bool) -> list[list[BoardRun]]:
    """Return the runs of each model: complete ones first, and of these the newest first."""
    if is_each_own:
        return [[run] for run in runs]
    groups: dict[str, list[BoardRun]] = {}
    for run in sorted(runs, key=lambda run: (run.is_complete, run.ended), reverse=True):
        groups.setdefault(run.model_key, []).append(run)
    return list(groups.values())


def _columns(
    groups: Sequence[Sequence[BoardRun]],
    patterns: Sequence[str],
    metric: str,
    *,
    members: bool,
    allow: Collection[str],
) -> list[BoardColumn]:
    names: dict[tuple[str, str], int] = {}
    above: dict[tuple[str, str], tuple[str, ...]] = {}
    for run in (run for group in groups for run in group):
        listed = [(str(kind), str(name), int(depth)) for kind, name, depth, *_ in run.results.get("layout", ())]
        known = {(kind, name) for kind, name, _ in listed}
        listed += [("task", name, 0) for name in run.results["tasks"] if ("task", name) not in known]
        for kind, name, depth in listed:
            names[kind, name] = min(depth, names.get((kind, name), depth))
        for place, groups_of in _groups_above(listed):
            above.setdefault(place, groups_of)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for _, name in names):
            every = [name for _, name in names]
            hint = did_you_mean(pattern, every) or f"They have {_some(every)}."
            raise PlanError(f"The runs have no task or group {pattern!r}.", where="--tasks", hint=hint)
    wanted = [
        (kind, name)
        for (kind, name), depth in names.items()
        if (any(fnmatchcase(name, pattern) for pattern in patterns) if patterns else members or not depth)
    ]
    found = [
        make_column("group" if kind == "group" else "task", name, groups, metric=metric, allow=allow)
        for kind, name in wanted
    ]
    columns = [column for column in found if column is not None]
    for column in columns:
        column.groups = above[column.kind, column.name]
    if not columns:
        known_metrics = sorted(
            {
                str(result["metric"])
                for group in groups
                for run in group
                for task in run.results["tasks"].values()
                for result in task["results"]
            }
        )
        if metric:
            hint = did_you_mean(metric, known_metrics) or f"They have {_some(known_metrics)}."
            raise PlanError(f"The runs have no metric {metric!r}.", where="--metric", hint=hint)
        raise PlanError("The runs have no score to rank.")
    return columns


def _groups_above(layout: Sequence[tuple[str, str, int]]) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """Yield each task and group of a table's layout with the groups that hold it, the outermost first."""
    path: list[str] = []
    for kind, name, depth in layout:
        del path[depth:]
        yield ("group" if kind == "group" else "task", name), tuple(path)
        path.append(name)


def _used(columns: Sequence[BoardColumn], place: int) -> tuple[BoardRun, ...]:
    """Return the runs with a model's scores."""
    cells = (column.cells[place] for column in columns)
    return tuple({str(cell.run.path): cell.run for cell in cells if cell is not None}.values())


def _row_names(used: Sequence[Sequence[BoardRun]]) -> list[str]:
    """Return the names of models. If two are equal, the name of the newest run's folder, or its whole path, is
    added.
    """
    models = [runs[0].model or runs[0].name for runs in used]
    names = []
    for runs, model in zip(used, models, strict=True):
        if models.count(model) == 1:
            names.append(model)
            continue
        folders = [others[0].name for others, other in zip(used, models, strict=True) if other == model]
        own = runs[0].name if folders.count(runs[0].name) == 1 else one_line(str(runs[0].path))
        names.append(f"{model} ({own})")
    return names


def _order(columns: Sequence[BoardColumn], overall: Average | None, n_models: int) -> list[int]:
    """Return the rows, the best first: by the average, or else by the first ranked column."""
    column = next((own for own in columns if own.method), columns[0])
    sign = -1.0 if column.higher_is_better is False else 1.0

    def good(place: int) -> tuple[int, float]:
        if overall is not None and (own := overall.values[place]) is not None:
            return 0, -own
        cell = column.cells[place]
        if cell is None or cell.value is None:
            return 3, 0.0
        return (1 if cell.is_ranked else 2), -sign * cell.value

    return sorted(range(n_models), key=good)


def _ordered(overall: Average | None, order: Sequence[int]) -> Average | None:
    if overall is None:
        return None
    return Average(
        overall.columns,
        tuple(overall.values[place] for place in order),
        tuple(overall.intervals[place] for place in order),
        tuple(overall.ranks[place] for place in order),
        overall.method,
    )


def _notes(
    groups: Sequence[Sequence[BoardRun]],
    rows: Sequence[BoardRow],
    columns: Sequence[BoardColumn],
    overall: Average | None,
    n: int,
    *,
    is_paired: bool,
    is_asked: bool,
    every: bool,
) -> Iterator[str]:
    if overall is not None:
        which = _some([next(one.title for one in columns if one.name == name) for name in overall.columns])
        rest = [one.title for one in columns if one.name not in overall.columns]
        others = (
            f" {_some(rest)} {'is' if len(rest) == 1 else 'are'} not part of it: a model has no comparable score "
            "there, or the scale is another."
        )
        without = [row.name for row, own in zip(rows, overall.values, strict=True) if own is None]
        nowhere = f" No score of {_some(without)} is comparable, so there is no average." if without else ""
        yield f"The average is the plain mean of {which}.{others if rest else ''}{nowhere}"
    elif len(columns) > 1:
        yield "There is no average: fewer than two columns on one scale have a comparable score of every model."
    if not is_paired and not is_asked:
        yield (
            "Ranks come from intervals alone. To compare samples one by one, add --paired: it reads "
            f"{count(n, 'score')}, which takes a while, and decides more ranks."
        )
    for column in columns:
        if column.higher_is_better is None:
            yield f"{one_line(column.title)} ({column.key[0]}) has no ranks: it is unknown whether higher is better."
    for row in rows:
        yield from usage_notes(row.name, row.runs, row.expense)
    if every:
        yield from _sharing(rows)
        return
    for runs, row in zip(groups, rows, strict=True):
        unused = [run.name for run in runs if run not in row.runs]
        if unused:
            yield (
                f"{row.name} has {count(len(runs), 'run')}. The newest complete one is shown for each task, so "
                f"{_some(unused)} {'is' if len(unused) == 1 else 'are'} not shown (--all shows all)."
            )


def _sharing(rows: Sequence[BoardRow]) -> Iterator[str]:
    """Yield a note on rows of runs that may share answers: their scores are not independent."""
    runs = [(row.name, run.manifest) for row in rows for run in row.runs]
    pairs = combinations(runs, 2)
    names = dict.fromkeys(name for one, two in pairs if may_share(one[1], two[1]) for name in (one[0], two[0]))
    if names:
        yield (
            f"{_some([*names])} may share answers (--reuse, score): their scores are not independent, and copies say "
            "nothing about the noise between runs. 'polymeter compare' counts them."
        )


def _some(names: Sequence[str]) -> str:
    shown = [one_line(str(name)) for name in names[:_SHOWN]]
    return listing(shown) if len(names) <= _SHOWN else f"{', '.join(shown)} and {len(names) - _SHOWN:,} more"


def _cell_document(cell: BoardCell | None, footnotes: dict[str, int]) -> dict[str, Any] | None:
    if cell is None:
        return None
    return {
        "value": cell.value,
        "stderr": cell.stderr,
        "interval": ends_of(cell.interval),
        "no_interval": cell.no_interval,
        "n": cell.n,
        "n_missing": cell.n_missing,
        "rank": None if cell.rank is None else list(cell.rank),
        "is_comparable": cell.is_ranked,
        "footnotes": [footnotes.setdefault(one_line(note), len(footnotes) + 1) for note in cell.notes],
        "run": cell.run.name,
    }
