"""Scoring of a run again. Its answers are copied into a new run folder, and the run resumes there. No model is asked
but a named judge.

A rescored run is a run like any other, but the answers of the journal replace its model. A named judge is asked only
for verdicts that the journal does not hold. Without a judge, the verdicts of the run's own judge count, and no model is
asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import weights_from
from polymeter.core.identity import fingerprint
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.model import BatchModel, Model, ModelSpec, ModelTraits
from polymeter.core.options import RunOptions
from polymeter.core.records.progress import Progress
from polymeter.core.text.secrets import HIDDEN
from polymeter.guests.door import random_state_kept
from polymeter.guests.generators import dispatched
from polymeter.guests.held import put_back_after_run
from polymeter.judge.panel import seats_of
from polymeter.run.budget.checks import planned_budget
from polymeter.run.execution import RunOutcome
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish import sessions
from polymeter.run.plan.making import make_plan
from polymeter.run.plan.models import make_model
from polymeter.run.plan.plan import Plan, cache_folder, compile_tasks, skip
from polymeter.run.plan.preflight import check_endpoints
from polymeter.run.plan.request import RunRequest
from polymeter.run.plan.stored import StoredAnswers, traits_from
from polymeter.run.reuse.opening import open_reuse
from polymeter.run.schedule.panel import panel_of
from polymeter.run.session import placed, refuse_changes, run_plan
from polymeter.store.exports.copying import take_answers
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.reading.usage import model_names

ANSWERS_ONLY = "predict_only"
"""The setting with which a run of any format keeps its answers and scores nothing."""


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A run to score again.

    Attributes:
        run: Its folder.
        output: The folder of the new run; a folder that an earlier scoring of the same run began is resumed.
        options: The run's options, changed where the new one differs.
        roles: Models that replace those of the run in these roles.
        command: The user's command line, for the record.
        check_plan: As of a ``RunRequest``.
        began: As of a ``RunRequest``.
        notes: Notes on the request for the reader of the results.
    """

    run: Path
    output: Path
    options: RunOptions
    roles: Mapping[str, ModelSpec | Model] = field(default_factory=dict)
    command: str = ""
    check_plan: Callable[[Plan], None] | None = None
    began: Callable[[RunFolder], None] | None = None
    notes: tuple[str, ...] = ()


def stored_options(run: Path) -> RunOptions:
    """The options that a run was started with, without the runs whose answers it reused: its own journal holds them.

    Raises:
        PlanError: There is no run.
    """
    options = manifests.options_of(open_folder(run).read_manifest(is_whole=True), run)
    return options.model_copy(update={"reuse": (), "reuse_days": None})


def score_again(request: ScoreRequest, progress: Progress) -> RunOutcome:
    """Score a run again.

    Raises:
        PlanError: There is no run, the output is the run itself or another run, or the tasks cannot be bound again.
        DataError: A dataset cannot be opened.
        PolymeterError: The journal cannot be written.
    """
    options = request.options
    with (
        put_back_after_run(),
        dispatched(),
        random_state_kept(),
        weights_from(options.weights),
        pixel_budget(options.max_image_pixels),
    ):
        return _score_again(request, progress)


def _score_again(request: ScoreRequest, progress: Progress) -> RunOutcome:
    progress.stage("planning")
    source = open_folder(request.run)
    target = RunFolder(request.output, source.journal_dir)
    _check_target(source, target)
    manifest = source.read_manifest()
    plan = plan_over_answers(manifest, request)
    if request.check_plan is not None:
        request.check_plan(plan)
    panel_of(plan)
    refuse_changes(plan, target)
    if target.is_begun():
        manifests.keep_stops(target.read_manifest(), plan)
    plan.budget = planned_budget(plan, target)
    open_reuse(plan, target.path, progress)
    check_endpoints(plan, target, progress)
    progress.stage("opening tasks")
    compile_tasks(plan, cache_folder(plan.options), is_begun=not _kept_answers_only(source))
    plan.notes = (*plan.notes, f"Scored again from the answers of {source.path.resolve().name}.", *request.notes)
    _check_same_scoring(target, plan)
    with placed(plan):
        return _run_taken_over(plan, source, target, manifest, request, progress)


def _run_taken_over(
    plan: Plan,
    source: RunFolder,
    target: RunFolder,
    manifest: Mapping[str, Any],
    request: ScoreRequest,
    progress: Progress,
) -> RunOutcome:
    """Copy the answers of a run, and resume from them."""
    lock = target.lock()
    try:
        progress.stage("copying answers")
        take_answers(source, target)
        if not target.is_begun():
            target.write_manifest(_manifest(manifest, plan, source, request.command))
    finally:
        lock.release()
    return run_plan(plan, target, progress, command=request.command, kind="score", began=request.began)


