"""Confusions of labels: targets against answers, for tasks that have a few labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polymeter.report.formatting import count
from polymeter.viewer.plots.choice_columns import MOST_LABELS
from polymeter.viewer.plots.columns import Codes, Columns, LabelColumn
from polymeter.viewer.plots.view import PlotCell, PlotTable, PlotView, percent, shade

ORDER = 30
MOST_SHOWN = 16
_LEAST_BY_LABEL = 3
"""The fewest samples for each label: with fewer, the targets are texts that hardly repeat."""
_LEAST_KNOWN = 0.5
"""The least share of answers that must be labels; with fewer, they are texts."""
_OTHER = "something else"


def make(columns: Columns, results: Mapping[str, Any]) -> Iterator[PlotView]:
    """One plot: of the labels' texts if there are few, else of the choices' places."""
    for target, answer, what in (("target", "answer", "labels"), ("target_place", "answer_place", "places of choices")):
        if target in columns.labels and answer in columns.labels:
            found = _matrix(columns.labels[target], columns.labels[answer])
            if found is not None:
                yield _plot(*found, what)
                return


def _matrix(target: LabelColumn, answer: LabelColumn) -> tuple[tuple[str, ...], Codes] | None:
    """The labels, and how often an answer (column; the last: none of them) was given to a target (row); ``None``: these
    are not labels.
    """
    names = target.names
    if not 2 <= len(names) <= MOST_SHOWN or len(names) >= MOST_LABELS:
        return None
    order = sorted(range(len(names)), key=lambda place: _sorting(names[place]))
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    by_name = {name: int(rank[place]) for place, name in enumerate(names)}
    folded = {name.casefold(): place for name, place in by_name.items()}
    # One entry more at the end: what stands for answers that are not kept, whose code is negative.
    to_label = np.array([folded.get(name.casefold(), len(names)) for name in answer.names] + [len(names)])
    known = (target.codes >= 0) & (answer.codes != -1)
    rows = rank[target.codes[known]]
    places = to_label[np.where(answer.codes[known] < 0, len(answer.names), answer.codes[known])]
    n = len(rows)
    if n < _LEAST_BY_LABEL * len(names) or float((places < len(names)).mean()) < _LEAST_KNOWN:
        return None
    width = len(names) + 1
    counts = np.bincount(rows * width + places, minlength=len(names) * width).reshape(len(names), width)
    return tuple(names[place] for place in order), counts


def _sorting(name: str) -> tuple[int, float, str]:
    """Numbers by size, ``choice 2`` before ``choice 10``, the rest by the alphabet."""
    last = name.rpartition(" ")[2]
    return (0, float(last), name) if last.isdecimal() else (1, 0.0, name.casefold())


def _plot(names: Sequence[str], counts: Codes, what: str) -> PlotView:
    has_other = bool(counts[:, -1].any())
    shown = counts if has_other else counts[:, :-1]
    rows = []
    for name, own in zip(names, shown, strict=True):
        total = int(own.sum())
        cells = [PlotCell(f"{n:,}", shade=shade(n / total if total else 0.0)) for n in own.tolist()]
        right = own[names.index(name)] / total if total else 0.0
        rows.append(
            (
                PlotCell(name, is_number=False),
                *cells,
                PlotCell(f"{total:,}"),
                PlotCell(percent(float(right)) if total else "–"),
            )
        )
    given = shown.sum(axis=0).tolist()
    rows.append(
        (
            PlotCell("all", is_number=False),
            *(PlotCell(f"{n:,}") for n in given),
            PlotCell(f"{int(shown.sum()):,}"),
            PlotCell(""),
        )
    )
    heads = ("Expected ↓ answered →", *names, *([_OTHER] if has_other else []), "all", "right")
    table = PlotTable(f"How often each answer was given to each target, by {what}", heads, tuple(rows), is_open=True)
    return PlotView("labels", "Expected against answered", _reading(names, counts), (table,))


def _reading(names: Sequence[str], counts: Codes) -> str:
    n = int(counts.sum())
    right = int(np.trace(counts[:, : len(names)]))
    said = f"{percent(right / n)} of {count(n, 'sample')} lie on the diagonal"
    wrong = counts.copy()
    wrong[np.arange(len(names)), np.arange(len(names))] = 0
    row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
    if wrong[row, column] == 0:
        return f"{said}: there are no mistakes."
    taken, most = [*names, _OTHER][int(column)], int(wrong[row, column])
    n_as_often = int((wrong == most).sum())
    times = "once" if most == 1 else f"{most:,} times"
    if n_as_often == 1:
        mistaken = f"the most frequent mistake is {taken} for {names[int(row)]}, {times}"
    elif most == 1:
        mistaken = f"no mistake was made twice ({n_as_often} different ones)"
    else:
        mistaken = f"{n_as_often} mistakes are equally frequent, {times} each, {taken} for {names[int(row)]} among them"
    expected, given = counts.sum(axis=1), counts[:, : len(names)].sum(axis=0)
    place = int((given - expected).argmax())
    excess = int(given[place] - expected[place])
    if excess > max(2, n // 20):
        mistaken += f"; {names[place]} is answered {given[place]:,} times and expected {expected[place]:,} times"
    return f"{said}; {mistaken}."
