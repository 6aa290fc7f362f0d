"""The curve of a training run in plain words: the result of the newest checkpoint, and the meaning of the numbers.

Works on the document of ``polymeter.analysis.tracking.curve``, so that a stored one can be shown as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.report.comparison.text import interval, p_value, sentence, signed, value
from polymeter.report.comparison.verdicts import remarks
from polymeter.report.comparison.verdicts import verdict as pair_verdict
from polymeter.report.formatting import DASH, count, listing, number, one_line

Line = Mapping[str, Any]
Point = Mapping[str, Any]


def main_lines(document: Mapping[str, Any]) -> list[Line]:
    """The first metric of each task and group."""
    return [line for line in document["lines"] if line["is_main"]]


def title(line: Line) -> str:
    """The task or group of a line."""
    return one_line(str(line["title"]))


def metric(line: Line) -> str:
    """Its metric, with the filter if there is one."""
    name = one_line(str(line["metric"]))
    return name if line["filter"] in ("", "none") else f"{name}, {one_line(str(line['filter']))}"


def direction(line: Line) -> str:
    """An arrow towards better values."""
    return {True: "↑", False: "↓"}.get(line["higher_is_better"], "")


def own_interval(point: Point) -> str:
    """The interval of a value."""
    if point["interval"] is None:
        return DASH
    low, high = point["interval"]
    return f"{value(low)} to {value(high)}"


def difference(point: Point) -> dict[str, str]:
    """The difference of a point from the one it is compared with, as texts."""
    found = point["difference"]
    if found is None:
        return dict.fromkeys(("to", "difference", "interval", "p", "verdict"), DASH)
    return {
        "to": f"{found['to']:,}",
        "difference": signed(found["difference"]),
        "interval": interval(found),
        "p": p_value(found["p_corrected"]),
        "verdict": verdict(found),
    }


def verdict(found: Mapping[str, Any]) -> str:
    """Return the verdict on a difference, in a word or two."""
    return {"not shown": "no difference shown", "untested": "cannot tell"}.get(found["verdict"], str(found["verdict"]))


def summary(document: Mapping[str, Any]) -> str:
    """Return the state of the checkpoints, in one line."""
    by_status = dict.fromkeys(("measured", "unfinished", "failed"), 0)
    for point in document["checkpoints"]:
        by_status[point["status"]] += 1
    more = [f"{n:,} {status}" for status, n in by_status.items() if n and status != "measured"]
    return listing([f"{count(by_status['measured'], 'checkpoint')} measured", *more])


def newest_step(document: Mapping[str, Any]) -> int | None:
    """The step of the newest checkpoint that is measured."""
    return max((point["step"] for point in document["checkpoints"] if point["status"] == "measured"), default=None)


def sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the results of the newest checkpoint in each task and group, and the best value so far."""
    newest = newest_step(document)
    for line in main_lines(document):
        points = {point["step"]: point for point in line["points"]}
        point = points.get(newest) if newest is not None else None
        if point is None or newest is None:
            continue
        best = _best(line, points, newest)
        found = point["difference"]
        if found is None:
            yield f"{title(line)}: {metric(line)} of step {newest:,} is {_with_interval(point)}.{best}"
            continue
        score = {**found, "kind": line["kind"], "title": title(line), "metric": metric(line)}
        yield sentence(score, f"step {found['to']:,}", f"step {newest:,}") + best


def newest_verdict(line: Line, point: Point) -> str:
    """Return the verdict on the newest checkpoint in one sentence."""
    found, step = point["difference"], f"step {point['step']:,}"
    if found is None:
        return f"S{step[1:]} has {_with_interval(point)} on {title(line)}; nothing is measured to compare it with."
    score = {**found, "kind": line["kind"], "title": title(line), "metric": metric(line)}
    sentence = pair_verdict(score, f"step {found['to']:,}", step)
    return sentence[0].upper() + sentence[1:]


def newest_remarks(line: Line, point: Point) -> str:
    """Return what a reader should know beside the verdict on the newest checkpoint; may be empty."""
    return "" if point["difference"] is None else remarks({**point["difference"], "kind": line["kind"]})


def troubles(document: Mapping[str, Any]) -> Iterator[str]:
    """The checkpoints that have no numbers, are not compared, or have failed samples; and the warnings."""
    for point in document["checkpoints"]:
        name = one_line(str(point["name"]))
        if point["status"] == "failed":
            yield f"{name} failed: {one_line(str(point['error']))}"
        elif point["status"] == "unfinished":
            why = one_line(str(point["error"])) or "stopped"
            yield f"{name} is not finished ({why}). The next call resumes it."
        if point["n_failed"]:
            yield f"{name}: {count(point['n_failed'], 'sample')} without a score."
        if point["refused"]:
            yield f"{name} is not compared: {one_line(str(point['refused']))}"
    yield from (one_line(str(warning)) for warning in document["warnings"])


def against(document: Mapping[str, Any]) -> str:
    """Return the checkpoint that each one is compared with, in words."""
    chosen = document["against"]
    return {
        "best": "the best checkpoint before it",
        "previous": "the checkpoint before it",
        "first": "the first checkpoint",
    }.get(chosen, f"step {chosen}")


def legend(document: Mapping[str, Any]) -> list[str]:
    """Return the meaning of the numbers."""
    found = [point["difference"] for line in main_lines(document) for point in line["points"] if point["difference"]]
    notes = ["Values have a 95 % interval: how far they could be off because other samples might have been drawn."]
    if not found:
        return notes
    size = max(one["family"] for one in found)
    corrected = f" It is corrected for all {size} tests of the curve (Holm)." if size > 1 else ""
    notes.append(
        f"Each checkpoint is compared, sample by sample, with {against(document)}; a difference is its value less that "
        "one. Both have seen the same samples, so the interval of a difference is narrower than those of the values."
    )
    notes.append(
        "p: how likely so large a difference would be if the two were equally good. A difference counts as shown if p "
        f"is at most 0.05.{corrected}"
    )
    if document["against"] == "best":
        notes.append(
            "The best of several noisy values is likely too high, so a later checkpoint looks worse beside it than it "
            "is. --against previous, first or a step has no such bias."
        )
    return notes


def gate(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the verdict of ``--max-regression``."""
    found = document.get("max_regression")
    if found is None:
        return
    yield from (f"REGRESSION: {one_line(text)}" for text in found["regressions"])
    yield from (f"UNDECIDED: {one_line(text)}" for text in found["unclear"])
    if not found["regressions"]:
        yield f"No loss of more than {found['limit']:g} is shown."


def _best(line: Line, points: Mapping[int, Point], newest: int) -> str:
    """Return the best value so far, if it is not stated already."""
    best, found = line["best"], points[newest]["difference"]
    if best is None or len(points) == 1 or (found is not None and found["to"] == best):
        return ""
    if best == newest:
        return " It is the best value so far."
    return f" The best value so far is that of step {best:,}, {value(points[best]['value'])}."


def _with_interval(point: Point) -> str:
    if not isinstance(point["value"], (int, float)):
        return number(point["value"])
    between = "" if point["interval"] is None else f" (95 % interval {own_interval(point)})"
    return f"{value(point['value'])}{between}"


def cells(line: Line, point: Point) -> Sequence[str]:
    """The cells of a table for a point: step, n, value, interval, and its difference."""
    told = difference(point)
    n = DASH if point["n"] is None else f"{point['n']:,}"
    texts = (told["to"], told["difference"], told["interval"], told["p"], told["verdict"])
    return (f"{point['step']:,}", n, value(point["value"]), own_interval(point), *texts)