def _kept_answers_only(source: RunFolder) -> bool:
    """Return whether a run scored nothing on purpose. Then the user names a judge or metric to score it."""
    options = manifests.options_of(source.read_manifest(is_whole=True), source.path)
    return any(told.get(ANSWERS_ONLY) for told in options.dialect_options.values())


def _check_target(source: RunFolder, target: RunFolder) -> None:
    if source.path.resolve() == target.path.resolve():
        raise PlanError(
            "A run is scored again into a folder of its own.", where="--output", hint="Choose another --output."
        )
    begun_from = target.read_manifest().get("scored_from") if target.is_begun() else None
    if target.is_begun() and (begun_from or {}).get("run") != str(source.path.resolve()):
        raise PlanError("The output folder holds another run.", where=str(target.path), hint="Choose another --output.")


def _check_same_scoring(target: RunFolder, plan: Plan) -> None:
    if target.is_begun() and target.read_manifest()["identity"] != manifests.identity_of(plan):
        raise PlanError(
            "The output folder holds another scoring of this run: its judge or its settings differ.",
            where=str(target.path),
            hint="Choose another --output.",
        )


def plan_over_answers(manifest: Mapping[str, Any], request: ScoreRequest) -> Plan:
    """Return the plan of a run in which its stored answers replace its models, except for roles that the request names.

    Raises:
        PlanError: A task of the run no longer exists, or the identity of a model was not stored.
    """
    _check_named_without_secrets(manifest)
    roles: dict[str, ModelSpec | Model] = {
        role: _stand_in(role, entry, ModelTraits(family="judge")) for role, entry in manifest["roles"].items()
    }
    if seats_of(request.roles):  # a named judge replaces the whole panel
        roles = {role: model for role, model in roles.items() if role not in seats_of(roles)}
    entry = manifest["model"]
    is_described = entry.get("traits") is not None
    model = (
        _stand_in(entry["name"], entry, traits_from(entry["traits"]))
        if is_described
        else _model_with_prompts(entry, request)
    )
    whole = RunRequest(
        model, tuple(manifest["patterns"]), request.options, {**roles, **request.roles}, request.command, is_resume=True
    )
    plan = make_plan(whole)
    skip(plan, manifest.get("skipped") or {})
    plan.model_spec = _spec(manifest["model"])
    for role in roles.keys() - request.roles.keys():
        plan.role_specs = {**plan.role_specs, role: _spec(manifest["roles"][role])}
    return plan


def _check_named_without_secrets(manifest: Mapping[str, Any]) -> None:
    """Refuse a run of a version that made secrets part of a model's identity, as a digest."""
    for name, entry in (("model", manifest["model"]), *manifest["roles"].items()):
        if HIDDEN in str(entry["identity"]) and "'digest:" in str(manifest["identity"]):
            raise PlanError(
                f"The identity of {name!r} holds a secret and was not stored, so its answers cannot be matched to it.",
                hint="Run the original command again on a new --output.",
            )


def _stand_in(name: str, entry: Mapping[str, Any], traits: ModelTraits) -> StoredAnswers:
    return StoredAnswers(name, entry["identity"], traits)


def _model_with_prompts(entry: Mapping[str, Any], request: ScoreRequest) -> StoredAnswers:
    """Return the stand-in for the model of a run whose manifest describes no traits. It was begun by a version that
    kept no prompts of models' own, so that model is made again for them.
    """
    spec = _spec(entry)
    if spec is None:
        raise PlanError(
            "This run's model was a Python object whose prompts cannot be made again from here.",
            where=str(request.run),
        )
    made = make_model(spec, request.options.weights)
    stored = _stand_in(entry["name"], entry, made.traits)
    return StoredAnswers(
        entry["name"], stored.identity, made.traits, lambda: made if isinstance(made, BatchModel) else stored
    )


def _spec(entry: Mapping[str, Any]) -> ModelSpec | None:
    spec = entry["spec"]
    return None if spec is None else ModelSpec(spec["backend"], spec["name"], spec["args"], spec["path"])


def _manifest(before: Mapping[str, Any], plan: Plan, source: RunFolder, command: str) -> dict[str, Any]:
    """Return the manifest of the new run, with the tasks as they were. Later changes are reported when it resumes."""
    made = manifests.new_manifest(plan, RunFolder(source.path, source.journal_dir), command)
    names = model_names(before)  # what stands for a judge does not know its name
    return {
        **made,
        "model": before["model"],
        "roles": {
            role: {**entry, "name": names.get(role, {}).get(entry["fingerprint"], entry["name"])}
            for role, entry in made["roles"].items()
        },
        "tasks": before["tasks"],
        "rules": {**made["rules"], "media": sessions.rules_of(before)["media"]},
        "scored_from": {
            "run": str(source.path.resolve()),
            "status": before["status"],
            "sessions": [*(before.get("scored_from") or {}).get("sessions", ()), *before["sessions"]],
            "roles": {role: fingerprint(entry["identity"]) for role, entry in before["roles"].items()},
            "models": names,
        },
    }
