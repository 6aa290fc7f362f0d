"""``polymeter agree``: how well two judges agree, or a judge with human labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymeter.cli.state import Debug
from polymeter.cli.verdicts import Verdicts

if TYPE_CHECKING:
    from polymeter.analysis.agreement import AgreementReport
    from polymeter.stats import CorrectedMean, Estimate


def agree(
    runs: Annotated[
        list[Path],
        typer.Argument(help="A run folder, or two of the same samples.", metavar="RUN [RUN]", show_default=False),
    ],
    column: Annotated[
        str,
        typer.Option("--column", help="A column of the rows with human labels.", metavar="NAME", show_default=False),
    ] = "",
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            help="A file of human labels (id, label): CSV, TSV or JSON Lines. Labels of a part of the samples, chosen "
            "at random, also correct the mean.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    verdicts: Verdicts = False,
    metric: Annotated[str, typer.Option("--metric", help="Only this metric.", metavar="NAME", show_default=False)] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> int:
    """Show how well the scores of two runs agree: the share of equal ones, and beyond chance (Cohen's kappa)."""
    from polymeter.api import agree as agree_runs
    from polymeter.cli.printing import as_json as to_json
    from polymeter.core.errors import PlanError

    if len(runs) > 2:
        raise PlanError("At most two runs can be compared.", hint="Compare them in pairs.")
    report = agree_runs(
        runs[0], runs[1] if len(runs) > 1 else None, column=column, labels=labels, metric=metric, verdicts=verdicts
    )
    if as_json:
        typer.echo(to_json(report.document()))
    else:
        _show(report)
    return 0


def _show(report: AgreementReport) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from polymeter.cli.printing import say
    from polymeter.report.formatting import one_line

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)

    def print_table(texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for name in (*texts, *numbers):
            is_number = name in numbers
            table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
        for cells in rows:
            table.add_row(*(Text(one_line(cell)) for cell in cells))
        console.print(table)

    print_table(
        ("task", "metric", "filter", "between", "and"), ("n", "agree", "kappa", "rank corr."), _compared(report)
    )
    if report.corrected:
        numbers = ("labels", "of", "their mean", "judge's mean", "corrected mean", "judge off by")
        print_table(("task", "metric", "filter", "run"), numbers, _corrected(report))
        say(
            "Corrected means rest on the labels and on the judge's scores of all samples (PPI++), and their intervals "
            "contain the judge's error. They hold if the labelled samples were chosen at random."
        )
    binned = [one.metric for one in report.compared if one.agreement.is_binned]
    notes = [f"{name}: numbers are compared in five bins." for name in dict.fromkeys(binned)]
    for note in (*report.notes, *notes):
        say(note)


def _compared(report: AgreementReport) -> Iterator[Sequence[str]]:
    for one in report.compared:
        result = one.agreement
        numbers = (str(result.n), _formatted(result.raw), _formatted(result.kappa), _formatted(result.spearman))
        yield one.task, one.metric, one.filter, one.first, one.second, *numbers


def _corrected(report: AgreementReport) -> Iterator[Sequence[str]]:
    for one in report.corrected:
        found = one.corrected
        numbers = (str(found.n_labelled), str(found.n_labelled + found.n_unlabelled))
        means = (_formatted(one.labelled), _formatted(one.judge), _formatted(found))
        yield one.task, one.metric, one.filter, one.run, *numbers, *means, f"{found.bias:+.3f}"


def _formatted(estimate: Estimate | CorrectedMean | None) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    if estimate.interval is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.interval[0]:.3f} to {estimate.interval[1]:.3f})"
