"""What is printed of models on datasets: what ``evaluate`` returned as ULMEvalKit prints it, then our own table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from polymeter.report.words import count

if TYPE_CHECKING:
    from polymeter.api.running import RunResult
    from polymeter.interop.ulmeval.evaluation import PairResult, UlmevalResult

_INTERRUPTED = 130
_LOCAL_FILES = re.compile(r"--data(?= \S+=)|(?<=name it with )--data")


def show_pair(pair: PairResult) -> None:
    """Print what came of a pair."""
    for note in pair.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"\n{pair.model} on {pair.dataset}")
    if pair.error is not None:
        typer.echo(f"Error: {own_words(pair.error.what)}", err=True)
        for said in (f"at {pair.error.where}" if pair.error.where else "", own_words(pair.error.hint)):
            if said:
                typer.echo(f"  {said}", err=True)
    if pair.run is None:
        return
    if pair.returned is not None:
        typer.echo(shown(pair.returned))
    if pair.is_scored or pair.run.status != "complete":
        from polymeter.cli.outcome import show

        show(pair.run)
    else:
        _show_answers(pair.run)
    for file in pair.files:
        if file.name == f"{pair.model}_{pair.dataset}.pkl":
            typer.echo(f"file     {file}")


def show_summary(result: UlmevalResult) -> None:
    """Print one line for each pair, where there are several."""
    if len(result.pairs) < 2:
        return
    typer.echo("")
    for pair in result.pairs:
        typer.echo(f"{_state(pair):<12} {pair.model} on {pair.dataset}")


def own_words(text: str) -> str:
    """A message with the name that the option for local files has here, where ``--data`` names datasets."""
    return _LOCAL_FILES.sub("--local", text)


def _show_answers(run: RunResult) -> None:
    """What was answered, of a run that scores nothing."""
    tasks = run.results["tasks"].values()
    planned = sum(task["n_samples"] for task in tasks)
    answered = sum(task["statuses"].get("ok", 0) for task in tasks)
    typer.echo(f"answered {answered:,} of {count(planned, 'sample')}; nothing is scored")
    typer.echo(f"report   {run.report}")


def shown(returned: Any) -> str:
    """What ``evaluate`` returned: lists of one length as a table, anything else as JSON."""
    if _is_table(returned):
        from tabulate import tabulate

        rows = list(zip(*returned.values(), strict=True))
        if len(rows) < len(returned):
            return str(tabulate([[name, *values] for name, values in returned.items()]))
        return str(tabulate(rows, headers=list(returned)))
    return json.dumps(returned, indent=4, ensure_ascii=False)


def _is_table(returned: Any) -> bool:
    if not isinstance(returned, Mapping) or not returned:
        return False
    values = list(returned.values())
    return all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1


def _state(pair: PairResult) -> str:
    if pair.run is None:
        return "failed"
    if pair.exit_code == _INTERRUPTED:
        return "interrupted"
    if pair.run.status != "complete":
        return "stopped"
    return count(pair.run.n_failed, "failure") if pair.run.n_failed else "ok"
