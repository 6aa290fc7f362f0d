"""The cells of a leaderboard: for each model and task the score, its run, and its conditions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.analysis.leaderboards.comparability import Terms, differences, task_terms, with_same_rows
from polymeter.analysis.leaderboards.reading import BoardRun
from polymeter.report.formatting import as_float, count, listing
from polymeter.report.table import bounds_of, missing_by_status, spread_value
from polymeter.stats.intervals import Interval
from polymeter.store.reading.outcomes import ScoreKey

_SHOWN = 3


@dataclass(slots=True)
class BoardCell:
    """A score of a model.

    Attributes:
        run: Its run.
        value: The value; ``None`` if it is not a number.
        interval: Its 95 % interval.
        no_interval: Why the interval is missing.
        stderr: Its standard error.
        n: The number of samples behind it.
        n_missing: The number of samples without a score.
        result: The entry of ``results.json``.
        terms: Its conditions, by task.
        notes: Notes for the reader.
        is_ranked: Whether it is ranked with the others.
        rank: Its rank interval.
    """

    run: BoardRun
    value: float | None
    interval: Interval | None
    no_interval: str
    stderr: float | None
    n: int
    n_missing: int
    result: Mapping[str, Any]
    terms: Mapping[str, Terms]
    notes: list[str] = field(default_factory=list)
    is_ranked: bool = True
    rank: tuple[int, int] | None = None


@dataclass(slots=True)
class BoardColumn:
    """A task or group of a leaderboard.

    Attributes:
        kind: ``task`` or ``group``.
        name: Its name.
        title: The printed name.
        key: Metric and filter.
        higher_is_better: Its direction; ``None``: unknown, so nothing is ranked.
        bounds: The range of its values.
        cells: One for each model; ``None`` if it has no score.
        method: How models were compared: ``paired``, ``unpaired`` or empty.
        groups: The groups that hold it, the outermost first; empty: none.
    """

    kind: Literal["task", "group"]
    name: str
    title: str
    key: ScoreKey
    higher_is_better: bool | None
    bounds: tuple[float | None, float | None]
    cells: list[BoardCell | None]
    method: str = ""
    groups: tuple[str, ...] = ()

    @property
    def ranked(self) -> list[tuple[int, BoardCell]]:
        """Return the ranked cells, each with the number of its row."""
        return [(row, cell) for row, cell in enumerate(self.cells) if cell is not None and cell.is_ranked]


def make_column(
    kind: Literal["task", "group"],
    name: str,
    rows: Sequence[Sequence[BoardRun]],
    *,
    metric: str,
    allow: Collection[str],
) -> BoardColumn | None:
    """Make one column; return ``None`` if no run has a score for it.

    Args:
        kind: Whether it is a task or a group.
        name: Its name.
        rows: The runs of each model, the preferred ones first.
        metric: The metric; empty: the first of the task.
        allow: Allowed differences between scores that are ranked together.
    """
    wanted = [
        [key for key in _score_keys(run, kind, name) if metric in ("", key[0])][:1] for runs in rows for run in runs
    ]
    keys = Counter(key for found in wanted for key in found)
    if not keys:
        return None
    key = keys.most_common(1)[0][0]
    cells = [_cell_of(runs, kind, name, key) for runs in rows]
    results = [cell.result for cell in cells if cell is not None]
    if not results:
        return None
    holder = next(cell.run.results[f"{kind}s"][name] for cell in cells if cell is not None)
    directions = Counter(result.get("higher_is_better") for result in results)
    column = BoardColumn(
        kind,
        name,
        str(holder.get("alias") or name),
        key,
        directions.most_common(1)[0][0],
        bounds_of(results[0]),
        cells,
    )
    _compare_terms(column, allow)
    return column


def _score_keys(run: BoardRun, kind: str, name: str) -> list[ScoreKey]:
    holder = run.results[f"{kind}s"].get(name) or {}
    return [
        (metric, str(result["filter"]))
        for result in holder.get("results", ())
        if not result["subset"]
        for metric, value in spread_value(str(result["metric"]), result["value"])
    ]


def _cell_of(runs: Sequence[BoardRun], kind: str, name: str, key: ScoreKey) -> BoardCell | None:
    """Return the cell of the first of these runs that has the score."""
    for run in runs:
        holder = run.results[f"{kind}s"].get(name) or {}
        for result in holder.get("results", ()):
            if result["subset"] or str(result["filter"]) != key[1]:
                continue
            for metric, value in spread_value(str(result["metric"]), result["value"]):
                if metric == key[0]:
                    return _made_cell(run, kind, name, result, value, is_whole=value is result["value"])
    return None


def _made_cell(
    run: BoardRun, kind: str, name: str, result: Mapping[str, Any], value: Any, *, is_whole: bool
) -> BoardCell:
    leaves = [name] if kind == "task" else [*_leaves(run, name, set())]
    missing = Counter[str]()
    for leaf in leaves:
        missing.update(missing_by_status(run.results["tasks"].get(leaf, {})))
    number = None if isinstance(value, bool) else as_float(value)
    interval = result.get("interval") if is_whole else None
    ends = (as_float(interval[0]), as_float(interval[1])) if interval else (None, None)
    cell = BoardCell(
        run,
        number,
        None if ends[0] is None or ends[1] is None else (ends[0], ends[1]),
        str(result.get("no_interval") or "") if is_whole else "parts of a value have no interval",
        as_float(result.get("stderr")) if is_whole else None,
        int(result.get("n") or 0),
        sum(missing.values()),
        result,
        {leaf: task_terms(run, leaf) for leaf in leaves},
    )
    if missing:
        reasons = listing(f"{n:,} {status}" for status, n in missing.items())
        cell.notes.append(f"{count(sum(missing.values()), 'sample')} without a score ({reasons})")
    if result.get("failed_members"):
        cell.notes.append(f"incomplete: without {listing(map(str, result['failed_members']))}")
        cell.is_ranked = False
    if number is None:
        cell.notes.append("no score")
        cell.is_ranked = False
    return cell


def _leaves(run: BoardRun, group: str, seen: set[str]) -> Iterator[str]:
    """Yield the tasks below a group."""
    for member in run.results["groups"].get(group, {}).get("members", ()):
        if member in run.results["tasks"]:
            yield member
        elif member not in seen:
            seen.add(member)
            yield from _leaves(run, member, seen)


def _compare_terms(column: BoardColumn, allow: Collection[str]) -> None:
    """Mark the cells with other conditions than most cells.

    These are the conditions of the most models with complete runs; among equals, those with the most samples, then
    those with the newest run.
    """
    held = [cell for cell in column.cells if cell is not None]
    native = [cell for cell in held if not _is_imported(cell)]
    _find_same_rows(native, allow)
    by_key: dict[str, list[BoardCell]] = {}
    for cell in native or held:  # a log contains too little to be the reference
        by_key.setdefault(_key(cell, allow), []).append(cell)
    usual = max(
        by_key.values(),
        key=lambda cells: (
            cells[0].run.is_complete,
            len(cells),
            sum(cell.n for cell in cells),
            max(cell.run.ended for cell in cells),
        ),
    )
    # Reported differences are also relative to the most common facts.
    told = Counter(json.dumps({name: one.told for name, one in cell.terms.items()}, default=str) for cell in usual)
    most_told = told.most_common(1)[0][0]
    reference = next(
        cell for cell in usual if json.dumps({n: one.told for n, one in cell.terms.items()}, default=str) == most_told
    )
    for cell in held:
        found = [*_cell_differences(cell, reference, allow)]
        sentences = list(dict.fromkeys(text for text, _ in found))
        cell.notes += sentences[:_SHOWN]
        if len(sentences) > _SHOWN:
            cell.notes.append(f"{len(sentences) - _SHOWN} further differences of this kind")
        cell.is_ranked &= not any(is_apart for _, is_apart in found)


def _is_imported(cell: BoardCell) -> bool:
    return any(terms.imported for terms in cell.terms.values())


def _key(cell: BoardCell, allow: Collection[str]) -> str:
    return json.dumps(sorted((task, terms.key(allow)) for task, terms in cell.terms.items()))


def _cell_differences(cell: BoardCell, reference: BoardCell, allow: Collection[str]) -> Iterator[tuple[str, bool]]:
    for tool in dict.fromkeys(terms.imported for terms in cell.terms.values() if terms.imported):
        yield f"imported from {tool}: prompts, data, judge and settings not checked", False
    if cell is reference:
        return
    is_group = len(reference.terms) > 1
    lacking = [task for task in reference.terms if task not in cell.terms]
    further = [task for task in cell.terms if task not in reference.terms]
    if lacking or further:
        which = [f"without {listing(lacking[:_SHOWN])}"] if lacking else []
        which += [f"with {listing(further[:_SHOWN])}"] if further else []
        yield f"another group: {listing(which)}", "task" not in allow
    for task, terms in cell.terms.items():
        if task in reference.terms:
            for text, is_apart in differences(terms, reference.terms[task], allow):
                yield (f"{task}: {text}" if is_group else text), is_apart


def _find_same_rows(cells: Sequence[BoardCell], allow: Collection[str]) -> None:
    """Replace different fingerprints of data by digests of the rows: the same rows in another folder are the same
    data.
    """
    if "data" in allow:
        return
    digests: dict[tuple[str, str], str] = {}
    for task in dict.fromkeys(task for cell in cells for task in cell.terms):
        held = [cell for cell in cells if task in cell.terms]
        alike: dict[str, list[BoardCell]] = {}
        for cell in held:  # read rows only of runs that are equal in everything else
            alike.setdefault(cell.terms[task].key({*allow, "data"}), []).append(cell)
        for group in alike.values():
            prints = {cell.terms[task].parts["data"]["data"] for cell in group}
            if len(prints) < 2:
                continue
            first_of: dict[Any, BoardCell] = {}
            for cell in group:
                first_of.setdefault(cell.terms[task].parts["data"]["data"], cell)
            same = {
                fingerprint: with_same_rows(cell.run, task, fingerprint, digests)
                for fingerprint, cell in first_of.items()
            }
            for cell in group:
                terms = cell.terms[task]
                parts = {**terms.parts, "data": {"data": same[terms.parts["data"]["data"]]}}
                cell.terms = {**cell.terms, task: Terms(parts, terms.told, terms.imported)}
