"""One evaluation, start to end: plan, claim the folder, running, reduce, write. Each stage has its own module; this one
is the order.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, StorageError, count
from polymeter.core.guest_context import guest_context_with, weights_from
from polymeter.core.machine.files import sweep
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec
from polymeter.core.names.parity import parity_with
from polymeter.core.names.registries import MODELS
from polymeter.core.options import RunOptions
from polymeter.core.records.progress import Progress
from polymeter.core.settings.generation import require_generation
from polymeter.core.settings.scoring_limits import ScoringLimits
from polymeter.core.text.secrets import HIDDEN, remember
from polymeter.guests.door import random_state_kept
from polymeter.guests.generators import dispatched
from polymeter.guests.held import put_back_after_run
from polymeter.reading.reasoning import parse_tags
from polymeter.run.execution import FETCHED_IMAGES, Execution, RunOutcome, Status
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish import sessions as parts
from polymeter.run.plan.generation_settings import check_typed_settings
from polymeter.run.plan.missing_packages import check_packages
from polymeter.run.plan.models import check_model, make_model, parse_model
from polymeter.run.plan.plan import Plan, cache_folder, check_learned, compile_tasks, computes_here, model_name, skip
from polymeter.run.plan.preflight import check_endpoints, may_miss_judge
from polymeter.run.plan.selection import build_catalog, file_endings, named_place, select
from polymeter.run.schedule.panel import panel_of
from polymeter.store.exports.imported import refuse_imported
from polymeter.store.folder import RUNS, RunFolder, open_folder
from polymeter.store.mending import find_damage, mend
from polymeter.store.schema import upgrade


@dataclass(frozen=True, slots=True)
class RunRequest:
    """An evaluation as asked for.

    Attributes:
        model: A model's name or spec, or a model.
        patterns: Names, globs, groups, tags and files of tasks.
        options: Every setting.
        roles: Further models by role.
        command: What the user typed, for the record.
        is_resume: Whether this continues a run that must be there.
        check_plan: Called with the plan before anything is opened or sent; refuses it by raising PlanError.
        typed_data: The ids of datasets that the user has named a place for, for this run.
        pinned: As in the plan.
        meanwhile: What else is to be done while endpoints are asked before the run. Nothing may rest on it.
        began: Called with the run folder once the run has begun there.
    """

    model: ModelSpec | Model
    patterns: tuple[str, ...]
    options: RunOptions
    roles: Mapping[str, ModelSpec | Model] = field(default_factory=dict)
    command: str = ""
    is_resume: bool = False
    check_plan: Callable[[Plan], None] | None = None
    typed_data: tuple[str, ...] = ()
    pinned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    meanwhile: Callable[[], None] | None = None
    began: Callable[[RunFolder], None] | None = None


def run(request: RunRequest, progress: Progress) -> RunOutcome:
    """Run an evaluation, or go on with one.

    Raises:
        PlanError: It cannot run as asked for; nothing was spent.
        DataError: A dataset cannot be opened; nothing was spent.
        PolymeterError: The journal cannot be written, or the model cannot be loaded.
    """
    # Before task code is loaded: what it imports from random by name must be the dispatching functions.
    options = request.options
    with (
        put_back_after_run(),
        dispatched(),
        random_state_kept(),
        weights_from(options.weights),
        pixel_budget(options.max_image_pixels),
    ):
        return _run(request, progress)


def _run(request: RunRequest, progress: Progress) -> RunOutcome:
    progress.stage("planning")
    plan = make_plan(request)
    if request.check_plan is not None:
        request.check_plan(plan)
    panel_of(plan)  # refused before anything is opened
    was_there = RUNS.exists()
    folder = _folder(plan)
    try:
        return _run_in(folder, plan, request, progress)
    finally:
        if plan.options.output is None:
            _remove_if_empty(folder, with_parent=not was_there)


def _run_in(folder: RunFolder, plan: Plan, request: RunRequest, progress: Progress) -> RunOutcome:
    if plan.options.skip_unfit and folder.is_begun() and not plan.options.is_restart:
        skip(plan, folder.read_manifest().get("skipped") or {})
    if request.is_resume:
        finished = _if_finished(plan, folder, progress)
        if finished is not None:
            return finished
    if folder.is_begun() and not plan.options.is_restart:
        manifests.keep_stops(folder.read_manifest(), plan)
    check_packages(plan)
    manifests.identity_of(plan)  # what is no identity is told before anything is spent
    if not plan.options.is_restart:
        refuse_changes(plan, folder)
    is_new = plan.options.is_restart or not folder.is_begun()
    if is_new and not plan.options.passes_unknown_settings:  # a run that goes on keeps what it began with
        check_typed_settings(plan.options.generation, plan.model, model_name(plan))
    # Whether a judge is missing shows when tasks are opened, and then the model must not have been asked for anything.
    is_asked_last = may_miss_judge(plan)
    if not is_asked_last:
        check_endpoints(plan, folder, progress, request.meanwhile)
    progress.stage(f"opening {count(len(plan.selection.tasks), 'task')}")
    compile_tasks(plan, cache_folder(plan.options), is_begun=not is_new)
    if is_asked_last:
        check_endpoints(plan, folder, progress, request.meanwhile)
        check_learned(plan)
    with placed(plan):
        return run_plan(plan, folder, progress, command=request.command, began=request.began)


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


def _remove_if_empty(folder: RunFolder, *, with_parent: bool) -> None:
    """Remove the folder that was made for a run that did not begin. Anything in it keeps it."""
    with suppress(OSError):  # ``rmdir`` removes nothing that holds something
        folder.path.rmdir()
        if with_parent:
            folder.path.parent.rmdir()


def refuse_changes(plan: Plan, folder: RunFolder) -> None:
    """Refuse what ``--strict-resume`` refuses, before anything is asked.

    Raises:
        PlanError: The run in the folder would go on otherwise than it began.
    """
    if plan.options.is_strict_resume and folder.is_begun():
        manifest = folder.read_manifest()
        parts.check_unchanged(manifest, plan, sorted(manifests.changed_tasks(manifest, plan)), folder)


def run_plan(
    plan: Plan,
    folder: RunFolder,
    progress: Progress,
    *,
    command: str = "",
    kind: str = "run",
    began: Callable[[RunFolder], None] | None = None,
) -> RunOutcome:
    """Run a plan whose tasks are open, as the only writer of its folder.

    Args:
        plan: The plan.
        folder: Where.
        progress: Told how far the run is.
        command: What the user typed, for the record.
        kind: What the part of the run that begins is: ``run`` or ``score``; a run that goes on is a ``resume``.
        began: Called with the run folder once the run has begun there.

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
        for note in (*plan.warnings, *plan.skipped.values(), *place_note):
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
                return Execution(plan, folder, manifest, changed, progress).execute()
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


