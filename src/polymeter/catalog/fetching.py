"""Downloading what tasks read, so that runs need no network for data afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from polymeter.api.running import allowances
from polymeter.api.settings import read_settings
from polymeter.catalog.trying import first_prompt
from polymeter.core.errors import DataError, PlanError, PolymeterError, did_you_mean
from polymeter.core.format import MODELSCOPE, FileSource, HubSource, OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.names.registries import stored_format
from polymeter.core.options import RunOptions
from polymeter.core.task import Task, TaskSpec
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching import modelscope
from polymeter.data.fetching.fetch import size_of
from polymeter.data.fetching.hub_files import HubFile, fetch_file, files_of
from polymeter.data.opening.mirrors import first_that_opens, for_mirror, is_missing
from polymeter.data.source import Source
from polymeter.guests.door import in_mode
from polymeter.run.plan import plan, selection
from polymeter.run.plan.missing_packages import check_specs
from polymeter.run.plan.named_paths import catalog_for


@dataclass(frozen=True, slots=True)
class WantedDataset:
    """A dataset of a hub, or a file at an address, that tasks read.

    Attributes:
        id: Its id; of a file, what its task calls its data.
        name: Its configuration; ``None``: the only one, several, or none.
        hub: ``huggingface`` or ``modelscope``; of a file its address.
        tasks: Who reads it.
        n_bytes: The size of its files; ``None`` if the server of the address does not report it.
        n_bytes_missing: The size of those that are not on this machine.
        n_files: The number of its files.
        commit: The commit that is fetched; empty if it is not known, or there is none.
        is_at_most: Whether its tasks may turn out to read less of it: their code chooses among its files.
        files: What is downloaded before the tasks are opened; of other data, opening a task downloads what it reads.
        token: For its hub, if its task asks for one of its own.
    """

    id: str
    name: str | None
    hub: str
    tasks: tuple[str, ...]
    n_bytes: int | None
    n_bytes_missing: int | None
    n_files: int
    commit: str = ""
    is_at_most: bool = False
    files: tuple[HubFile, ...] = ()
    token: Any = None


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """A plan of downloads.

    Attributes:
        tasks: The tasks.
        datasets: What they read, with sizes.
        unsized: Tasks whose data shows only when they are opened: their code chooses what it downloads.
        options: The settings.
    """

    tasks: tuple[TaskSpec, ...]
    datasets: tuple[WantedDataset, ...]
    unsized: tuple[str, ...]
    options: RunOptions

    @property
    def n_bytes_missing(self) -> int:
        """The bytes to download, as far as they are known."""
        return sum(dataset.n_bytes_missing or 0 for dataset in self.datasets)

    @property
    def is_at_most(self) -> bool:
        """True if it may turn out to be less."""
        return any(dataset.is_at_most and dataset.n_bytes_missing for dataset in self.datasets)


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result of fetching.

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
        """Report the current step."""
        ...


def plan_fetch(
    patterns: Sequence[str],
    *,
    include_paths: Sequence[Path] = (),
    revisions: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
    dialect_options: Mapping[str, Mapping[str, Any]] | None = None,
) -> FetchPlan:
    """Plan the downloads of tasks: the data that they read and this machine does not have. Asks the hubs, and runs no
    code of tasks.

    Args:
        patterns: Names, globs, groups, tags, files and folders.
        include_paths: Further folders of benchmarks.
        revisions: Which commits, branches or tags of datasets are wanted, by id.
        data: Local files in place of dataset ids; those need not be fetched.
        dialect_options: Settings of formats, as of a run.

    Raises:
        PlanError: if a pattern matches nothing, or packages are missing that the tasks need.
        DataError: if a hub does not give a dataset.
    """
    settings = read_settings()
    options = RunOptions(
        include_paths=(*settings.include_paths, *include_paths),
        revisions=dict(revisions or {}),
        data={**settings.data, **(data or {})},
        cache_dir=settings.cache_dir,
        dialect_options={name: dict(told) for name, told in (dialect_options or {}).items()},
    )
    named = catalog_for(patterns, options.include_paths, plan.cache_folder(options))
    specs = selection.select(named.patterns, named.catalog, "").tasks
    check_specs(specs)
    read: dict[str, tuple[HubSource | FileSource, list[str], list[str]]] = {}
    unsized: list[str] = []
    for spec in specs:
        sources_of = selection.format_of(spec).sources
        sources = sources_of(spec, _context(spec, options)) if sources_of is not None else None
        if sources is None:
            unsized.append(spec.name)
        for source in sources or ():
            if not _source_names(source) & options.data.keys():
                pinned = _pinned(source, options.revisions)
                known, names, tasks = read.setdefault(_key(pinned), (pinned, [], []))
                if isinstance(known, HubSource) and not getattr(pinned, "is_exact", True):
                    read[_key(pinned)] = (pinned, names, tasks)  # code that chooses among all files may read any
                names.append(str(getattr(source, "name", "")))
                tasks.append(spec.name)
    _check_revisions(options.revisions, [source for source, _, _ in read.values()], is_all=not unsized)
    datasets: list[WantedDataset] = []
    for source, names, tasks in read.values():
        with guest_context_with(revisions=options.revisions):
            wanted = _wanted_of_mirrors(source, tuple(dict.fromkeys(names)), tuple(dict.fromkeys(tasks)))
        if wanted is None or wanted.is_at_most:  # code that chooses may read other data too
            unsized.extend(task for task in dict.fromkeys(tasks) if task not in unsized)
        if wanted is not None:
            datasets.append(wanted)
    return FetchPlan(specs, tuple(datasets), tuple(unsized), options)


def _check_revisions(revisions: Mapping[str, str], sources: Sequence[HubSource | FileSource], *, is_all: bool) -> None:
    """Refuse revisions of datasets that no task reads, if it is known what all tasks read.

    Raises:
        PlanError: if there is one.
    """
    read = [one for source in sources if isinstance(source, HubSource) for one in (source.path, *source.mirrors)]
    for name in revisions:
        hint = did_you_mean(name, read)
        if name not in read and (is_all or hint):
            raise PlanError(
                f"None of these tasks reads a dataset {name!r}.",
                where="--revision",
                hint=hint or f"They read: {', '.join(dict.fromkeys(read)) or 'none of a hub'}.",
            )


def _source_names(source: HubSource | FileSource) -> set[str]:
    """The names that ``--data`` may use for it."""
    if isinstance(source, FileSource):
        return {source.name}
    # Adapters know their data by its id alone.
    ids = (source.path, *source.mirrors)
    return {*ids} if source.hub == MODELSCOPE else {*ids, *(f"{one}:{source.name}" for one in ids)}


def _key(source: HubSource | FileSource) -> str:
    """Return the key that two sources share if they are one download. All configurations of a dataset of ModelScope lie
    in one folder.
    """
    if isinstance(source, FileSource):
        return source.url
    if source.hub == MODELSCOPE:
        return repr((source.hub, source.path))
    return repr((source.path, source.name, sorted(source.kwargs.items(), key=repr)))


def _wanted_of_mirrors(
    source: HubSource | FileSource, names: tuple[str, ...], tasks: tuple[str, ...]
) -> WantedDataset | None:
    """Return the downloads of a source, or of the first of its mirrors that its hub gives."""
    if not source.mirrors:
        return _wanted(source, names, tasks)
    if isinstance(source, FileSource):
        return first_that_opens(
            (source.url, *source.mirrors),
            lambda one: _wanted(replace(source, url=one), names, tasks),
            is_absent=is_missing,
        )
    return first_that_opens(
        (source.path, *source.mirrors),
        lambda one: _wanted(source if one == source.path else _mirror(source, one), names, tasks),
        is_absent=is_missing,
    )


def _mirror(source: HubSource, path: str) -> HubSource:
    return replace(source, path=path, kwargs=for_mirror(source.kwargs))


def _wanted(source: HubSource | FileSource, names: tuple[str, ...], tasks: tuple[str, ...]) -> WantedDataset | None:
    """Return the downloads of a source; ``None`` if they are known only when its tasks are opened.

    Raises:
        DataError: if its hub or server does not give it.
    """
    if isinstance(source, FileSource):
        size = size_of(source.url) if source.here is None else source.here.stat().st_size
        missing = size if source.here is None else 0
        return WantedDataset(source.name, None, hide_secrets(source.url), tasks, size, missing, 1)
    files: Sequence[HubFile]
    if source.hub == MODELSCOPE:
        repository = modelscope.open_repository(source.path, source.cache_dir or Path())
        if repository.script:
            return None
        files = modelscope.files_of_configs(repository, names) if source.is_exact else repository.files
    else:
        files = files_of(Source(source.path, source.name, source.kwargs, source.folder))
    return WantedDataset(
        id=source.path,
        name=None if source.hub == MODELSCOPE else source.name,
        hub=source.hub,
        tasks=tasks,
        n_bytes=sum(file.size for file in files),
        n_bytes_missing=sum(file.size for file in files if not file.is_here),
        n_files=len(files),
        commit=next((file.commit for file in files), ""),
        is_at_most=not source.is_exact,
        files=() if source.hub == MODELSCOPE else tuple(files),
        token=source.kwargs.get("token"),
    )


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
        if dataset.files:
            progress.stage(f"fetching {dataset.id}")
        for file in dataset.files:
            fetch_file(file, token=dataset.token, told=None if file.is_here else progress.add)
    fetched = Fetched()
    with allowances(planned.options), guest_context_with(bytes_arrived=progress.add):
        for spec in planned.tasks:
            progress.stage(f"opening {spec.name}")
            try:
                _open(spec, planned.options, fetched)
            except (PlanError, DataError) as error:
                fetched.problems[spec.name] = f"{error.what} {error.hint}".strip()
    return fetched


def _open(spec: TaskSpec, options: RunOptions, fetched: Fetched) -> None:
    """Open a task, and look at the media of its samples if its own code gets them."""
    read: dict[str, str] = {}
    context = _context(spec, options)
    surroundings = {
        "data": options.data,
        "cache_dir": context.cache_dir,
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


def _context(spec: TaskSpec, options: RunOptions) -> OpenContext:
    told = options.dialect_options.get(stored_format(spec.format), {})
    return OpenContext(data=options.data, options=told, cache_dir=plan.cache_folder(options))


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


def _pinned(source: HubSource | FileSource, revisions: Mapping[str, str]) -> HubSource | FileSource:
    if isinstance(source, FileSource) or source.path not in revisions:
        return source
    return replace(source, kwargs={**source.kwargs, "revision": revisions[source.path]})
