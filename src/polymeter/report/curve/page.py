"""The page of a training run's curve: one HTML file with a drawing for each task, and all numbers below. Like the HTML
report it fetches nothing, and it needs no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.axes import Axis
from polymeter.report.comparison.text import value
from polymeter.report.curve.text import (
    against,
    cells,
    difference,
    direction,
    gate,
    legend,
    main_lines,
    metric,
    newest_remarks,
    newest_step,
    newest_verdict,
    own_interval,
    sentences,
    summary,
    title,
    troubles,
)
from polymeter.report.formatting import one_line
from polymeter.report.page import make_page
from polymeter.report.run.extract import script_json

_MARGIN = 0.08
"""The free space above and below the values of a drawing."""
_LABEL = 15.0
_Y_TICKS, _PX_PER_X_TICK = 5, 85.0
_STYLES = ("base.css", "table.css", "comparison.css", "curve.css")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a drawing in pixels, its class, and the edges that its labels need."""

    width: float
    height: float
    kind: str
    left: float = 46.0
    right: float = 20.0
    top: float = 20.0
    bottom: float = 36.0


NARROW = Size(340.0, 216.0, "narrow")
HALF = Size(660.0, 250.0, "wide")
FULL = Size(1320.0, 360.0, "wide")
"""The only drawing of a page uses its whole width; two or more stand beside each other."""


def make_curve_page(document: Mapping[str, Any]) -> str:
    """The page as one self-contained HTML file. The same curve gives the same page.

    Args:
        document: The curve, as ``polymeter track --json`` prints it.
    """
    newest = newest_step(document)
    lines = main_lines(document)
    steps = [point["step"] for point in document["checkpoints"] if point["status"] == "measured"]
    return make_page(
        "curve.html",
        title=_last_part(document["checkpoints_folder"]),
        kind="training curve",
        styles=_STYLES,
        scripts=(),
        data=script_json({}),
        images={},
        facts=[
            ("Checkpoints", summary(document)),
            ("Newest", "–" if newest is None else f"step {newest:,}"),
            ("Each is compared with", against(document)),
        ],
        standings=[*_standings(lines, newest)],
        troubles=[*troubles(document)],
        gate=[*gate(document)],
        sentences=[*sentences(document)],
        charts=[_chart(line, steps, FULL if len(lines) == 1 else HALF) for line in lines],
        has_marks=any(point["difference"] for line in lines for point in line["points"]),
        rows=[*_rows(lines)],
        notes=legend(document),
    )