def _note_end(folder: RunFolder, manifest: dict[str, Any], status: Status, reason: str = "") -> None:
    if folder.is_begun():
        end = {"status": status, "ended": parts.now()}
        manifest["sessions"][-1] |= {**end, **({"reason": reason} if reason else {})}
        folder.write_manifest({**manifest, **end})


def resumable(error: StorageError, folder: RunFolder) -> StorageError:
    """The error that ended a run, with how to go on if what was written before is still there."""
    hint = error.hint
    if folder.is_begun() and folder.journal.exists() and "--restart" not in hint:
        command = f"polymeter resume {shlex.quote(str(folder.path))}"
        hint = f"{hint} Then continue with: {command} (all answers so far are kept)"
    return type(error)(error.what, where=error.where, hint=hint)


def resume_request(
    path: Path,
    changes: Mapping[str, Any] | None = None,
    command: str = "",
    models: Mapping[str, Model] | None = None,
    model_args: Mapping[str, Any] | None = None,
) -> RunRequest:
    """The request that continues a run.

    Args:
        path: The run folder.
        changes: Options that cannot change a number, in place of those that the run was started with. That code which a
            model wrote may run is not taken over from the run: whoever goes on with it says so again.
        command: What the user typed; default: the command that started the run.
        models: The models of roles (``model`` is the run's own) that cannot be made from the manifest.
        model_args: Arguments of the run's own model, in place of those that it was made with.

    Raises:
        PlanError: There is no run, it was imported, or its model was given as a Python object that is not among
            ``models``.
    """
    folder = open_folder(path)
    manifest = folder.read_manifest(is_whole=True)
    refuse_imported(manifest, path)
    given = dict(models or {})
    roles = {role: given.get(role) or _spec_of(entry, path) for role, entry in manifest["roles"].items()}
    options = manifests.options_of(manifest, path)
    # What was installed since then may have tasks of the same names.
    prefer = (*options.prefer, *manifests.origins_of(manifest))
    again = {"prefer": prefer, "allow_generated_code": False, **(changes or {})}
    model = given.get("model") or _spec_of(manifest["model"], path)
    if model_args and isinstance(model, ModelSpec):
        model = replace(model, args={**model.args, **model_args})
    return RunRequest(
        model,
        tuple(manifest["patterns"]),
        options.model_copy(update=again),
        roles,
        command or manifest["command"],
        is_resume=True,
        pinned={task["name"]: task.get("dataset_revisions") or {} for task in manifest["tasks"]},
    )


