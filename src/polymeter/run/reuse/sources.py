"""The runs whose answers may be reused, opened and checked before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, StorageError
from polymeter.core.model import AsyncModel, Model
from polymeter.reading import READING_VERSION
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish import sessions
from polymeter.run.plan.plan import Plan, model_name, role_names
from polymeter.run.plan.stored import StoredAnswers
from polymeter.store.exports.imported import imported_from
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.journal import Journal, Session
from polymeter.store.reading.reused import AnswerOrigin
from polymeter.store.reading.run_folders import find_runs
from polymeter.store.reading.stored_answers import answering_models

OPTION = "--reuse"
NO_RUNS = (Path("none"),)
"""The value of the option with which a resumed run reuses nothing."""


@dataclass(slots=True)
class ReusingModel:
    """A model of this run, and the conditions for answers of other runs.

    Attributes:
        model: The model.
        addresses: Its addresses; empty for a model on this machine.
    """

    model: Model
    addresses: set[str]

    def sends_stops_as(self, told: bool | None) -> bool:
        """Return whether stop strings are sent to it as another run sent them, as far as both are decided."""
        decided = self.model.sends_stops if isinstance(self.model, AsyncModel) else None
        return decided is None or told is None or decided == told


@dataclass(slots=True)
class ReusedRun:
    """A run whose answers may be reused.

    Attributes:
        folder: Its folder.
        manifest: The content of ``run.json``.
        parts: Its parts, by id.
        tasks: Its tasks, by their numbers in the journal.
    """

    folder: RunFolder
    manifest: Mapping[str, Any] = field(repr=False)
    parts: Mapping[int, Session] = field(repr=False)
    tasks: Mapping[int, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.path.resolve().name

    def facts(self, part: int | None) -> Mapping[str, Any]:
        """The record of one of its parts; empty for a part of an old version."""
        found = None if part is None else self.parts.get(part)
        return {} if found is None else found.facts

    def sends_stops(self, role: str) -> bool | None:
        """Return whether stop strings were sent to the model of a role; ``None``: it was not decided."""
        told: bool | None = (self.manifest.get("sends_stops") or {}).get(role)
        return told

    def has_keys(self, part: int | None) -> bool:
        """Return whether a part stored the keys of its answers, and the answers as they were received."""
        facts = self.facts(part)
        return facts.get(sessions.ANSWER_KEYS) == sessions.KEYS_VERSION and self.reads_as_now(part)

    def reads_as_now(self, part: int | None) -> bool:
        """Return whether a part stored answers as they were received."""
        return bool((self.facts(part).get("rules") or {}).get("reading") == READING_VERSION)


def is_recent(at: str, days: float | None) -> bool:
    """Return whether a time is no more than ``days`` days ago."""
    if days is None:
        return False
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return False
    return (datetime.now(timezone.utc) - then).total_seconds() <= days * 86_400


def reusing_models(plan: Plan) -> dict[str, ReusingModel]:
    """The models that this run asks, by fingerprint."""
    marks, addresses = manifests.model_fingerprints(plan), sessions.addresses(plan)
    found: dict[str, ReusingModel] = {}
    for role, model in {"model": plan.model, **plan.roles}.items():
        if not isinstance(model, StoredAnswers):
            one = found.setdefault(marks[role], ReusingModel(model, set()))
            one.addresses.update(filter(None, addresses.get(role, "").split(",")))
    return found


def open_runs(plan: Plan, own: Path, note: Callable[[str], None]) -> list[ReusedRun]:
    """Open the runs that the options name.

    Args:
        plan: The plan of this run.
        own: Its folder, whose answers are its own in any case.
        note: Takes what the user should know of runs that are left out.

    Raises:
        PlanError: if a folder is missing or contains no run, a named run cannot be read, or none has an answer by a
            model of this run.
    """
    models = reusing_models(plan)
    if not models:
        raise PlanError(
            "Nothing is asked, so there is nothing to reuse.", where=OPTION, hint="Leave it out, or name a --judge."
        )
    runs: list[ReusedRun] = []
    useless: list[str] = []
    for path, is_named in _paths(plan.options.reuse, own):
        try:
            run = _opened(path)
            why = _why_useless(run, models, plan)
        except (PlanError, StorageError) as error:
            if is_named:
                raise PlanError(
                    f"The run {path} cannot be reused: {error.what}", where=error.where or OPTION, hint=error.hint
                ) from error
            note(f"{OPTION}: the run {path} is left out: {error.what}")
            continue
        if not why:
            runs.append(run)
            continue
        useless.append(f"{path}: {why}")
        if is_named:
            break
    if useless and (not runs or _is_named(useless[-1], plan.options.reuse)):
        told = "\n".join(f"  - {one}" for one in useless)
        asked = ", ".join(dict.fromkeys([model_name(plan), *role_names(plan).values()]))
        raise PlanError(
            f"No answer of these runs can be reused here:\n{told}", where=OPTION, hint=f"This run asks {asked}."
        )
    if not runs:
        raise PlanError(f"{OPTION} names no run but this one.", where=OPTION, hint="Its own answers are kept anyway.")
    return runs


def _is_named(told: str, paths: Sequence[Path]) -> bool:
    return any(told.startswith(f"{path}: ") for path in paths)


def _paths(named: Sequence[Path], own: Path) -> Iterator[tuple[Path, bool]]:
    """The run folders in the order of their naming, each with whether it was itself named."""
    seen = {own.resolve()}
    for path in named:
        try:
            found = find_runs([path])
        except PlanError as error:
            hint = f"{error.hint} For several, give {OPTION} several times."
            raise PlanError(error.what, where=OPTION, hint=hint) from None
        for run in found:
            if run.resolve() not in seen:
                seen.add(run.resolve())
                yield run, run == path


def _opened(path: Path) -> ReusedRun:
    folder = open_folder(path)
    manifest = folder.read_manifest(is_whole=not imported_from(folder.read_manifest()))
    answering_models(folder)  # first: it says what is wrong with a journal
    with closing(Journal(folder.journal)) as journal:
        tasks = {number: name for name, number in journal.task_ids.items()}
        return ReusedRun(folder, manifest, journal.parts(), tasks)


def _why_useless(run: ReusedRun, models: Mapping[str, ReusingModel], plan: Plan) -> str:
    """Return the reason why no answer of a run can be one of this run, as a sentence; empty if one can."""
    imported = imported_from(run.manifest)
    if imported:
        return f"it was imported from {imported}, and its log does not prove what was sent."
    parity = plan.parity
    stated = run.manifest.get("parity") or {}
    here = {"system": parity.system, "version": parity.version} if parity.system else {}
    if {name: stated.get(name) for name in here or stated} != here:
        told = stated.get("system") or "none"
        return (
            f"its --parity is {told}, and that of this run is {parity.system or 'none'}: wrappers are asked otherwise."
        )
    there = answering_models(run.folder)
    if not there:
        return "it has no answers."
    if models.keys().isdisjoint(there):
        name = (run.manifest.get("model") or {}).get("name")
        return f"its answers are of another model ({name}), or of this one with other settings."
    return ""


def origin_of(run: ReusedRun, part: int | None, task: str, sample: int, answer: str) -> AnswerOrigin:
    """The origin of an answer that a run asked for itself."""
    at = str(run.facts(part).get("started") or run.manifest.get("started") or "")
    return AnswerOrigin(run.name, "" if part is None else f"{part:012x}", at, task, sample, answer)


__all__ = ["NO_RUNS", "OPTION", "ReusedRun", "ReusingModel", "is_recent", "open_runs", "origin_of", "reusing_models"]