def _rows(lines: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in lines:
        for place, point in enumerate(reversed(line["points"])):
            step, n, mean, interval, to, gap, between, p_value, verdict = cells(line, point)
            yield {
                "is_first": place == 0,
                "kind": line["kind"],
                "title": title(line),
                "metric": metric(line),
                "direction": direction(line),
                "step": step,
                "is_best": point["step"] == line["best"] and len(line["points"]) > 1,
                "n": n,
                "value": mean,
                "interval": interval,
                "to": to,
                "difference": gap,
                "between": between,
                "p": p_value,
                "verdict": verdict,
                "tone": _tone(point),
                "is_compared": point["difference"] is not None,
            }


def _tone(point: Mapping[str, Any]) -> str:
    found = point["difference"]
    return {"better": "gain", "worse": "loss"}.get(found["verdict"], "even") if found else "even"


def _standings(lines: Sequence[Mapping[str, Any]], newest: int | None) -> Iterator[dict[str, Any]]:
    """Return the state of each task for the top of the page: the verdict on the newest checkpoint, the best one, and
    the way from the first one.
    """
    for line in lines:
        points = [point for point in line["points"] if isinstance(point["value"], (int, float))]
        own = next((point for point in points if point["step"] == newest), None)
        if own is None:
            continue
        first = points[0]
        best = next((point for point in points if point["step"] == line["best"]), None)
        since = value(own["value"] - first["value"])
        yield {
            "text": newest_verdict(line, own),
            "more": newest_remarks(line, own),
            "tone": _tone(own),
            "best": "" if best is None else f"step {best['step']:,}, {_valued(best)}",
            "is_newest_best": best is own,
            "since": ""
            if first is own
            else f"{since if since.startswith('-') else '+' + since} since step {first['step']:,} "
            f"({value(first['value'])} to {value(own['value'])})",
        }


def _valued(point: Mapping[str, Any]) -> str:
    between = "" if point["interval"] is None else f" (95 % interval {own_interval(point)})"
    return f"{value(point['value'])}{between}"


def _chart(line: Mapping[str, Any], steps: Sequence[int], size: Size) -> dict[str, Any]:
    """Return the values that the template draws for one line, at a size for wide screens and at one for narrow ones."""
    points = [point for point in line["points"] if isinstance(point["value"], (int, float))]
    newest = points[-1] if points else None
    return {
        "title": title(line),
        "metric": f"{metric(line)} {direction(line)}".rstrip(),
        "kind": line["kind"],
        "newest": "" if newest is None else value(newest["value"]),
        "newest_step": "" if newest is None else f"step {newest['step']:,}",
        "verdict": "" if newest is None or not newest["difference"] else _sentence(newest),
        "tone": "even" if newest is None else _tone(newest),
        "description": _description(line, points),
        "drawings": [_drawing(line, points, steps, one) for one in (size, NARROW)],
    }


def _drawing(
    line: Mapping[str, Any], points: Sequence[Mapping[str, Any]], steps: Sequence[int], size: Size
) -> dict[str, Any]:
    """Return the places of one drawing."""
    ends = [end for point in points for end in (point["value"], *(point["interval"] or ()))]
    low, high = _range(min(ends, default=0.0), max(ends, default=1.0))
    first, last = (min(steps), max(steps)) if steps else (0, 1)

    across = Axis(first, last, size.left, size.width - size.right, is_whole=True)
    upwards = Axis(low, high, size.height - size.bottom, size.top)
    x, y = across.place, upwards.place
    return {
        "size": size,
        "bands": [_band(part, x, y) for part in _parts(points) if len(part) > 1],
        "path": " ".join(
            f"{'M' if place == 0 else 'L'}{x(point['step']):.1f} {y(point['value']):.1f}"
            for place, point in enumerate(points)
        ),
        "bars": [
            f"M{x(part[0]['step']):.1f} {y(part[0]['interval'][0]):.1f}V{y(part[0]['interval'][1]):.1f}"
            for part in _parts(points)
            if len(part) == 1
        ],
        "marks": [
            {
                "x": f"{x(point['step']):.1f}",
                "y": f"{y(point['value']):.1f}",
                "down": f"{y(point['value']) + 5:.1f}",
                "tone": _tone(point) if point["difference"] else "first",
                "is_best": point["step"] == line["best"] and len(points) > 1,
                "label": f"{max(y(point['value']) - 9, 10):.1f}",
                "anchor": _anchor(x(point["step"]), size),
                "text": _told(point),
            }
            for point in points
        ],
        "y_ticks": [{"y": f"{tick.at:.1f}", "text": tick.text} for tick in upwards.ticks(_Y_TICKS)],
        "x_ticks": [
            {"x": f"{tick.at:.1f}", "text": tick.text, "anchor": _anchor(tick.at, size)}
            for tick in across.ticks(max(int(size.width / _PX_PER_X_TICK), 2))
        ],
    }


def _parts(points: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The stretches of points that have an interval."""
    part: list[Mapping[str, Any]] = []
    for point in points:
        if point["interval"] is not None:
            part.append(point)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _band(part: Sequence[Mapping[str, Any]], x: Any, y: Any) -> str:
    above = [f"{x(point['step']):.1f} {y(point['interval'][1]):.1f}" for point in part]
    below = [f"{x(point['step']):.1f} {y(point['interval'][0]):.1f}" for point in reversed(part)]
    return f"M{'L'.join([*above, *below])}Z"


def _range(low: float, high: float) -> tuple[float, float]:
    reach = (high - low) or abs(high) or 1.0
    return low - _MARGIN * reach, high + _MARGIN * reach


def _anchor(x: float, size: Size) -> str:
    return "end" if x > size.width - size.right - _LABEL else "start" if x < size.left + _LABEL else "middle"


def _sentence(point: Mapping[str, Any]) -> str:
    told = difference(point)
    if told["verdict"] in ("better", "worse"):
        return f"{told['verdict']} than step {told['to']} by {told['difference'].lstrip('+-')}"
    return f"{told['difference']} to step {told['to']}: {told['verdict']}"


def _told(point: Mapping[str, Any]) -> str:
    told = difference(point)
    compared = "" if not point["difference"] else f"; {told['difference']} to step {told['to']}: {told['verdict']}"
    return f"step {point['step']:,}: {value(point['value'])} ({own_interval(point)}){compared}"


def _description(line: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> str:
    if not points:
        return f"{title(line)}: no value"
    first, last = points[0], points[-1]
    return (
        f"{title(line)}, {metric(line)} by step: {value(first['value'])} at step {first['step']:,}, "
        f"{value(last['value'])} at step {last['step']:,}. All values are in the table below."
    )


def _last_part(folder: str) -> str:
    parts = [part for part in one_line(str(folder)).replace("\\", "/").split("/") if part not in ("", ".")]
    return parts[-1] if parts else "checkpoints"
