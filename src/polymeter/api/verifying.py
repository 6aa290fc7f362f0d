"""Checking a run folder: whether its files are what was written, and agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.api.imports import import_file
from polymeter.api.partial import is_partial
from polymeter.core.errors import PolymeterError
from polymeter.core.machine.places import naming_places
from polymeter.core.records.progress import Progress, Silence
from polymeter.exchange.importing.results import imported_results
from polymeter.run.finish import sessions
from polymeter.run.finish.rescore import stored_options
from polymeter.run.finish.verify import reduce_again
from polymeter.store.exports.imported import imported_from
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.journal import Journal
from polymeter.store.repairing import find_damage
from polymeter.store.verifying import (
    changed_files,
    damaged_media,
    differing_results,
    differing_samples,
    is_manifest_changed,
    missing_media,
)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking a run.

    Attributes:
        problems: What is wrong, one sentence each.
        unchecked: What could not be checked and why, one sentence each.
        facts: What was checked.
    """

    problems: tuple[str, ...]
    unchecked: tuple[str, ...]
    facts: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """True if everything was checked and nothing is wrong."""
        return not self.problems and not self.unchecked


@naming_places()
def verify(path: Path | str, *, progress: Progress | None = None) -> Verification:
    """Check a run folder; nothing in it changes, and no model is asked.

    ``run.json``, ``results.json``, the report, what tasks wrote and rows of the journal are compared with their
    checksums, media files with the hashes that name them, the files of samples with the rows, and ``results.json`` with
    the rows reduced again, for which the tasks' code is loaded.

    Args:
        path: The run folder.
        progress: Receives progress; default: none.

    Raises:
        PlanError: if there is no run at ``path``.
    """
    folder, progress = open_folder(Path(path)), progress or Silence()
    manifest = folder.read_manifest()
    found = _Found()
    if not folder.journal.is_file():
        found.problems.append("The journal is missing.")
        return found.verification()
    is_changed = is_manifest_changed(folder)
    if is_changed:
        found.problems.append("run.json is not what was written: its checksum differs.")
        found.unchecked.append("Nothing else is checked, since run.json lists the other files.")
        return found.verification()
    found.facts.append(
        "run.json was last written by an older version, without a checksum"
        if is_changed is None
        else "run.json is what was written"
    )
    progress.stage("checking the journal")
    try:
        damage = find_damage(folder.journal)
        if damage:
            found.problems.append(f"The journal is damaged: {damage.describe()}.")
        found.facts.append(f"{damage.n_rows - damage.n_unchecked:,} rows compared with their checksums")
        if damage.n_unchecked:
            found.facts.append(f"{damage.n_unchecked:,} rows of an older version have no checksum")
        progress.stage("checking media and samples")
        found.problems.extend([*changed_files(folder, is_complete=manifest["status"] == "complete")])
        found.problems.extend(damaged_media(folder))
        with closing(Journal(folder.journal)) as journal:
            found.problems.extend(_by_task(folder, journal, manifest))
    except PolymeterError as error:
        found.problems.append(str(error))
        return found.verification()
    if folder.results.is_file():
        _check_results(folder, progress, found)
    elif manifest["status"] == "complete":
        found.problems.append("results.json is missing.")
    else:
        found.facts.append("the run is not complete, so it has no results to check")
    return found.verification()


class _Found:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.unchecked: list[str] = []
        self.facts: list[str] = []

    def verification(self) -> Verification:
        return Verification(tuple(dict.fromkeys(self.problems)), tuple(self.unchecked), tuple(self.facts))


def _by_task(folder: RunFolder, journal: Journal, manifest: dict[str, Any]) -> Iterator[str]:
    address_of = sessions.part_addresses(journal, manifest) if manifest.get("answers_by_endpoint") else None
    for task in manifest["tasks"]:
        yield from missing_media(folder, journal, task["name"])
        if manifest["status"] == "complete":
            yield from differing_samples(folder, journal, task["name"], address_of)


def _check_results(folder: RunFolder, progress: Progress, found: _Found) -> None:
    try:
        written = folder.read_results()
    except PolymeterError as error:
        found.problems.append(str(error))
        return
    if is_partial(written) and folder.read_manifest()["status"] != "complete":
        found.facts.append("the run is not complete, and its results say so; they are not checked")
        return
    if folder.read_manifest()["status"] != "complete":
        found.unchecked.append("results.json is of an earlier part of the run, which has continued since.")
        return
    manifest = folder.read_manifest()
    if imported_from(manifest):
        found.problems.extend(differing_results(written, imported_results(folder, manifest), frozenset()))
        found.facts.append("results made again from their rows and what the log states")
        return
    try:
        for file in stored_options(folder.path).imports:
            import_file(file)
        again = reduce_again(folder, progress)
    except PolymeterError as error:
        found.unchecked.append(f"results.json is not compared with the rows, which cannot be reduced again: {error}")
        return
    for name, why in again.changed.items():
        found.unchecked.append(f"The results of task {name!r} are not compared with its rows: {why} since the run.")
    differing = [*differing_results(written, again.results, frozenset(again.changed))]
    if differing and not sessions.is_by_this_code(folder.read_manifest()):
        differing.append("Parts of the run are of another version of Polymeter, which may reduce otherwise.")
    found.problems.extend(differing)
    found.facts.append("results reduced again from their rows")
