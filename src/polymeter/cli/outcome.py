"""The output after a run: the table, counts, and the paths of results and report."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymeter.cli.json_output import print_document, run_document
from polymeter.cli.printing import say
from polymeter.cli.signals import INTERRUPTED
from polymeter.report.formatting import count, listing, one_line

if TYPE_CHECKING:
    from polymeter.api import RunResult


def show(result: RunResult, *, is_json: bool = False) -> int:
    """Print the outcome of a run, as a table or as one JSON document; returns its exit code."""
    if is_json:
        print_document("run", run_document(result))
    elif result.results:
        _show_results(result)
        _show_unscored(result.results)
    if result.status != "complete":
        _show_how_to_resume(result)
    elif result.is_strict and result.incomplete:
        typer.echo(f"Failed because of --strict: {count(len(result.incomplete), 'number')} incomplete.", err=True)
        for sentence in result.incomplete:
            typer.echo(f"  {sentence}", err=True)
    if result.status == "complete" and result.missed:
        say(f"Failed because of --fail-under: {count(len(result.missed), 'number')} missed.", err=True)
        for sentence in result.missed:
            say(f"  {sentence}", err=True)
    return result.exit_code


def show_stored(result: RunResult, *, is_json: bool) -> None:
    """Print what a run folder holds, as a table or as one JSON document."""
    if is_json:
        print_document("run", run_document(result))
    else:
        _show_results(result)


def _show_results(result: RunResult) -> None:
    from rich.console import Console

    from polymeter.report import endpoints, print_table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    print_table(console, result.results)
    say(_counts(result.results))
    manifest = result.folder.read_manifest() if result.folder.is_begun() else {}
    for role, summary in endpoints(manifest).items():
        say(f"{'endpoint' if role == 'model' else role:<8} {summary}")
    say(f"results  {_short(result.folder.results)}")
    if result.report.exists():
        say(f"report   {_short(result.report)}")


def _show_unscored(results: dict[str, Any]) -> None:
    """The last line of a run in which a task has no score at all: its exit code is 1 for that alone."""
    names = [one_line(name) for name in results.get("nothing_scored", {})]
    if names:
        typer.echo(f"Failed: nothing is scored in {listing(names)}.", err=True)


def _counts(results: dict[str, Any]) -> str:
    tasks = results.get("tasks", {}).values()
    planned, scored = (sum(int(task.get(key, 0)) for task in tasks) for key in ("n_samples", "n_scored"))
    samples = count(planned, "sample") if planned == scored else f"{scored:,} of {count(planned, 'sample')}"
    return f"\nscored   {samples} of {count(len(tasks), 'task')}"


def _show_how_to_resume(result: RunResult) -> None:
    reason = "Interrupted." if result.exit_code == INTERRUPTED else f"Stopped: {one_line(result.reason)}"
    _say_how_to_resume(reason, result.folder.path)


def _say_how_to_resume(reason: str, folder: Path) -> None:
    with suppress(OSError):  # a signal may have ended the run because the terminal is gone
        say(f"{reason} All answers so far are kept. Continue with:", err=True)
        say(f"  polymeter resume {shlex.quote(str(_short(folder)))}", err=True)


@contextmanager
def resumable(folder: Path | None) -> Iterator[None]:
    """Start or continue a run inside this, and an interruption before its first sample says how to continue, too.

    Args:
        folder: The run folder, if it is known.
    """
    try:
        yield
    except KeyboardInterrupt:
        if folder is None or not (folder / "run.json").is_file():
            raise
        _say_how_to_resume("Interrupted.", folder)
        raise typer.Exit(INTERRUPTED) from None


def _short(path: Path) -> Path:
    """The path relative to the working directory if it lies below that, else unchanged."""
    relative = Path(os.path.relpath(path))
    return path if relative.parts[:1] == ("..",) else relative
