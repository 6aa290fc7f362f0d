"""One sitting of a run in its folder: how it begins there, continues or starts anew, and how its end is noted."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, StorageError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.machine.files import sweep
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.options import RunOptions
from polymeter.core.records.progress import Progress
from polymeter.core.settings.scoring_limits import ScoringLimits
from polymeter.guests.door import random_state_kept
from polymeter.guests.generators import dispatched
from polymeter.run.execution import FETCHED_IMAGES, Execution, RunOutcome, Status
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish import sessions
from polymeter.run.finish.part_rates import part_rates
from polymeter.run.pilot.drawing import AfterPilot
from polymeter.run.plan.plan import Plan, cache_folder
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.repairing import find_damage, repair
from polymeter.store.schema import upgrade


def folder_of(plan: Plan) -> RunFolder:
    """Return the run's folder; an existing run already knows the place of its journal."""
    output = plan.options.output or manifests.default_folder(plan)
    folder = RunFolder(output, plan.options.journal_dir)
    if plan.options.journal_dir is not None or not folder.is_begun():
        return folder
    try:
        return open_folder(output)
    except PlanError:
        if plan.options.is_restart:  # what is thrown away may be damaged
            return folder
        raise


def refuse_changes(plan: Plan, folder: RunFolder) -> None:
    """Refuse what ``--strict-resume`` refuses, before anything is asked.

    Raises:
        PlanError: The run in the folder would go on otherwise than it began.
    """
    if plan.options.is_strict_resume and folder.is_begun():
        manifest = folder.read_manifest()
        sessions.check_unchanged(manifest, plan, sorted(manifests.changed_tasks(manifest, plan)), folder)


def result_if_finished(plan: Plan, folder: RunFolder, progress: Progress) -> RunOutcome | None:
    """The results of a finished run that nothing has changed since; ``None`` if it has to be run."""
    manifest = folder.read_manifest()
    if manifest["status"] != "complete" or manifest.get("n_failed", 1) or manifests.is_changed_unopened(manifest, plan):
        return None
    if manifest["identity"] != manifests.identity_of(plan) or not folder.results.exists():
        return None
    results = folder.read_results()
    if results.get("status") != "complete":  # of a reader that was looking at the run while it ended
        return None
    if not sessions.is_by_this_code(manifest):
        progress.note(
            "This run was finished by another version of Polymeter, and its results stay unchanged. "
            f"'polymeter score {folder.path}' scores its answers with this version."
        )
    return RunOutcome(folder, "complete", results, 0)


def _begin(
    plan: Plan, folder: RunFolder, command: str, kind: str, progress: Progress
) -> tuple[dict[str, Any], list[str]]:
    """The manifest as written, and the tasks whose sources changed since an earlier part of this run."""
    if plan.options.is_restart and folder.is_begun():
        _throw_away(folder)
    if not folder.is_begun():
        manifest = manifests.new_manifest(plan, folder, command)
        changed = []
        damage = ""
    else:
        before = folder.read_manifest(is_whole=True)
        manifests.check_same_run(before, plan, folder)
        # A part that was killed at its very beginning had no journal yet.
        had_journal = any(session.get("ended") for session in before.get("sessions") or ())
        if had_journal and not folder.journal.exists():
            raise PlanError(
                "The journal of this run is missing, and with it all of its answers.",
                where=str(folder.journal),
                hint="Restore it from a copy, or --restart to ask everything again.",
            )
        damage = _repaired(folder, progress)
        kind = "resume" if kind == "run" else kind
        for sentence in (*sessions.moved(before, plan), sessions.reads_anew(_with_this(before))):
            if sentence:
                progress.note(sentence)
        changed = sorted(manifests.changed_tasks(before, plan))
        for name in changed:
            progress.note(
                f"Task {name!r} changed since this run began: its samples are replayed; "
                "answers that still fit are reused."
            )
        manifest = manifests.continued(before, plan)
    # Before the manifest, by which a folder is a run: one that ends in between has no journal without tables, which a
    # reader would have to take for a damaged one.
    upgrade(folder.journal)
    if plan.budget is not None and plan.options.is_restart:
        plan.budget.keep_greetings(folder)
    part = sessions.new_part(plan, manifests.software_of(manifest), command, kind)
    part |= part_rates(plan, datetime.now(timezone.utc).date())
    manifest["sessions"] = [*sessions.earlier(manifest), part | ({"damage": damage} if damage else {})]
    folder.write_manifest(manifest)
    return manifest, changed


