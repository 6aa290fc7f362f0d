"""Downloading what tasks read, so that runs need no network for data afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Protocol

from polymeter.api.running import allowances
from polymeter.api.settings import read_settings
from polymeter.api.trying import first_prompt
from polymeter.core.errors import DataError, PlanError, PolymeterError
from polymeter.core.format import HubSource, OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.options import RunOptions
from polymeter.core.records import dataclass
from polymeter.core.task import Task, TaskSpec
from polymeter.data.hub_files import HubFile, fetch_file, files_of
from polymeter.data.source import Source
from polymeter.engine import plan, selection
from polymeter.engine.missing_packages import check_specs
from polymeter.guests.door import in_mode


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A dataset of the Hugging Face Hub that tasks read.

    Attributes:
        source: How tasks name it.
        files: Its files.
        tasks: Who reads it.
    """

    source: HubSource
    files: tuple[HubFile, ...]
    tasks: tuple[str, ...]

    @property
    def n_bytes(self) -> int:
        """The size of all its files."""
        return sum(file.size for file in self.files)

    @property
    def n_bytes_missing(self) -> int:
        """The size of those that are not on this machine."""
        return sum(file.size for file in self.files if not file.is_here)

    @property
    def commit(self) -> str:
        """The commit that is fetched; empty if it has no files of its own."""
        return next((file.commit for file in self.files), "")


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """What is to be fetched.

    Attributes:
        tasks: The tasks.
        datasets: The datasets of the hub that they read, with their sizes.
        unsized: Tasks whose data shows only when they are opened: their code downloads it from where it chooses.
        options: The settings.
    """

    tasks: tuple[TaskSpec, ...]
    datasets: tuple[HubDataset, ...]
    unsized: tuple[str, ...]
    options: RunOptions

    @property
    def n_bytes_missing(self) -> int:
        """The bytes to download, as far as they are known."""
        return sum(dataset.n_bytes_missing for dataset in self.datasets)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What fetching came to.

    Attributes:
        n_samples: Of each task that was opened, the number of its samples.
        revisions: Of each task, the commits of the datasets that it has read, by id.
        problems: Of each task that could not be opened whole, why.
    """

    n_samples: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, dict[str, str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


class FetchProgress(Protocol):
    """Told how far fetching is."""

    def begin(self, n_bytes: int) -> None:
        """Bytes are downloaded from now on: so many."""
        ...

    def add(self, n_bytes: int) -> None:
        """Bytes have arrived."""
        ...

    def stage(self, text: str) -> None:
        """What is done now."""
        ...


def plan_fetch(
    patterns: Sequence[str],
    *,
    include_paths: Sequence[Path] = (),
    revisions: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
) -> FetchPlan:
    """What tasks read and what of it is not on this machine. Asks the hub, and runs no code of tasks.

    Args:
        patterns: Names, globs, groups and tags.
        include_paths: Further folders of benchmarks.
        revisions: Which commits, branches or tags of datasets are wanted, by id.
        data: Local files in place of dataset ids; those need not be fetched.

    Raises:
        PlanError: if a pattern matches nothing, or packages are missing that the tasks need.
        DataError: if the hub does not give a dataset.
    """
    settings = read_settings()
    options = RunOptions(
        include_paths=(*settings.include_paths, *include_paths),
        revisions=dict(revisions or {}),
        data={**settings.data, **(data or {})},
        cache_dir=settings.cache_dir,
    )
    catalog = selection.build_catalog(options.include_paths, plan.cache_folder(options))
    specs = selection.select(patterns, catalog).tasks
    check_specs(specs)
    named: dict[str, tuple[HubSource, list[str]]] = {}
    unsized: list[str] = []
    for spec in specs:
        sources_of = selection.format_of(spec).sources
        sources = sources_of(spec) if sources_of is not None else None
        if sources is None:
            unsized.append(spec.name)
        for source in sources or ():
            if not {source.path, f"{source.path}:{source.name}"} & options.data.keys():
                pinned = _pinned(source, options.revisions)
                key = repr((pinned.path, pinned.name, sorted(pinned.kwargs.items(), key=repr)))
                named.setdefault(key, (pinned, []))[1].append(spec.name)
    datasets = tuple(
        HubDataset(
            source, tuple(files_of(Source(source.path, source.name, source.kwargs, source.folder))), tuple(tasks)
        )
        for source, tasks in named.values()
    )
    return FetchPlan(specs, datasets, tuple(unsized), options)


def carry_out_fetch(planned: FetchPlan, progress: FetchProgress) -> Fetched:
    """Download what is missing, then open each task as a run does, which prepares its data and fetches what its code
    asks for. Runs the tasks' code.

    Args:
        planned: What to fetch.
        progress: Told how far it is.

    Raises:
        DataError: if a file cannot be fetched, or arrives damaged.
    """
    progress.begin(planned.n_bytes_missing)
    for dataset in planned.datasets:
        progress.stage(f"fetching {dataset.source.path}")
        for file in dataset.files:
            fetch_file(file, token=dataset.source.kwargs.get("token"), told=None if file.is_here else progress.add)
    fetched = Fetched()
    with allowances(planned.options):
        for spec in planned.tasks:
            progress.stage(f"opening {spec.name}")
            try:
                _open(spec, planned.options, fetched)
            except (PlanError, DataError) as error:
                fetched.problems[spec.name] = f"{error.what} {error.hint}".strip()
    return fetched


def _open(spec: TaskSpec, options: RunOptions, fetched: Fetched) -> None:
    """Open a task, and look at the media of its samples if its own code gets them."""
    cache_dir = plan.cache_folder(options)
    read: dict[str, str] = {}
    context = OpenContext(data=options.data, cache_dir=cache_dir)
    surroundings = {
        "data": options.data,
        "cache_dir": cache_dir,
        "revisions": options.revisions,
        "read_revisions": read,
        "allows_generated_code": True,  # no model has written anything here: programs that run are the author's
    }
    with guest_context_with(**surroundings):
        with in_mode("load"):
            task = selection.format_of(spec).compile(spec, plan.traits_without_model(), context)
        fetched.n_samples[spec.name] = len(task.samples)
        fetched.revisions[spec.name] = read
        failed = list(_samples_without_media(task))
    if failed:
        sample, why = failed[0]
        fetched.problems[spec.name] = (
            f"{len(failed):,} of {len(task.samples):,} samples cannot be shown. {sample}: {why}"
        )


def _samples_without_media(task: Task) -> Iterator[tuple[str, str]]:
    """Make the first prompt of every sample whose media the task's own code gets, which fetches them; those that fail,
    with the reason.
    """
    if not task.is_guest or task.needs.modalities <= {"text"}:
        return
    for index in range(len(task.samples)):
        sample = task.samples[index]
        try:
            first_prompt(task, sample)
        except PolymeterError as error:
            yield sample.id, error.what


def _pinned(source: HubSource, revisions: Mapping[str, str]) -> HubSource:
    revision = revisions.get(source.path)
    return source if revision is None else replace(source, kwargs={**source.kwargs, "revision": revision})
