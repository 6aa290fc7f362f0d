"""``polymeter show``: look at a run folder, at one of its samples, or at those that failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.printing import as_json as to_json
from polymeter.cli.printing import say
from polymeter.cli.state import Debug

if TYPE_CHECKING:
    from polymeter.analysis.showing import FoundSample, RunOverview


def show(
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            help="Show this sample in full; the start of its id is enough.",
            metavar="ID",
            show_default=False,
        ),
    ] = "",
    task: Annotated[
        str,
        typer.Option(
            "--task", help="Only this task; the start of its name is enough.", metavar="NAME", show_default=False
        ),
    ] = "",
    failed: Annotated[bool, typer.Option("--failed", help="List the samples without a score, and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> int:
    """Show a run: its numbers, one sample (prompt, media, answer, verdicts, scores, error), or what failed."""
    from polymeter.api import failed_samples, find_sample, run_overview

    if sample:
        _show_sample(find_sample(run, sample, task), is_json=as_json)
    elif failed:
        _list_failed(failed_samples(run, task), is_json=as_json)
    else:
        _show_run(run_overview(run, task), is_json=as_json)
    return 0


def _show_sample(shown: FoundSample, *, is_json: bool) -> None:
    from polymeter.report.run.sample import sample_text

    say(to_json(_document(shown)) if is_json else sample_text(shown.task, shown.sample, shown.media))


def _list_failed(samples: Iterator[FoundSample], *, is_json: bool) -> None:
    from polymeter.report.run.sample import failure_line

    if is_json:
        say(to_json([_document(one) for one in samples]))
        return
    n_failed = 0
    for one in samples:
        n_failed += 1
        say(failure_line(one.task, one.sample))
    if not n_failed:
        say("Every sample that has ended has a score.")


def _document(shown: FoundSample) -> dict[str, Any]:
    return {"task": shown.task, "sample": dict(shown.sample)}


def _show_run(overview: RunOverview, *, is_json: bool) -> None:
    from polymeter.cli.outcome import show_failures, show_failures_so_far, show_table
    from polymeter.report.formatting import one_line
    from polymeter.report.shown_text import shown_lines
    from polymeter.store.exports.imported import imported_from

    manifest, folder = overview.manifest, overview.folder
    if is_json:
        status = {"status": manifest["status"], "tasks": [task["name"] for task in manifest["tasks"]]}
        say(to_json(dict(overview.results) or status))
        return
    say(f"run      {folder.path}")
    say(f"model    {manifest['model']['name']}")
    source = imported_from(manifest)
    say(f"status   {manifest['status']}{f', imported from {one_line(source)}' if source else ''}")
    if reason := (manifest.get("sessions") or [{}])[-1].get("reason"):
        say(f"reason   {one_line(reason)}")
    if manifest.get("command"):
        say(f"command  {manifest['command']}")
    if overview.results:
        show_table(overview.results)
        for place, line in enumerate(shown_lines(overview.results)):
            say(f"{'' if place else 'shown':<8} {line}")
        show_failures(overview.results, folder.path)
    else:
        for task in manifest["tasks"]:
            say(f"task     {task['name']}, {task['n_samples']:,} samples")
        show_failures_so_far(folder)
