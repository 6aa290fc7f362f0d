"""Scores against their usage, as plain SVG: a point for each model, its interval, and the Pareto front.

The drawing has no style of its own and no script: classes are the page's. It is made at a readable size, so a page has
one for wide screens and one for narrow ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from polymeter.report.axes import Axis
from polymeter.report.formatting import clip, one_line

Point = Mapping[str, Any]
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 14.0, 14.0, 40.0
_LETTER = 6.6
"""The width of a letter of a label, in pixels."""
_LINE = 13.0
_LOGARITHMIC = 20.0
"""The ratio of the greatest to the least value from which the horizontal axis is logarithmic."""
_LONGEST_LABEL = 24


def scatter(plot: Mapping[str, Any], *, width: int, height: int, kind: str) -> str:
    """The drawing of a plot of ``polymeter leaderboard --json`` as an SVG element.

    Args:
        plot: The plot, with at least one point.
        width: Its width in pixels.
        height: Its height in pixels.
        kind: A class of the element.
    """
    points: Sequence[Point] = plot["points"]
    x, y = _axes(points, width, height)
    n_ticks = 6 if width > 500 else 4
    title = f"{one_line(str(plot['y']))} against {plot['x_unit']}"
    front = sorted((point for point in points if point["is_on_front"]), key=lambda point: float(point["x"]))
    parts = [
        f'<svg class="scatter {kind}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}; the table has the same numbers">',
        *_frame(x, y, width, height, str(plot["x_unit"]), n_ticks),
        _front(front, x, y),
    ]
    for point in sorted(points, key=lambda point: bool(point["is_on_front"])):
        at_x, at_y = x.place(point["x"]), y.place(point["y"])
        mark = "best" if point["is_on_front"] else "other"
        if point["interval"] is not None:
            low, high = (y.place(end) for end in point["interval"])
            parts.append(f'<path class="whisker" d="M{at_x:.1f} {low:.1f}V{high:.1f}"/>')
        told = f"{one_line(point['model'])}: {point['y']:.3f}, {point['x']:.4g} {plot['x_unit']}"
        parts.append(
            f'<circle class="{mark}" cx="{at_x:.1f}" cy="{at_y:.1f}" r="4.5"><title>{escape(told)}</title></circle>'
        )
    parts += _labels(points, x, y, width)
    return "\n".join([*parts, "</svg>"])


def _axes(points: Sequence[Point], width: int, height: int) -> tuple[Axis, Axis]:
    taken = [float(point["x"]) for point in points]
    ends = [float(end) for point in points for end in (point["interval"] or (point["y"],))]
    least, most = min(taken), max(taken)
    is_logarithmic = least > 0 and most / least >= _LOGARITHMIC
    if is_logarithmic:
        low_x, high_x = least / (most / least) ** 0.06, most * (most / least) ** 0.06
    else:
        room = (most - least) * 0.08 or max(abs(most) * 0.1, 1e-9)
        low_x, high_x = max(least - room, 0.0) if least >= 0 else least - room, most + room
    room = (max(ends) - min(ends)) * 0.08 or 0.05
    x = Axis(low_x, high_x, _LEFT, width - _RIGHT, is_logarithmic)
    return x, Axis(min(ends) - room, max(ends) + room, height - _BOTTOM, _TOP)


def _frame(x: Axis, y: Axis, width: int, height: int, unit: str, n_ticks: int) -> Iterator[str]:
    floor = height - _BOTTOM
    for tick in y.ticks(6):
        yield f'<path class="grid" d="M{_LEFT} {tick.at:.1f}H{width - _RIGHT}"/>'
        yield f'<text class="tick" x="{_LEFT - 6}" y="{tick.at + 4:.1f}" text-anchor="end">{tick.text}</text>'
    for tick in x.ticks(n_ticks):
        yield f'<path class="rail" d="M{tick.at:.1f} {floor}v4"/>'
        yield f'<text class="tick" x="{tick.at:.1f}" y="{floor + 17}" text-anchor="middle">{tick.text}</text>'
    scale = " (logarithmic)" if x.is_logarithmic else ""
    yield f'<path class="rail" d="M{_LEFT} {floor}H{width - _RIGHT}"/>'
    middle = (_LEFT + width - _RIGHT) / 2
    yield f'<text class="unit" x="{middle}" y="{height - 5}" text-anchor="middle">{escape(unit + scale)}</text>'


def _front(front: Sequence[Point], x: Axis, y: Axis) -> str:
    """The Pareto front as steps: until the next model takes over, the one before it is the best."""
    if len(front) < 2:
        return ""
    path = f"M{x.place(front[0]['x']):.1f} {y.place(front[0]['y']):.1f}"
    path += "".join(f"H{x.place(point['x']):.1f}V{y.place(point['y']):.1f}" for point in front[1:])
    return f'<path class="front" d="{path}"/>'


def _labels(points: Sequence[Point], x: Axis, y: Axis, width: int) -> Iterator[str]:
    """Write the names of models if there is room, those on the front first."""
    taken = [(x.place(p["x"]) - 5, y.place(p["y"]) - 5, x.place(p["x"]) + 5, y.place(p["y"]) + 5) for p in points]
    for point in sorted(points, key=lambda point: (not point["is_on_front"], -float(point["y"]))):
        text = clip(one_line(point["model"]), _LONGEST_LABEL)
        at_x, at_y, wide = x.place(point["x"]), y.place(point["y"]), len(text) * _LETTER
        for anchor, left, base in (
            ("start", at_x + 5, at_y - 8),
            ("end", at_x - 8 - wide, at_y + 4),
            ("start", at_x + 8, at_y + 4),
            ("middle", at_x - wide / 2, at_y - 9),
            ("middle", at_x - wide / 2, at_y + 18),
        ):
            box = (left, base - _LINE + 3, left + wide, base + 3)
            if box[0] < _LEFT or box[2] > width - 2 or base < _LINE or any(_overlap(box, other) for other in taken):
                continue
            taken.append(box)
            place = {"start": left, "end": left + wide, "middle": left + wide / 2}[anchor]
            mark = "best" if point["is_on_front"] else "other"
            yield f'<text class="{mark}" x="{place:.1f}" y="{base:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
            break


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
