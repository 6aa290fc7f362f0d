"""One evaluation, start to end: plan, check, open, run. Each stage has its own room; this is the order."""

from __future__ import annotations

from polymeter.core.errors import count
from polymeter.core.guest_context import weights_from
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.records.progress import Progress
from polymeter.guests.door import random_state_kept
from polymeter.guests.generators import dispatched
from polymeter.guests.held import put_back_after_run
from polymeter.run.ablation.checking import check_ablated
from polymeter.run.budget.checks import check_bounds, planned_budget
from polymeter.run.execution import RunOutcome
from polymeter.run.finish import manifest as manifests
from polymeter.run.plan.generation_settings import check_typed_settings
from polymeter.run.plan.lint import lint, refuse_warnings
from polymeter.run.plan.making import make_plan
from polymeter.run.plan.missing_packages import check_packages
from polymeter.run.plan.plan import Plan, cache_folder, check_learned, compile_tasks, model_name, skip
from polymeter.run.plan.preflight import check_endpoints, may_miss_judge
from polymeter.run.plan.request import RunRequest
from polymeter.run.reuse.opening import open_reuse
from polymeter.run.schedule.panel import panel_of
from polymeter.run.session import folder_of, placed, refuse_changes, remove_if_empty, result_if_finished, run_plan
from polymeter.store.folder import RUNS, RunFolder


def run(request: RunRequest, progress: Progress) -> RunOutcome:
    """Run an evaluation, or resume one.

    Raises:
        PlanError: if it cannot run as requested; nothing was spent.
        DataError: if a dataset cannot be opened; nothing was spent.
        PolymeterError: if the journal cannot be written, or the model cannot be loaded.
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
    for guess in plan.selection.guesses:
        progress.note(guess)
    if request.check_plan is not None:
        request.check_plan(plan)
    panel_of(plan)  # refused before anything is opened
    was_there = RUNS.exists()
    folder = folder_of(plan)
    try:
        return _run_in(folder, plan, request, progress)
    finally:
        if plan.options.output is None:
            if plan.budget is not None:
                plan.budget.forget(folder)
            remove_if_empty(folder, with_parent=not was_there)


def _run_in(folder: RunFolder, plan: Plan, request: RunRequest, progress: Progress) -> RunOutcome:
    if plan.options.skip_unfit and folder.is_begun() and not plan.options.is_restart:
        skip(plan, folder.read_manifest().get("skipped") or {})
    if request.is_resume:
        finished = result_if_finished(plan, folder, progress)
        if finished is not None:
            return finished
    if folder.is_begun() and not plan.options.is_restart:
        manifests.keep_stops(folder.read_manifest(), plan)
    check_packages(plan)
    manifests.identity_of(plan)  # a broken identity is reported before anything is spent
    if not plan.options.is_restart:
        refuse_changes(plan, folder)
    plan.budget = planned_budget(plan, folder)
    is_new = plan.options.is_restart or not folder.is_begun()
    if is_new and not plan.options.passes_unknown_settings:  # a resumed run keeps its original settings
        check_typed_settings(plan.options.generation, plan.model, model_name(plan))
    open_reuse(plan, folder.path, progress)
    # Whether a judge is missing shows when tasks are opened, and then the model must not have been asked for anything.
    # With caps nothing is sent either before every request is known to have a bound.
    is_asked_last = may_miss_judge(plan) or plan.budget is not None
    if not is_asked_last:
        check_endpoints(plan, folder, progress, request.meanwhile)
    progress.stage(f"opening {count(len(plan.selection.tasks), 'task')}")
    compile_tasks(plan, cache_folder(plan.options), is_begun=not is_new)
    check_bounds(plan)
    if is_asked_last:
        check_endpoints(plan, folder, progress, request.meanwhile)
        check_learned(plan)
    if request.check_opened is not None:
        request.check_opened(plan)
    check_ablated(plan)
    lint(plan)
    refuse_warnings(plan)
    with placed(plan):
        return run_plan(
            plan,
            folder,
            progress,
            command=request.command,
            began=request.began,
            after_pilot=request.after_pilot,
        )