def _with_this(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with the part that begins."""
    return {**manifest, "sessions": [*(manifest.get("sessions") or ()), {"rules": sessions.rules()}]}


def _repaired(folder: RunFolder, progress: Progress) -> str:
    """Return the damage to the journal, which is in order afterwards; empty if there was none."""
    if not folder.journal.exists():
        return ""
    upgrade(folder.journal)
    damage = find_damage(folder.journal)
    if not damage:
        return ""
    repair(folder.journal)
    progress.note(
        f"The journal is damaged: {damage.describe()}. Every sample is run again over the answers that are intact; "
        "only what is missing is asked for."
    )
    return damage.describe()


def _throw_away(folder: RunFolder) -> None:
    # The manifest is deleted last: while it exists, all other files are known to be of the old run.
    for suffix in ("-wal", "-shm", ""):
        folder.journal.with_name(folder.journal.name + suffix).unlink(missing_ok=True)
    for path in (folder.media, folder.samples, folder.artifacts, folder.logs):
        shutil.rmtree(path, ignore_errors=True)
    for path in (folder.results, folder.report, folder.manifest):
        path.unlink(missing_ok=True)


def _note_end(folder: RunFolder, manifest: dict[str, Any], status: Status, reason: str = "") -> None:
    if folder.is_begun():
        end = {"status": status, "ended": sessions.now()}
        manifest["sessions"][-1] |= {**end, **({"reason": reason} if reason else {})}
        folder.write_manifest({**manifest, **end})


def resumable(error: StorageError, folder: RunFolder) -> StorageError:
    """The error that ended a run, with how to go on if what was written before is still there."""
    hint = error.hint
    if folder.is_begun() and folder.journal.exists() and "--restart" not in hint:
        command = f"polymeter resume {shlex.quote(str(folder.path))}"
        hint = f"{hint} Then continue with: {command} (all answers so far are kept)"
    return type(error)(error.what, where=error.where, hint=hint)


def remove_if_empty(folder: RunFolder, *, with_parent: bool) -> None:
    """Remove the folder that was made for a run that did not begin. Anything in it keeps it."""
    with suppress(OSError):  # ``rmdir`` removes nothing that holds something
        folder.path.rmdir()
        if with_parent:
            folder.path.parent.rmdir()


@contextmanager
def placed(plan: Plan) -> Iterator[None]:
    """Within this, what a plan computes in other processes has its place.

    Raises:
        PlanError: if it cannot be computed there, or there is no room.
    """
    if _names_replicas(plan.options):
        from polymeter.run.dispatch.replicas.planning import planned_place

        plan.place = planned_place(plan, cache_folder(plan.options) / FETCHED_IMAGES)
    try:
        yield
    finally:
        if plan.place is not None:
            plan.place.close()


def _names_replicas(options: RunOptions) -> bool:
    told = (
        *(options.replicas, options.judge_replicas),
        *(options.gpus_per_replica, options.cpus_per_replica, options.address),
    )
    return options.executor != "local" or any(one is not None for one in told)


def run_plan(
    plan: Plan,
    folder: RunFolder,
    progress: Progress,
    *,
    command: str = "",
    kind: str = "run",
    began: Callable[[RunFolder], None] | None = None,
    after_pilot: AfterPilot | None = None,
) -> RunOutcome:
    """Run a plan whose tasks are open, as the only writer of its folder.

    Args:
        plan: The plan.
        folder: The run folder.
        progress: Reports the progress of the run.
        command: The user's command line, for the record.
        kind: The kind of the part of the run that begins: ``run`` or ``score``; a resumed run is a ``resume``.
        began: Called with the run folder once the run has begun there.
        after_pilot: Called when the pilot of the run has ended, if its options ask for one.

    Raises:
        PlanError: The folder holds another run, or another process is running it.
        PolymeterError: The journal cannot be written, or the model cannot be loaded.
    """
    lock = folder.lock()
    try:
        if folder.is_begun():
            folder.sweep()
            cache = cache_folder(plan.options)
            sweep([cache, cache / FETCHED_IMAGES])
        manifest, changed = _begin(plan, folder, command, kind, progress)
        if began is not None:
            began(folder)
        place_note = (plan.place.note,) if plan.place is not None and plan.place.note else ()
        for finding in plan.findings:
            (progress.warning if finding.is_warning else progress.note)(str(finding))
        for note in (*plan.skipped.values(), *place_note):
            progress.note(note)
        limits = ScoringLimits(plan.options.score_timeout_s, plan.options.score_memory_mb)
        try:
            with (
                dispatched(),
                random_state_kept(),
                pixel_budget(plan.options.max_image_pixels),
                guest_context_with(
                    limits=limits,
                    parity=plan.parity,
                    reasoning_tags=plan.model.reasoning_tags,
                    data=plan.options.data,
                    cache_dir=cache_folder(plan.options),
                    allows_generated_code=plan.options.allow_generated_code,
                ),
            ):
                return Execution(plan, folder, manifest, changed, progress, after_pilot).execute()
        except KeyboardInterrupt:  # while models are loaded, or after a run that cannot be ended in order
            _note_end(folder, manifest, "interrupted")
            return RunOutcome(folder, "interrupted", {}, 0)
        except StorageError as error:
            raise resumable(error, folder) from error
        except PolymeterError as error:
            if manifest["status"] == "running":  # while everything was made that the run needs
                with suppress(StorageError):
                    _note_end(folder, manifest, "failed", str(error))
            raise
    finally:
        lock.release()
