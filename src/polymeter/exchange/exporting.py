"""Export of a run as the files of other tools, with a note on what those files cannot hold."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from polymeter.api.result import RunResult, open_run
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places, stored_at
from polymeter.core.names.registries import EXPORTS
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.human_scores import with_verdicts
from polymeter.core.settings.arguments import Names, names_of
from polymeter.exchange.verdicts import judged_run
from polymeter.reading.stored import samples_as_read
from polymeter.store.exports.export import read_samples
from polymeter.store.media import media_path

EXPORTED = "exports"
"""The default folder for exported files, in the run folder."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes:
        folder: The folder of the files.
        files: Their paths, sorted; without copied media.
        n_media: The number of copied media files.
        notice: Sentences about a run that has not ended, and on the verdicts of people; may be empty.
        left_out: A sentence on what the files cannot hold; empty if they hold everything.
    """

    folder: Path
    files: tuple[Path, ...]
    n_media: int
    notice: str
    left_out: str


@naming_places()
def export(
    run: Path | str,
    to: str,
    *,
    output: Path | str | None = None,
    tasks: Names = (),
    media: Literal["copy", "none"] = "none",
    force: bool = False,
    verdicts: bool = False,
) -> Exported:
    """Write a run as the files of another tool, in the form that this tool writes.

    All files are written elsewhere first and moved to their place together, so a reader never sees a part of them. The
    run itself does not change. If it has not ended, its partial results are written.

    Args:
        run: The run folder.
        to: The format: a name that ``polymeter export --help`` lists, such as ``lmms-eval`` or ``csv``.
        output: The folder for them; default: ``exports/NAME`` in the run folder.
        tasks: Names of tasks, ``*`` allowed; default: all.
        media: ``copy`` to copy the images and other media of the run folder if the files can refer to them; or
            ``none``.
        force: Whether to write into a folder that is not empty; files of the same name are replaced.
        verdicts: Use the verdicts of people beside the run: their scores replace those of the run, and samples that
            they excluded are left out.

    Raises:
        PlanError: if the run, the export or a task does not exist, the time of the run is unknown, a package is
            missing, or the folder is not empty.
        StorageError: if a folder cannot be read or written.
    """
    exporter = EXPORTS.get(to)
    if media not in ("copy", "none"):
        raise PlanError(f"Unknown value {media!r} of media.", hint="Known: copy, none.")
    found = open_run(run)
    judged = judged_run(found.folder.path) if verdicts else None
    human = judged.human if judged is not None else {}
    if judged is not None:
        found = replace(found, results=judged.results)
    folder = found.folder.path / EXPORTED / to if output is None else Path(output)
    _refuse_full(folder, is_forced=force)
    manifest, results = _exported_tasks(found, names_of(tasks, "tasks"))
    if not manifest.get("started"):
        raise PlanError(
            "The time of this run is unknown, and other tools' files must state it.",
            where=str(found.folder.path),
            hint="The log that it was imported from does not state it. Keep the log itself.",
        )
    with stored_at(folder.parent, "Creating the folder"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        job = ExportJob(
            found.folder.path,
            manifest,
            results,
            lambda task: samples_as_read(
                with_verdicts(read_samples(found.folder, task), human.get(task)), manifest, task
            ),
            lambda name: media_path(found.folder.media, name),
            found.folder.artifacts,
            staging / folder.name,
            copies_media=media == "copy",
            human=human,
        )
        job.folder.mkdir()
        exporter(job)
        written = sorted(path.relative_to(job.folder) for path in job.folder.rglob("*") if path.is_file())
        _move(job.folder, folder, written)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    copied = set(job.copies)
    own = tuple(folder / path for path in written if path.as_posix() not in copied)
    notes = filter(None, (_notice(found, results), *(judged.notes if judged is not None else ())))
    return Exported(folder, own, len(copied), " ".join(notes), _sentence(to, job.notes))


def export_summaries() -> dict[str, str]:
    """Return the available exports by name, each with one line about it. None of them is imported."""
    return {name: EXPORTS.find(name).summary for name in sorted(EXPORTS)}


def _refuse_full(folder: Path, *, is_forced: bool) -> None:
    with stored_at(folder, "Opening the folder"):
        if folder.exists() and not folder.is_dir():
            raise PlanError("The output is a file, not a folder.", where=str(folder))
        if folder.is_dir() and any(folder.iterdir()) and not is_forced:
            raise PlanError(
                "The folder for the export is not empty.",
                where=str(folder),
                hint="Name another folder with --output, or replace files of the same name with --force.",
            )


def _exported_tasks(found: RunResult, patterns: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the manifest and the results of the selected tasks alone. A group stays if all of its members are
    selected.

    Raises:
        PlanError: if a pattern matches no task.
    """
    manifest, results = found.folder.read_manifest(is_whole=True), dict(found.results)
    names = list(results["tasks"])
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"It has: {', '.join(names)}."
            raise PlanError(f"The run has no task {pattern!r}.", where=str(found.folder.path), hint=hint)
    if not patterns:
        return manifest, results
    kept = {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)}
    groups = results["groups"]
    while whole := {name for name, group in groups.items() if name not in kept and kept.issuperset(group["members"])}:
        kept |= whole
    results["tasks"] = {name: task for name, task in results["tasks"].items() if name in kept}
    results["groups"] = {name: group for name, group in groups.items() if name in kept}
    results["layout"] = [line for line in results["layout"] if line[1] in kept]
    return {**manifest, "tasks": [task for task in manifest["tasks"] if task["name"] in kept]}, results


def _move(source: Path, target: Path, files: Iterable[Path]) -> None:
    """Move files to their place: as one folder if the target does not exist, else one by one."""
    with stored_at(target, "Writing the export"):
        with suppress(OSError):  # an empty folder is replaced; if the system refuses that, it is filled
            os.replace(source, target)
            return
        for file in files:
            place = target / file
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source / file, place)


def _notice(found: RunResult, results: Mapping[str, Any]) -> str:
    if found.is_complete:
        return ""
    counts = [(sum(task["statuses"].values()), task["n_samples"]) for task in results["tasks"].values()]
    n_ended, n_planned = (sum(count[position] for count in counts) for position in (0, 1))
    return f"The run is {found.status}: these are partial results, {n_ended:,} of {n_planned:,} samples."


def _sentence(to: str, notes: Iterable[str]) -> str:
    clauses = "; ".join(notes)
    return f"Left out, because files of {to} have no place for it: {clauses}." if clauses else ""
