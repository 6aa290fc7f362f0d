"""``polymeter agree``: how well two judges agree, or a judge with human labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymeter.cli.state import Debug

if TYPE_CHECKING:
    from polymeter.api.agreement import AgreementReport
    from polymeter.stats import Estimate


def agree(
    runs: Annotated[
        list[Path],
        typer.Argument(help="A run folder, or two of the same samples.", metavar="RUN [RUN]", show_default=False),
    ],
    column: Annotated[
        str,
        typer.Option("--column", help="A column of the rows with human labels.", metavar="NAME", show_default=False),
    ] = "",
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
    report = agree_runs(runs[0], runs[1] if len(runs) > 1 else None, column=column, metric=metric)
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

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in ("task", "metric", "filter", "between", "and", "n", "agree", "kappa", "rank corr."):
        is_number = name in ("n", "agree", "kappa", "rank corr.")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for one in report.compared:
        result = one.agreement
        numbers = (str(result.n), _formatted(result.raw), _formatted(result.kappa), _formatted(result.spearman))
        cells = (one.task, one.metric, one.filter, one.first, one.second, *numbers)
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    console.print(table)
    binned = [one.metric for one in report.compared if one.agreement.is_binned]
    notes = [f"{name}: numbers are compared in five bins." for name in dict.fromkeys(binned)]
    for note in (*report.notes, *notes):
        say(note)


def _formatted(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    if estimate.interval is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.interval[0]:.3f} to {estimate.interval[1]:.3f})"
