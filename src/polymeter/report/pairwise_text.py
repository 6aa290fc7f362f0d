"""The verdicts on pairs of answers as tables and sentences: on a terminal, and as Markdown and CSV.

Works on the document of ``polymeter.analysis.preferences.standings``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.text.spreadsheets import csv_lines
from polymeter.report.comparison.text import signed, value
from polymeter.report.formatting import DASH, count, listing, one_line
from polymeter.report.render import escaped

if TYPE_CHECKING:
    from rich.console import Console

_RUNS = ("run", "model", "pairs", "won", "tied", "lost", "score", "95 % interval")
_PAIRS = ("run", "against", "pairs", "won", "tied", "lost", "win rate", "95 % interval")
_COUNTS = ("n", "wins", "ties", "losses")
_TEXTS = frozenset({"run", "model", "against"})


def print_pairwise(console: Console, document: Mapping[str, Any]) -> None:
    """Print the tables, their sentences, and notes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for warning in document["warnings"]:
        console.print(Text(f"Note: {one_line(warning)}", style="yellow"), soft_wrap=True)
    for headings, rows in _tables(document):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for heading in headings:
            is_text = heading in _TEXTS
            table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for line in sentences(document):
        console.print(Text(line), soft_wrap=True)


def to_markdown(document: Mapping[str, Any]) -> str:
    """The tables and sentences as Markdown."""
    blocks = []
    for headings, rows in _tables(document):
        rules = [":--" if heading in _TEXTS else "--:" for heading in headings]
        lines = [headings, rules, *([escaped(cell) for cell in row] for row in rows)]
        blocks.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    told = [*document["warnings"], *sentences(document)]
    return "\n".join([*blocks, "".join(f"- {escaped(one_line(line))}\n" for line in told)])


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers as CSV: a line for each run, then one for each pair of runs."""
    rows: list[list[Any]] = [["kind", "first", "second", *_COUNTS, "value", "stderr", "low", "high"]]
    for run in document["runs"]:
        counts = [run[key] for key in _COUNTS]
        rows.append(["score", one_line(run["name"]), "", *counts, *_numbers(run["score"], run)])
    for pair in document["pairs"]:
        counts = [pair[key] for key in _COUNTS]
        names = [one_line(pair[end]) for end in ("first", "second")]
        rows.append(["win rate", *names, *counts, *_numbers(pair["win_rate"]["value"], pair["win_rate"])])
    return "".join(csv_lines(rows))


def sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the result of the verdicts, and the reliability of the judge."""
    for pair in document["pairs"]:
        first, second = one_line(pair["first"]), one_line(pair["second"])
        rate = pair["win_rate"]
        if rate["interval"] is None:
            yield f"{first} and {second}: there is no interval: {rate.get('no_interval') or 'no verdicts'}."
            continue
        low, high = rate["interval"]
        if low > 0.5 or high < 0.5:
            winner, loser = (first, second) if low > 0.5 else (second, first)
            share = rate["value"] if low > 0.5 else 1 - rate["value"]
            bounds = (low, high) if low > 0.5 else (1 - high, 1 - low)
            yield (
                f"{winner} is preferred to {loser}: win rate {value(share)}, a tie being half a win "
                f"(95 % interval {value(bounds[0])} to {value(bounds[1])})."
            )
        else:
            yield (
                f"No preference between {first} and {second} is shown: the win rate of {first} lies between "
                f"{value(low)} and {value(high)} (95 %)."
            )
    if document["no_scores"]:
        tiers = "; ".join(
            f"{number}. {listing(map(one_line, tier))}" for number, tier in enumerate(document["tiers"], 1)
        )
        yield f"There are no scores: {document['no_scores']}. In order: {tiers}."
    elif document["no_intervals"]:
        yield f"The scores have no intervals: {document['no_intervals']}."
    if len(document["runs"]) > 1 and not document["no_scores"]:
        yield (
            "Scores are those of Bradley and Terry, with mean 0: a difference of 1 is a win rate of 0.73, of 2 one of "
            "0.88. Their intervals take each sample as one cluster."
        )
    position = document["position"]
    if position["n"]:
        shown = position["first_shown"]
        between = ""
        if shown["interval"] is not None:
            between = f" (95 % interval {value(shown['interval'][0])} to {value(shown['interval'][1])})"
        yield (
            f"Position: the answer shown first got {value(shown['value'])} of the verdicts{between}; 0.5 is fair. "
            f"In {position['n_contradictory']:,} of {count(position['n'], 'pair')} the two orders contradict each "
            "other, which counts as a tie."
        )
    if document["n_equal_answers"]:
        n = document["n_equal_answers"]
        yield f"{count(n, 'pair')} of equal answers {'counts as a tie' if n == 1 else 'count as ties'}, unjudged."
    n_without = document["n_pairs"] - document["n_scored"]
    if n_without:
        yield f"{n_without:,} of {count(document['n_pairs'], 'pair')} have no verdict and are left out."


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    by_score = sorted(document["runs"], key=lambda run: -(run["score"] or 0.0))
    yield _RUNS, [[one_line(run["name"]), one_line(run["model"]), *_counts(run), *_score(run)] for run in by_score]
    yield (
        _PAIRS,
        [
            [one_line(pair["first"]), one_line(pair["second"]), *_counts(pair), *_rate(pair["win_rate"])]
            for pair in document["pairs"]
        ],
    )


def _counts(item: Mapping[str, Any]) -> list[str]:
    return [f"{item[key]:,}" for key in _COUNTS]


def _score(run: Mapping[str, Any]) -> list[str]:
    interval = run["interval"]
    return [signed(run["score"]), DASH if interval is None else f"{signed(interval[0])} to {signed(interval[1])}"]


def _rate(rate: Mapping[str, Any]) -> list[str]:
    interval = rate["interval"]
    shown = DASH if rate["value"] is None else value(rate["value"])
    return [shown, DASH if interval is None else f"{value(interval[0])} to {value(interval[1])}"]


def _numbers(number: float | None, item: Mapping[str, Any]) -> list[Any]:
    return [number, item["stderr"], *(item["interval"] or (None, None))]
