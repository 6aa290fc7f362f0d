"""The output after a run: the table, counts, and the paths of results and report."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymeter.cli.json_output import print_document
from polymeter.cli.pairs import parse_value
from polymeter.cli.printing import say
from polymeter.cli.signals import INTERRUPTED
from polymeter.core.text.secrets import HIDDEN
from polymeter.report.formatting import clean, count, listing, one_line

if TYPE_CHECKING:
    from polymeter.api import RunResult
    from polymeter.report import Failures
    from polymeter.store.folder import RunFolder


def show(result: RunResult, *, is_json: bool = False) -> int:
    """Print the outcome of a run, as a table or as one JSON document; returns its exit code."""
    if is_json:
        print_document("run", result.document())
        _warn_of_truncation(result.results)
    elif result.results:
        _show_results(result)
        _show_unscored(result.results)
    if result.status != "complete":
        with suppress(OSError):  # a signal may have ended the run because the terminal is gone
            show_failures_so_far(result.folder, err=True)
        show_how_to_resume(result)
    elif result.is_strict and result.incomplete:
        typer.echo(f"Failed because of --strict: {count(len(result.incomplete), 'number')} incomplete.", err=True)
        for sentence in result.incomplete:
            typer.echo(f"  {sentence}", err=True)
    _show_published(result, is_quiet=is_json)
    show_logged(result, is_quiet=is_json)
    if result.status == "complete" and result.missed:
        say(f"Failed because of --fail-under: {count(len(result.missed), 'number')} missed.", err=True)
        for sentence in result.missed:
            say(f"  {sentence}", err=True)
    return result.exit_code


def _warn_of_truncation(results: Mapping[str, Any]) -> None:
    """Print to stderr what the table has as warnings, if stdout is for a document."""
    from polymeter.report import truncation_warnings

    for sentence in truncation_warnings(results):
        say(sentence, err=True)


def _show_published(result: RunResult, *, is_quiet: bool) -> None:
    """Say where a run was published, and how to publish it again where that failed.

    Args:
        result: The run.
        is_quiet: Whether stdout is for something else.
    """
    published = result.published
    if published is None:
        return
    url = one_line(published.url)
    if not published.error:
        say(f"published {url}", err=is_quiet)
        return
    say(f"Not published: {one_line(published.error)}", err=True)
    if result.is_complete:
        folder = shlex.quote(str(short(result.folder.path)))
        say(
            f"  The run is complete. Publish it again with: polymeter resume {folder} --publish {shlex.quote(url)}",
            err=True,
        )


def show_logged(result: RunResult, *, is_named: bool = False, is_quiet: bool = False) -> None:
    """Say to which trackers a run was sent, and how to send it again where that failed.

    Args:
        result: The run.
        is_named: Whether to name it.
        is_quiet: Whether stdout is for something else.
    """
    for one in result.logged:
        folder = short(result.folder.path)
        if not one.error:
            named = f"{one_line(str(folder))}: " if is_named else ""
            say(f"logged   {named}{one.tracker}, {one_line(one.place)}", err=is_quiet)
            continue
        say(f"Not logged to {one.tracker}: {one_line(one.error)}", err=True)
        if result.is_complete:
            pairs = ",".join(f"{name}={_as_typed(value)}" for name, value in one.arguments.items() if value != HIDDEN)
            to = shlex.quote(f"{one.tracker}:{pairs}" if pairs else one.tracker)
            say(
                f"  The run is complete. Send it again with: polymeter log {shlex.quote(str(folder))} --to {to}",
                err=True,
            )


def _as_typed(value: Any) -> str:
    """A value as ``key=value`` reads it."""
    is_plain = isinstance(value, str) and not set(value) & set(",\"'[]{}()") and parse_value(value, "") == value
    return value if is_plain else json.dumps(value)


def show_stored(result: RunResult, *, is_json: bool) -> None:
    """Print what a run folder holds, as a table or as one JSON document."""
    if is_json:
        print_document("run", result.document())
    else:
        _show_results(result)


def show_table(results: Mapping[str, Any]) -> None:
    """Print the table of a ``results.json``."""
    from rich.console import Console

    from polymeter.report import print_table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    print_table(console, results)


def _show_results(result: RunResult) -> None:
    from polymeter.report import cost_summary, endpoints, replica_summary

    show_table(result.results)
    say(_counts(result.results))
    manifest = result.folder.read_manifest() if result.folder.is_begun() else {}
    for role, summary in endpoints(manifest).items():
        say(f"{'endpoint' if role == 'model' else role:<8} {summary}")
    if replicas := replica_summary(manifest):
        say(f"replicas {replicas}")
    if cost := cost_summary(manifest, result.results):
        say(f"cost     {cost}")
    say(f"results  {short(result.folder.results)}")
    if result.report.exists():
        say(f"report   {short(result.report)}")
    folder = shlex.quote(str(short(result.folder.path)))
    say(f"samples  polymeter view {folder}, or polymeter show {folder} --sample ID")
    show_failures(result.results, result.folder.path)


def show_failures(results: Mapping[str, Any], folder: Path) -> None:
    """Print the kinds of failure in a ``results.json`` with their counts, and the command that shows one of them."""
    from polymeter.report import failures_of

    _say_failures(failures_of(results), folder)


def show_failures_so_far(folder: RunFolder, *, err: bool = False) -> None:
    """The same for a run that has no results, by its journal."""
    from polymeter.report import shown_failures
    from polymeter.store.reading.failures import failures_of_run

    kinds = failures_of_run(folder)
    n_tasks = len(folder.read_manifest()["tasks"]) if kinds else 0
    _say_failures(shown_failures(kinds, n_tasks=n_tasks), folder.path, err=err)


def _say_failures(failures: Failures, folder: Path, *, err: bool = False) -> None:
    if not failures.lines:
        return
    label = "failed   "
    for line in [*failures.lines, *filter(None, [failures.more])]:
        say(f"{label}{line}", err=err)
        label = " " * len(label)
    say(f"see one  {failures.command(str(short(folder)))}", err=err)


def _show_unscored(results: dict[str, Any]) -> None:
    """The last line of a run in which a task has no score at all: its exit code is 1 for that alone."""
    names = [one_line(name) for name in results.get("nothing_scored", {})]
    if names:
        typer.echo(f"Failed: nothing is scored in {listing(names)}.", err=True)


def _counts(results: dict[str, Any]) -> str:
    tasks = results.get("tasks", {}).values()
    planned, scored = (sum(int(task.get(key, 0)) for task in tasks) for key in ("n_samples", "n_scored"))
    samples = count(planned, "sample") if planned == scored else f"{scored:,} of {count(planned, 'sample')}"
    n_skipped = len(results.get("skipped") or {})
    skipped = f"; {count(n_skipped, 'task')} skipped" if n_skipped else ""
    return f"\nscored   {samples} of {count(len(tasks), 'task')}{skipped}"


def show_how_to_resume(result: RunResult) -> None:
    """Print why a run ended early, and the command that continues it."""
    if result.exit_code == INTERRUPTED:
        _say_how_to_resume("Interrupted.", result.folder.path)
        return
    first, *lines = map(clean, result.reason.splitlines() or [""])
    _say_how_to_resume(f"Stopped: {one_line(first)}", result.folder.path, lines)


def _say_how_to_resume(reason: str, folder: Path, lines: Sequence[str] = ()) -> None:
    has_command = any(line.startswith("Continue with") for line in lines)
    kept = "All answers so far are kept." if has_command else "All answers so far are kept. Continue with:"
    with suppress(OSError):  # a signal may have ended the run because the terminal is gone
        for line in (reason, *lines, kept) if lines else (f"{reason} {kept}",):
            say(line, err=True)
        if has_command:
            return
        say(f"  polymeter resume {shlex.quote(str(short(folder)))}", err=True)


@contextmanager
def resumable(folder: Path | None) -> Iterator[None]:
    """Start or continue a run inside this: an interruption before its first sample prints the command to continue, too.

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


def short(path: Path) -> Path:
    """The path relative to the working directory if it lies below that, else unchanged."""
    relative = Path(os.path.relpath(path))
    return path if relative.parts[:1] == ("..",) else relative
