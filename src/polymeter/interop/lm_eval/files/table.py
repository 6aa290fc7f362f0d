"""The table that lm-eval prints: Markdown, a task's name on its first row, members of groups indented below them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

_HEADERS = ("Tasks", "Version", "Filter", "n-shot", "Metric", "", "Value", "", "Stderr")
_ARROWS = {True: "↑", False: "↓"}
_NAMES = ("alias", "name", "sample_len", "sample_count")
_NO_VERSION, _NO_ERROR = "    N/A", "   N/A"


def make_table(document: Mapping[str, Any], column: str = "results") -> str:
    """The table of a results document.

    Args:
        document: What ``simple_evaluate`` returns.
        column: ``results``, or ``groups`` for groups alone.
    """
    shown = document[column]
    depths, names = _places(document.get("group_subtasks", {}), shown)
    rows = [row for name in names for row in _rows(document, name, shown[name], depths.get(name, 0))]
    headers = ("Groups" if column == "groups" else _HEADERS[0], *_HEADERS[1:])
    return _markdown(headers, rows)


def _rows(document: Mapping[str, Any], name: str, entry: Mapping[str, Any], depth: int) -> Iterator[list[str]]:
    version = _version(document["versions"].get(name, _NO_VERSION))
    n_shot = str(document.get("n-shot", {}).get(name, " "))
    directions = document.get("higher_is_better", {}).get(name, {})
    title = f"{' ' * depth}- {entry.get('alias', name)}" if depth else str(entry.get("alias", name))
    for key, value in sorted((key, value) for key, value in entry.items() if key not in _NAMES):
        metric, _, chain = key.partition(",")
        if metric.endswith("_stderr"):
            continue
        error = entry.get(f"{metric}_stderr,{chain}")
        stated = [] if error is None else ["±", _NO_ERROR if error == "N/A" else f"{error:.4f}"]
        number = f"{value:.4f}" if isinstance(value, (int, float)) else str(value)
        arrow = _ARROWS.get(directions.get(metric), "")
        yield [title, version, chain, n_shot, metric, arrow, number, *(stated or ["", ""])]
        title = version = ""


def _version(value: Any) -> str:
    """A version as lm-eval's table shows it: whole numbers without a point, those of groups too, which are texts."""
    with suppress(ValueError):
        if (number := float(value)).is_integer():
            return str(int(number))
    return str(value)


def _places(members: Mapping[str, Sequence[str]], shown: Collection[str]) -> tuple[dict[str, int], list[str]]:
    """Return the depth of each name in groups, and the names to show in their order."""
    depths: dict[str, int] = {}
    ordered: list[str] = []

    def visit(name: str, depth: int) -> None:
        depths[name] = depth
        if name in shown:
            ordered.append(name)
        for member in sorted(members.get(name, ())):
            visit(member, depth + 1)

    inside = {member for listed in members.values() for member in listed}
    for name in sorted(members.keys() - inside):
        visit(name, 0)
    return depths, ordered + sorted(set(shown) - depths.keys())


def _markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns of numbers are set to the right."""
    columns = [[header, *(row[place] for row in rows)] for place, header in enumerate(headers)]
    widths = [max(3, *map(len, column)) for column in columns]
    right = [place for place, column in enumerate(columns) if rows and all(_is_number(cell) for cell in column[1:])]

    titles = [f"{header:^{width}}" for header, width in zip(headers, widths, strict=True)]
    rule = [f"{'-' * (width - 1)}:" if place in right else "-" * width for place, width in enumerate(widths)]
    return "\n".join(f"|{'|'.join(cells)}|" for cells in (titles, rule, *(_padded(row, widths, right) for row in rows)))


def _padded(row: Sequence[str], widths: Sequence[int], right: Collection[int]) -> list[str]:
    return [
        cell.rjust(width) if place in right else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True
