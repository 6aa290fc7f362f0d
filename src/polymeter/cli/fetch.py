"""``polymeter fetch``: download what tasks read, so that ``--offline`` finds it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.asked import task_names_in
from polymeter.cli.completion import task_names
from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.printing import say
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError
from polymeter.core.format import HUGGING_FACE, MODELSCOPE

if TYPE_CHECKING:
    from polymeter.catalog.fetching import Fetched, FetchPlan, WantedDataset

_HUBS = {MODELSCOPE: "ModelScope"}


@takes_options("fetch")
def fetch(
    patterns: Annotated[
        list[str],
        typer.Argument(
            help="Names, globs, groups or tags of tasks, or files and folders of them.",
            metavar="TASKS",
            show_default=False,
            autocompletion=task_names,
        ),
    ],
    options: dict[str, Any],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Download without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be downloaded, and stop.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Download the data of tasks: show its size first, continue interrupted downloads, and verify what arrives."""
    from polymeter.catalog.fetching import carry_out_fetch, plan_fetch

    names = [name for text in patterns for name in task_names_in(text, "TASKS")]
    with stdout_kept(is_json=as_json):
        planned = plan_fetch(
            names,
            **options,
        )
        for line in _plan_lines(planned):
            say(line, err=as_json)
        if dry_run:
            fetched = None
        else:
            if planned.n_bytes_missing and sys.stdin.isatty() and not yes and not typer.confirm("Download it?"):
                raise PlanError("Nothing was downloaded.", where="polymeter fetch")
            with _Bar() as bar:
                fetched = carry_out_fetch(planned, bar)
            for task, why in fetched.problems.items():
                say(f"{task}: {why}", err=True)
            n_ready = len(fetched.n_samples.keys() - fetched.problems.keys())
            say(f"{n_ready} of {len(planned.tasks)} tasks are ready for --offline.", err=as_json)
    if as_json:
        print_document("fetch", _as_data(planned, fetched))
    return 1 if fetched is not None and fetched.problems else 0


class _Bar:
    """A bar of the bytes on a terminal; elsewhere a line for each stage."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._is_drawn = console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not self._is_drawn)
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def begin(self, n_bytes: int) -> None:
        self._bar.update(self._task, total=n_bytes)

    def add(self, n_bytes: int) -> None:
        self._bar.advance(self._task, n_bytes)

    def stage(self, text: str) -> None:
        if self._is_drawn:
            self._bar.update(self._task, description=text)
        else:
            say(text, err=True)


def _plan_lines(planned: FetchPlan) -> Iterator[str]:
    """The datasets with their sizes, then the sum."""
    from polymeter.report.formatting import data_size

    for dataset in planned.datasets:
        name = f"{dataset.id}:{dataset.name}" if dataset.name else dataset.id
        commit = f" at {dataset.commit[:10]}" if dataset.commit else ""
        origin = "" if dataset.hub == HUGGING_FACE else f" from {_HUBS.get(dataset.hub, dataset.hub)}"
        if dataset.n_bytes is None:
            yield f"{name}{origin}  size unknown: its server does not report it"
        elif not dataset.n_bytes_missing:
            yield f"{name}{commit}{origin}  {data_size(dataset.n_bytes)}, here"
        else:
            most = "up to " if dataset.is_at_most else ""
            missing = f"{most}{data_size(dataset.n_bytes_missing)} to download"
            yield f"{name}{commit}{origin}  {data_size(dataset.n_bytes)}, {missing}"
    for task in planned.unsized:
        yield f"{task}  its code chooses what it downloads; not all sizes are known in advance"
    most = "up to " if planned.is_at_most else ""
    yield f"{most}{data_size(planned.n_bytes_missing)} to download"


def _as_data(planned: FetchPlan, fetched: Fetched | None) -> dict[str, Any]:
    return {
        "tasks": [spec.name for spec in planned.tasks],
        "datasets": [_dataset_as_data(dataset) for dataset in planned.datasets],
        "unsized": list(planned.unsized),
        "n_bytes_to_download": planned.n_bytes_missing,
        "n_samples": None if fetched is None else fetched.n_samples,
        "revisions": None if fetched is None else fetched.revisions,
        "problems": None if fetched is None else fetched.problems,
    }


def _dataset_as_data(dataset: WantedDataset) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "name": dataset.name,
        "hub": dataset.hub,
        "commit": dataset.commit,
        "n_files": dataset.n_files,
        "n_bytes": dataset.n_bytes,
        "n_bytes_to_download": dataset.n_bytes_missing,
        "is_at_most": dataset.is_at_most,
        "tasks": list(dataset.tasks),
    }
