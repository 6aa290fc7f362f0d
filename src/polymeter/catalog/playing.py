"""Playing a few rows of benchmarks with the reference, with an empty and with a wrong answer, through the real planning
and scoring. Runs their code, without the network.

Selects the tasks, and reports those that cannot be played; ``play_findings`` has the findings.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.api.offline import offline
from polymeter.api.result import RunResult
from polymeter.api.running import evaluate
from polymeter.api.settings import read_settings
from polymeter.catalog.listing import build_catalog, index_folder
from polymeter.catalog.media_check import unusable_media
from polymeter.catalog.play_findings import ANSWERS, PlayedRows, findings_of, unscorable_rows
from polymeter.catalog.trying import open_spec, prompt_findings
from polymeter.core.errors import PolymeterError, Problem, causes_of
from polymeter.core.format import Loaded
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import TaskSpec
from polymeter.data.opening.explaining import SourceError
from polymeter.report.formatting import clip, one_line
from polymeter.run.plan import selection

ROWS = 3
MOST_TASKS = 20
"""The number of tasks that are played by default."""
_SMALL_FOLDER = 100
_LONGEST_REASON = 160
_ADVICE = re.compile(r"(?<!\S)--(?!include-path)[a-z]")
"""An option in the advice of an error: the run misses something, and the benchmark is not at fault."""
ELSEWHERE = "the data is not on this machine; name it with --data ID=PATH"
_JUDGED = "a judge scores the answers"
_NO_JUDGE = "missing-judge"
"""A check has no judge on purpose."""


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """The outcome of one task.

    Attributes:
        task: Its name.
        n_rows: How many rows were played; 0: none.
        findings: What is remarkable: what shows before the first request, as in a run, and what playing rows shows.
        skipped: Why it was not played, as the end of a sentence about several tasks; empty if it was.
        problem: A mistake in the benchmark's files for which a run is refused, or that leaves samples without a score.
        n_of: How many rows it has.
    """

    task: str
    n_rows: int = 0
    findings: tuple[LintFinding, ...] = ()
    skipped: str = ""
    problem: Problem | None = None
    n_of: int = 0


@dataclass(frozen=True, slots=True)
class PlayList:
    """The tasks that are to be played.

    Attributes:
        specs: Those that are.
        elsewhere: Those whose data is not on this machine, as far as its name shows.
        left_out: Those that are too many.
        include_paths: Where they are found.
        data: Local files that replace dataset ids.
        guesses: The guesses that made tasks of tables.
    """

    specs: tuple[TaskSpec, ...]
    elsewhere: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    include_paths: tuple[Path, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    guesses: tuple[str, ...] = ()

    @property
    def code(self) -> tuple[Path, ...]:
        """The Python files that playing them runs, as far as they are known."""
        files = (file for spec in self.specs for file in spec.sources if file.suffix == ".py")
        return tuple(dict.fromkeys(files))


def list_plays(
    path: Path,
    include_paths: Sequence[Path] = (),
    data: Mapping[str, str] | None = None,
    *,
    broken: Sequence[Path] = (),
    most: int | None = MOST_TASKS,
    parity: str | None = None,
) -> PlayList:
    """Return the tasks in a file or folder to play. Executes none of their code.

    Args:
        path: The file or folder.
        include_paths: Further folders of benchmarks.
        data: Local files that replace dataset ids.
        broken: Files that are known to be at fault, whose tasks are left alone.
        most: How many at most; ``None``: all.
        parity: The system whose reading of files is wanted; default: that of the settings.
    """
    inside = selection.named_place(path)
    catalog = build_catalog((*include_paths, path), parity=parity)
    local = {**read_settings().data, **(data or {})}
    faulty = {selection.named_place(file) for file in broken}
    entries = [
        entry
        for entry in catalog
        if entry.kind == "task"
        and entry.file.is_relative_to(inside)
        and entry.name not in catalog.clashes
        and entry.file not in faulty
    ]
    specs: list[TaskSpec] = []
    elsewhere: list[str] = []
    left_out: list[str] = []
    guesses: list[str] = []
    for entry in entries:
        if most is not None and len(specs) >= most:
            left_out.append(entry.name)
            continue
        loaded = _loaded(entry, catalog)
        guesses.extend(loaded.guesses)
        for spec in loaded.tasks:
            if _is_elsewhere(spec, local):
                elsewhere.append(spec.name)
            else:
                specs.append(spec)
    # In a large folder each task is looked for in its own file: listing the folder for each would take long.
    place = () if len(entries) > _SMALL_FOLDER else (path,)
    found = (tuple(specs), tuple(elsewhere), tuple(left_out))
    return PlayList(*found, (*include_paths, *place), dict(data or {}), tuple(guesses))


def play(plays: PlayList, rows: int = ROWS, parity: str | None = None) -> Iterator[PlayedTask]:
    """Play the first rows of tasks. A task that fails does not end the others. Runs their code.

    Args:
        plays: The tasks.
        rows: How many rows of each.
        parity: The system whose values are wanted where Polymeter differs from it; default: that of the settings.
    """
    for spec in plays.specs:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="polymeter-play-")))
            stack.enter_context(offline())
            try:
                yield _play_one(spec, plays, rows, parity, folder)
            except PolymeterError as error:
                yield _refused(spec, error)


def _play_one(spec: TaskSpec, plays: PlayList, rows: int, parity: str | None, folder: Path) -> PlayedTask:
    task = open_spec(spec, plays.data, parity)
    found = (*(one for one in task.findings if one.id != _NO_JUDGE), *prompt_findings(task))
    if task.needs.roles:
        return PlayedTask(spec.name, findings=found, skipped=_JUDGED)
    chosen: dict[str, Any] = {} if parity is None else {"parity": parity}
    runs: dict[str, RunResult] = {
        mode: evaluate(
            "mock",
            [spec.name],
            model_args={"mode": mode},
            include_paths=plays.include_paths or (spec.file,),
            data=dict(plays.data),
            limit=rows,
            output=folder / mode,
            media="none",
            **chosen,
        )
        for mode in ANSWERS
    }
    played = PlayedRows.of(task, runs)
    if played.lacks_judge:
        return PlayedTask(spec.name, findings=found, skipped=_JUDGED)
    fault = unusable_media(task) or unscorable_rows(played)
    if fault:
        return PlayedTask(spec.name, problem=Problem(str(spec.file), fault))
    return PlayedTask(spec.name, played.n_rows, (*findings_of(played), *found), n_of=len(task.samples))


def _loaded(entry: Entry, catalog: Catalog) -> Loaded:
    try:
        return selection.format_of(entry).load(entry, catalog)
    except PolymeterError:  # checking it has reported the error
        return Loaded(())


def _is_elsewhere(spec: TaskSpec, data: Mapping[str, str]) -> bool:
    from polymeter.data.source import is_of_hub

    name = spec.config.get(selection.format_of(spec).page_keys.dataset)
    if not isinstance(name, str) or (spec.file.suffix == ".py" and "/" not in name):  # its code may make its rows
        return False
    mirrors = () if spec.protocol is None else spec.protocol.mirrors
    return is_of_hub(name, spec.file.parent, data, mirrors, index_folder())


def _refused(spec: TaskSpec, error: PolymeterError) -> PlayedTask:
    """Return the outcome of a task that cannot be planned. It is at fault if a line of its YAML is wrong, or data on
    this machine. It is not at fault if its code raised, since something may be missing on this machine, or if options
    are missing.
    """
    place, _, line = error.where.rpartition(":")
    causes = (error, *causes_of(error))
    source = next((cause for cause in causes if isinstance(cause, SourceError)), None)
    is_ours = all(isinstance(cause, PolymeterError) for cause in causes) if source is None else not source.is_absent
    if is_ours and line.isdigit() and place.endswith(selection.file_endings()) and not _ADVICE.search(error.hint):
        return PlayedTask(spec.name, problem=Problem(error.where, f"{error.what} {error.hint}".strip()))
    return PlayedTask(spec.name, skipped=clip(one_line(error.what), _LONGEST_REASON))
