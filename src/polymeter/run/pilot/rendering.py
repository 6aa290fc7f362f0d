"""The first requests of a run's samples, made and not sent: their sizes are known before anything is paid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from polymeter.core.errors import PolymeterError
from polymeter.core.guest_context import guest_context_with, weights_from
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.records.progress import Progress
from polymeter.core.request import Request
from polymeter.core.task import Task
from polymeter.guests.door import random_state_kept
from polymeter.guests.generators import dispatched
from polymeter.guests.held import put_back_after_run
from polymeter.run.finish import manifest as manifests
from polymeter.run.plan.generation_settings import check_typed_settings
from polymeter.run.plan.lint import first_groups, has_own_state, surroundings_of
from polymeter.run.plan.making import make_plan
from polymeter.run.plan.missing_packages import check_packages
from polymeter.run.plan.plan import Plan, cache_folder, compile_tasks, model_name, selected_samples
from polymeter.run.plan.request import RunRequest
from polymeter.run.schedule.panel import panel_of
from polymeter.run.schedule.running_samples import message_under_rules


@dataclass(frozen=True, slots=True)
class FirstRequests:
    """The first requests of one sample.

    Attributes:
        index: The position of the sample in its task.
        requests: The requests, repeats among them, with the rules of task and run for showing media.
        why_unknown: Why they are unknown; empty if they are known. Without a reason and without requests, the sample
            asks nothing.
    """

    index: int
    requests: tuple[Request, ...] = ()
    why_unknown: str = ""


@contextmanager
def opened_plan(request: RunRequest, progress: Progress) -> Iterator[Plan]:
    """Plan a run and open its tasks inside this, without asking an endpoint and without a run folder.

    Raises:
        PlanError: if the run is impossible as requested.
        DataError: if a dataset cannot be opened.
    """
    options = request.options
    with (
        put_back_after_run(),
        dispatched(),
        random_state_kept(),
        weights_from(options.weights),
        pixel_budget(options.max_image_pixels),
    ):
        progress.stage("planning")
        plan = make_plan(request)
        if request.check_plan is not None:
            request.check_plan(plan)
        panel_of(plan)
        check_packages(plan)
        manifests.identity_of(plan)
        if not plan.options.passes_unknown_settings:
            check_typed_settings(plan.options.generation, plan.model, model_name(plan))
        progress.stage("opening tasks")
        compile_tasks(plan, cache_folder(plan.options))
        yield plan


def why_not_rendered(plan: Plan, task: Task, *, is_running: bool) -> str:
    """Return why the first requests of a task are not made apart from its run; empty if they are.

    Args:
        plan: The plan, its tasks open.
        task: One of its tasks.
        is_running: Whether the run continues in this process.
    """
    traits = plan.model.traits
    if traits.is_foreign:
        return "the wrapper of the model makes its prompts"
    if traits.has_own_prompts:
        return "the model makes its own prompts"
    if is_running and task.is_guest and has_own_state(task):  # a prompt made once more may change those that follow
        return "its code keeps state between prompts"
    return ""


def rendered(plan: Plan, task: Task) -> Iterator[FirstRequests]:
    """Make the first requests of all samples of a task that the run measures, one sample at a time. Runs the task's
    code with the seeds of the run, so that the prompts are those of the run.

    Args:
        plan: The plan, its tasks open.
        task: One of its tasks.
    """
    showing = task.showing
    with random_state_kept(), guest_context_with(**surroundings_of(plan)):
        for index in selected_samples(task, plan.options):
            try:
                groups = first_groups(task, task.samples[index], plan.options.seed)
                requests = tuple(request for group in groups for request in group)
                if showing:
                    requests = tuple(_under_rules(request, task) for request in requests)
            except PolymeterError as error:
                yield FirstRequests(index, why_unknown=error.what)
                continue
            yield FirstRequests(index, requests)


def _under_rules(request: Request, task: Task) -> Request:
    messages = tuple(message_under_rules(message, task.showing) for message in request.messages)
    return Request(messages, request.parameters, request.origin)
