"""A power analysis as tables and sentences: on a terminal, and as Markdown, LaTeX and CSV.

Works on the document of ``polymeter.analysis.power_analysis``, so that a stored one can be shown as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.text.spreadsheets import csv_lines
from polymeter.report.comparison.text import value
from polymeter.report.formatting import DASH, count, listing, number, one_line
from polymeter.report.grids import Heading, latex_table, markdown_table, terminal_table
from polymeter.report.render import at_least, escaped

if TYPE_CHECKING:
    from rich.console import Console

Score = Mapping[str, Any]
Table = tuple[list[Heading], list[list[str]]]
_CSV = (
    "task",
    "metric",
    "filter",
    "run",
    "n",
    "std",
    "design_effect",
    "n_clusters",
    "correlation",
    "is_measured",
    "detectable_paired",
    "detectable_unpaired",
    "difference",
    "needed_paired",
    "needed_unpaired",
)


def print_power(console: Console, document: Mapping[str, Any]) -> None:
    """Print the detectable differences, the samples that differences need, and the assumptions."""
    from rich.text import Text

    for headings, rows in tables(document):
        table, needed = terminal_table(headings, rows)
        with at_least(console, needed):
            console.print(table)
    for line in sentences(document):
        console.print(Text(line, style="bold"), soft_wrap=True)
    for line in notes(document):
        console.print(Text(line, style="dim"), soft_wrap=True)


def to_markdown(document: Mapping[str, Any]) -> str:
    """The analysis as Markdown."""
    blocks = [markdown_table(*table) for table in tables(document)]
    told = "".join(f"- {escaped(line)}\n" for line in (*sentences(document), *notes(document)))
    return "\n\n".join([*blocks, told])


def to_latex(document: Mapping[str, Any]) -> str:
    """The tables as LaTeX, for the package booktabs."""
    told = "".join(f"% {line}\n" for line in (*sentences(document), *notes(document)))
    return "\n\n".join(latex_table(*table) for table in tables(document)) + f"\n{told}"


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers as CSV: one line for each metric and difference."""
    rows: list[list[Any]] = []
    for score in document["scores"]:
        head = [score[name] for name in _CSV[:12]]
        rows += [[*head, own["difference"], own["paired"], own["unpaired"]] for own in score["needed"]]
    blank = [None] * 5
    assumed = [*blank, document["std"], None, None, document["correlation"], False, None, None]
    rows += [[*assumed, own["difference"], own["paired"], own["unpaired"]] for own in document["needed"]]
    return "".join(csv_lines([_CSV, *rows]))


def tables(document: Mapping[str, Any]) -> Iterator[Table]:
    """Return the tables of detectable differences, and of the samples that differences need."""
    scores = document["scores"]
    if scores:
        yield _detectable(scores)
        yield _needed_by(scores)
    if document["needed"]:
        headings = [Heading("difference"), Heading("same samples"), Heading("different samples, each")]
        yield headings, [[number(own["difference"]), *_both(own)] for own in document["needed"]]


def sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the meaning of each number, in words."""
    power = f"{document['power']:.0%}".replace("%", " %")
    for score in document["scores"]:
        what = f"{one_line(score['title'])} ({_metric(score)})"
        pairs = "pairs of samples" if score["is_measured"] else "samples"
        yield (
            f"{what}: {score['n']:,} {pairs} show a difference of {value(score['detectable_paired'])} in {power} of "
            f"comparisons on the same samples, and one of {value(score['detectable_unpaired'])} on different ones."
        )
        if score["n_clusters"] is not None:
            worth = score["n"] / score["design_effect"]
            yield (
                f"{what}: samples lie in {count(score['n_clusters'], 'cluster')}; that makes the variance "
                f"{score['design_effect']:.2f} times as large, as if there were {worth:,.0f} independent samples."
            )
        repeats = score["repeats"]
        if repeats is not None:
            yield f"{what}: {_more_answers(repeats)}"
    for own in document["needed"]:
        yield (
            f"A difference of {number(own['difference'])} needs {count(own['paired'], 'sample')} that both models "
            f"answer, or {own['unpaired']:,} for each where the samples differ."
        )


def notes(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the assumptions."""
    power = f"{document['power']:.0%}".replace("%", " %")
    yield f"Two-sided test at {document['alpha']:g}, power {power}; formulas of Miller (2024)."
    runs = [one_line(name) for name in document["runs"]]
    if not runs:
        yield (
            f"Assumed: a standard deviation of {document['std']:g} for a sample's value, and a correlation of "
            f"{document['correlation']:g} between two models' values of a sample."
        )
    elif len(runs) == 1:
        yield (
            f"Assumed: the other model varies as much as {runs[0]}, and the values of a sample have a correlation of "
            f"{document['correlation']:g} (--correlation; a second run measures it)."
        )
    else:
        yield f"Standard deviation and correlation are those of {listing(runs)}."
    for name in document.get("unfinished", ()):
        yield f"{one_line(name)} has not ended: its numbers may change."
    for one in document["others"]:
        yield f"Not for {one_line(one['title'])} ({_metric(one)}): {one_line(one['why'])}."


def _detectable(scores: Sequence[Score]) -> Table:
    has_clusters = any(score["n_clusters"] is not None for score in scores)
    headings = [
        Heading("task", is_number=False),
        Heading("metric", is_number=False),
        Heading("n"),
        Heading("std of differences" if scores[0]["is_measured"] else "std"),
        *([Heading("design effect")] if has_clusters else []),
        Heading("correlation"),
        Heading("detects, same samples"),
        Heading("different samples"),
    ]
    rows = [
        [
            one_line(score["title"]),
            _metric(score),
            f"{score['n']:,}",
            value(score["std"]),
            *([f"{score['design_effect']:.2f}"] if has_clusters else []),
            DASH if score["correlation"] is None else f"{score['correlation']:.2f}",
            value(score["detectable_paired"]),
            value(score["detectable_unpaired"]),
        ]
        for score in scores
    ]
    return headings, rows


def _needed_by(scores: Sequence[Score]) -> Table:
    headings = [
        Heading("task", is_number=False),
        Heading("metric", is_number=False),
        Heading("difference"),
        Heading("samples needed, same"),
        Heading("different, each"),
        Heading("there are"),
    ]
    rows = [
        [one_line(score["title"]), _metric(score), number(own["difference"]), *_both(own), f"{score['n']:,}"]
        for score in scores
        for own in score["needed"]
    ]
    return headings, rows


def _both(own: Mapping[str, Any]) -> list[str]:
    return [f"{own['paired']:,}", f"{own['unpaired']:,}"]


def _metric(score: Score) -> str:
    name = one_line(score["metric"])
    return name if score["filter"] in ("", "none") else f"{name}, {one_line(score['filter'])}"


def _more_answers(repeats: Mapping[str, Any]) -> str:
    by_count = dict(repeats["detectable"])
    n = repeats["repeats"]
    share = f"{repeats['share_between']:.0%}".replace("%", " %")
    return (
        f"{n} answers to each sample; {share} of the variance of a difference would stay with any number of them. One "
        f"answer detects {value(by_count[1])}, {n} detect {value(by_count[n])}, {2 * n} would detect "
        f"{value(by_count[2 * n])}, and no number less than {value(by_count[None])}."
    )