def make_plan(request: RunRequest) -> Plan:
    """Names to specs, and the models made (not loaded)."""
    options = request.options
    if not request.is_resume:
        require_generation(options.generation)
    specs = [which for which in (request.model, *request.roles.values()) if isinstance(which, ModelSpec)]
    remember(*(dict(spec.args) for spec in specs), options.generation, options.data, options.weights)
    named = [Path(name) for name in request.patterns if name.endswith(file_endings())]
    files = [named_place(path) for path in named if path.is_file()]
    options = options.model_copy(update={"include_paths": (*options.include_paths, *files)})
    catalog = build_catalog(options.include_paths, cache_folder(options), parity_with(options.parity))
    catalog.preferred = options.prefer
    selection = select(request.patterns, catalog)
    model, spec = _make(request.model, options)
    is_for_model = options.replicas is not None or (
        options.gpus_per_replica is not None and options.judge_replicas is None
    )
    if isinstance(model, AsyncModel) and is_for_model:
        if options.executor == "ray":
            what = "An endpoint, also one that is started for the run, is asked from this machine and not through Ray."
            raise PlanError(what, where="--executor", hint="Leave --executor out; --replicas N starts several servers.")
        model.plan_replicas(options.replicas or 1, options.gpus_per_replica)
    made = {role: _role(which, options, model, spec) for role, which in request.roles.items()}
    if options.judge_replicas is not None:
        _plan_judges([judge for judge, _ in made.values() if judge is not model], options)
    return Plan(
        model,
        spec,
        request.patterns,
        selection,
        options,
        {role: pair[0] for role, pair in made.items()},
        {role: pair[1] for role, pair in made.items()},
        notes=(*selection.notes, *_model_notes([spec, *(pair[1] for pair in made.values())])),
        typed_data=request.typed_data,
        pinned=request.pinned,
    )


def _plan_judges(judges: Sequence[Model], options: RunOptions) -> None:
    """Note how many servers of judges are to be started. Those that compute here are planned when tasks are open.

    Raises:
        PlanError: if no judge can have replicas.
    """
    started = [judge for judge in judges if isinstance(judge, AsyncModel) and not judge.instances]
    for judge in started:
        try:
            judge.plan_replicas(options.judge_replicas or 1, options.gpus_per_replica)
        except PlanError as error:
            raise PlanError(error.what, where="--judge-replicas", hint=error.hint) from None
    if not started and not any(map(computes_here, judges)):
        raise PlanError(
            "The run has no judge on this machine that could have replicas.",
            where="--judge-replicas",
            hint="Name one with --judge: hf:…, or vllm:… for servers. A judge that is the measured model uses its "
            "replicas.",
        )


def _folder(plan: Plan) -> RunFolder:
    """The run's folder; a run that is there already knows where its journal is."""
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


def _model_notes(specs: Iterable[ModelSpec | None]) -> list[str]:
    return [
        f"Your model {spec.backend!r} ({MODELS.find(spec.backend).place}) is used in place of the built-in one."
        for spec in specs
        if spec is not None and MODELS.shadowed(spec.backend)
    ]


def _make(which: ModelSpec | Model, options: RunOptions) -> tuple[Model, ModelSpec | None]:
    model = make_model(which, options.weights) if isinstance(which, ModelSpec) else check_model(which)
    spec = which if isinstance(which, ModelSpec) else model.made_from
    model.parity = parity_with(options.parity)
    model.reasoning_tags = parse_tags(options.reasoning_tags, "--reasoning-tags")
    if isinstance(model, BatchModel) and isinstance(options.batch_size, int):
        model.planned_batch_size = options.batch_size
    return model, spec


