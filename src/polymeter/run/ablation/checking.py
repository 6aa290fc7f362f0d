"""The refusal of ablations that the prompts of a task do not allow, by some of its first prompts and before any of them
is sent.

The rollout of a changed task raises an error for a sample that cannot be asked so. If all that are looked at raise one,
the task is refused; if some do, these samples fail.
"""

from __future__ import annotations

from polymeter.core.errors import PolymeterError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.request import Request
from polymeter.core.settings.ablations import ABLATIONS
from polymeter.core.task import Task
from polymeter.guests.door import random_state_kept
from polymeter.run.ablation.task import unfit
from polymeter.run.plan.lint import first_requests, spread, surroundings_of
from polymeter.run.plan.plan import Plan, selected_samples, skip

_LOOKED_AT = 8


def check_ablated(plan: Plan) -> None:
    """Check that the tasks of a plan can be asked as the ablation of its run says. Runs the tasks' code.

    Raises:
        UnfitError: if one cannot, or none if tasks may be left out.
    """
    if not plan.options.ablation:
        return
    ablation, reasons = ABLATIONS[plan.options.ablation], dict[str, str]()
    for task in plan.opened:
        with random_state_kept(), guest_context_with(**surroundings_of(plan)):
            why = _why_not(task, plan)
        if why:
            error = unfit(task, ablation, why)
            reasons[task.spec.name] = error.what
            if not plan.options.skip_unfit or len(reasons) == len(plan.opened):
                raise error
    skip(plan, reasons)


def _why_not(task: Task, plan: Plan) -> str:
    """Return why a task cannot be asked so, as the end of a sentence; empty if it can."""
    why = ""
    for index in spread(selected_samples(task, plan.options), _LOOKED_AT):
        try:
            requests = first_requests(task, task.samples[index], plan.options.seed)
        except PolymeterError as error:
            why = why or error.what[:1].lower() + error.what[1:].rstrip(".")
            continue
        return _why_led(requests, plan)
    return why


def _why_led(requests: tuple[Request, ...], plan: Plan) -> str:
    """Return why the prompts of later rounds stay unchanged: a wrapped model that leads them makes them itself."""
    traits = plan.model.traits
    protocols = {one.origin.protocol for one in requests if one.origin is not None}
    is_led = ("multi_round" in protocols and traits.drives_rounds) or (
        "visual_cot" in protocols and traits.drives_stages
    )
    return "the model makes the prompts of later rounds itself, and they cannot be changed" if is_led else ""
