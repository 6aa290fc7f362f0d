"""A run as other tools' files: what is written, where, and what these files cannot hold."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from polymeter.api.result import RunResult, open_run
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places, stored_at
from polymeter.core.names.registries import EXPORTS
from polymeter.core.records.exporting import ExportJob
from polymeter.core.settings.arguments import Names, names_of
from polymeter.reading.stored import samples_as_read
from polymeter.store.exports.export import read_samples
from polymeter.store.media import media_path

EXPORTED = "exports"
"""The folder in a run folder for files whose user named no other."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export has written.

    Attributes:
        folder: The folder of the files.
        files: Their paths, sorted; without copied media.
        n_media: How many media files were copied.
        notice: Said of a run that has not ended; empty of one that has.
        left_out: What these files have no place for, in one sentence; empty: nothing.
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
) -> Exported:
    """Write a run as the files of another tool, which read as if that tool had written them.

    All files are written elsewhere first and moved to their place together, so a reader never sees a part of them. The
    run itself stays as it is; of one that has not ended, what there is is written.

    Args:
        run: The run folder.
        to: Whose files: a name that ``polymeter export --help`` lists, such as ``lmms-eval`` or ``csv``.
        output: The folder for them; default: ``exports/NAME`` in the run folder.
        tasks: Names of tasks, ``*`` allowed; default: all.
        media: ``copy`` the images and other media that the run folder has, where the files can refer to them; or
            ``none``.
        force: Whether to write into a folder that is not empty; files of the same name are replaced.

    Raises:
        PlanError: if there is no run, it is not known when it was made, there is no such export or task, a package is
            missing, or the folder is not empty.
        StorageError: if a folder cannot be read or written.
    """
    exporter = EXPORTS.get(to)
    if media not in ("copy", "none"):
        raise PlanError(f"Media are not exported as {media!r}.", hint="Known: copy, none.")
    found = open_run(run)
    folder = found.folder.path / EXPORTED / to if output is None else Path(output)
    _refuse_full(folder, is_forced=force)
    manifest, results = _exported_tasks(found, names_of(tasks, "tasks"))
    if not manifest.get("started"):
        raise PlanError(
            "It is not known when this run was made, and other tools' files have to say it.",
            where=str(found.folder.path),
            hint="The log that it was imported from does not hold it: keep the log itself.",
        )
    with stored_at(folder.parent, "Making the folder"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        job = ExportJob(
            found.folder.path,
            manifest,
            results,
            lambda task: samples_as_read(read_samples(found.folder, task), manifest, task),
            lambda name: media_path(found.folder.media, name),
            found.folder.artifacts,
            staging / folder.name,
            copies_media=media == "copy",
        )
        job.folder.mkdir()
        exporter(job)
        written = sorted(path.relative_to(job.folder) for path in job.folder.rglob("*") if path.is_file())
        _move(job.folder, folder, written)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    copied = set(job.copies)
    own = tuple(folder / path for path in written if path.as_posix() not in copied)
    return Exported(folder, own, len(copied), _notice(found, results), _sentence(to, job.notes))


def export_summaries() -> dict[str, str]:
    """What a run can be exported to: one line for each name, without importing any of them."""
    return {name: EXPORTS.find(name).summary for name in sorted(EXPORTS)}


def _refuse_full(folder: Path, *, is_forced: bool) -> None:
    with stored_at(folder, "Opening the folder"):
        if folder.exists() and not folder.is_dir():
            raise PlanError("The output is a file, not a folder.", where=str(folder))
        if folder.is_dir() and any(folder.iterdir()) and not is_forced:
            raise PlanError(
                "The folder for the export is not empty.",
                where=str(folder),
                hint="Name another with --output, or replace files of the same name with --force.",
            )


def _exported_tasks(found: RunResult, patterns: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest and the results with the chosen tasks alone, and with the groups of which all members are chosen.

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
    """Move files to their place: as one folder where there is none yet, else each by itself."""
    with stored_at(target, "Writing the export"):
        with suppress(OSError):  # an empty folder is replaced; where the system refuses that, it is filled instead
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
    return f"The run is {found.status}: this is a part of it, {n_ended:,} of {n_planned:,} samples."


def _sentence(to: str, notes: Iterable[str]) -> str:
    clauses = "; ".join(notes)
    return f"Left out, because files of {to} have no place for it: {clauses}." if clauses else ""