def _role(
    which: ModelSpec | Model, options: RunOptions, model: Model, spec: ModelSpec | None
) -> tuple[Model, ModelSpec | None]:
    """The model of a role. One that is loaded or started here is not there twice, if it is also the measured one."""
    is_held_here = not isinstance(model, AsyncModel) or not model.instances
    return (model, spec) if is_held_here and which == spec else _make(which, options)


def _if_finished(plan: Plan, folder: RunFolder, progress: Progress) -> RunOutcome | None:
    manifest = folder.read_manifest()
    if manifest["status"] != "complete" or manifest.get("n_failed", 1) or manifests.is_changed_unopened(manifest, plan):
        return None
    if manifest["identity"] != manifests.identity_of(plan) or not folder.results.exists():
        return None
    results = folder.read_results()
    if results.get("status") != "complete":  # of a reader that was looking at the run while it ended
        return None
    if not parts.is_by_this_code(manifest):
        progress.note(
            "This run was finished by another version of Polymeter, and its results are left as they are. "
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
        manifest, changed, damage = manifests.new_manifest(plan, folder, command), [], ""
    else:
        before = folder.read_manifest(is_whole=True)
        manifests.check_same_run(before, plan, folder)
        # A part that was killed at its very beginning had no journal yet.
        had_journal = any(session.get("ended") for session in before.get("sessions") or ())
        if had_journal and not folder.journal.exists():
            raise PlanError(
                "The journal of this run is gone, and with it all of its answers.",
                where=str(folder.journal),
                hint="Restore it from a copy, or --restart to ask everything again.",
            )
        damage = _mended(folder, progress)
        kind = "resume" if kind == "run" else kind
        for sentence in (*parts.moved(before, plan), parts.reads_anew(_with_this(before))):
            if sentence:
                progress.note(sentence)
        changed = sorted(manifests.changed_tasks(before, plan))
        for name in changed:
            progress.note(
                f"Task {name!r} changed since this run began: its samples are played again; "
                "answers that still fit are used."
            )
        manifest = manifests.continued(before, plan)
    # Before the manifest, by which a folder is a run: one that ends in between has no journal without tables, which a
    # reader would have to take for a damaged one.
    upgrade(folder.journal)
    part = parts.new_part(plan, manifests.software_of(manifest), command, kind)
    manifest["sessions"] = [*parts.earlier(manifest), part | ({"damage": damage} if damage else {})]
    folder.write_manifest(manifest)
    return manifest, changed


def _with_this(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with the part that begins."""
    return {**manifest, "sessions": [*(manifest.get("sessions") or ()), {"rules": parts.rules()}]}


def _mended(folder: RunFolder, progress: Progress) -> str:
    """What was wrong with the journal, which is in order afterwards; empty if nothing was."""
    if not folder.journal.exists():
        return ""
    upgrade(folder.journal)
    damage = find_damage(folder.journal)
    if not damage:
        return ""
    mend(folder.journal)
    progress.note(
        f"The journal is damaged: {damage.describe()}. Every sample is run again over the answers that are intact; "
        "only what is missing is asked for."
    )
    return damage.describe()


def _throw_away(folder: RunFolder) -> None:
    # The manifest goes last: as long as it is there, whatever is left is known to be of the old run.
    for suffix in ("-wal", "-shm", ""):
        folder.journal.with_name(folder.journal.name + suffix).unlink(missing_ok=True)
    for path in (folder.media, folder.samples, folder.artifacts, folder.logs):
        shutil.rmtree(path, ignore_errors=True)
    for path in (folder.results, folder.report, folder.manifest):
        path.unlink(missing_ok=True)


def _spec_of(entry: Mapping[str, Any], path: Path) -> ModelSpec:
    spec = entry["spec"]
    if spec is None:
        raise PlanError(
            "This run's model was a Python object, which cannot be made again from here.",
            where=str(path),
            hint="Give the same object again: polymeter.resume(path, model=…), or evaluate with the same output.",
        )
    hidden = [name for name, value in spec["args"].items() if HIDDEN in str(value)]
    if hidden:
        raise PlanError(
            f"The model's argument {hidden[0]!r} is a secret and was not stored.",
            where=str(path),
            hint="Give the original command with the same --output; it goes on where it stopped.",
        )
    return ModelSpec(spec["backend"], spec["name"], spec["args"], spec["path"])


__all__ = [
    "RunOutcome",
    "RunRequest",
    "Status",
    "make_plan",
    "parse_model",
    "resumable",
    "resume_request",
    "run",
    "run_plan",
]
