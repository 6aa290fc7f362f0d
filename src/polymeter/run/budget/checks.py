"""Checks of a plan with caps: every price is known, every request has a bound, and no cap is spent already."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.records.rates import Rates, at_tier
from polymeter.guests.door import random_state_kept
from polymeter.prices import PricedModel
from polymeter.run.budget.amounts import PER_DOLLAR
from polymeter.run.budget.budget import Budget
from polymeter.run.budget.caps import Caps
from polymeter.run.budget.earlier import spent_before
from polymeter.run.budget.worst_case import Tariff
from polymeter.run.finish.part_rates import n_gpus, priced_models
from polymeter.run.plan.lint import first_requests
from polymeter.run.plan.plan import Plan, cache_folder, model_name, role_names, selected_samples
from polymeter.run.plan.stored import StoredAnswers
from polymeter.run.schedule.running_samples import MODEL_ROLE
from polymeter.store.folder import RunFolder

_HOUR_S = 3600
_CURRENCY = "USD"


def planned_budget(plan: Plan, folder: RunFolder) -> Budget | None:
    """The budget of a plan, whose tasks need not be open; ``None`` if it has no cap.

    Raises:
        PlanError: if a price is unknown, the calls of a wrapper cannot be counted, or a cap is spent already.
    """
    caps = Caps.of(plan.options)
    if caps is None:
        return None
    names = {MODEL_ROLE: model_name(plan), **role_names(plan)}
    models = {MODEL_ROLE: plan.model, **plan.roles}
    asked = {role: model for role, model in models.items() if not isinstance(model, StoredAnswers)}
    priced = priced_models(plan)
    tariffs = {
        role: Tariff.of(
            model,
            names[role],
            caps,
            _tiers(role, priced[role], names[role], plan, is_wrapped=model.traits.is_foreign),
        )
        for role, model in asked.items()
    }
    is_used = any(priced[role].is_local and not tariff.tiers for role, tariff in tariffs.items())
    gpu_hour = plan.prices.gpu_hour if is_used and caps.cost is not None else None
    rate = (gpu_hour or 0.0) * n_gpus(plan) * PER_DOLLAR / _HOUR_S
    before = spent_before(folder, caps, tariffs, rate, is_restart=plan.options.is_restart)
    budget = Budget(caps, tariffs, rate, before)
    budget.refuse_spent(folder)
    plan.add_findings(_findings(caps, tariffs))
    return budget


def check_bounds(plan: Plan) -> None:
    """Check that the first request of every open task has a bound, if the plan has caps on tokens or money. Runs the
    tasks' code.

    Raises:
        PlanError: if one has none.
    """
    budget = plan.budget
    if budget is None or MODEL_ROLE not in budget.tariffs:
        return
    tariff, options = budget.tariffs[MODEL_ROLE], plan.options
    surroundings = {
        "parity": plan.parity,
        "reasoning_tags": plan.model.reasoning_tags,
        "data": options.data,
        "cache_dir": cache_folder(options),
        "allows_generated_code": options.allow_generated_code,
    }
    with random_state_kept(), guest_context_with(**surroundings):
        for task in plan.opened:
            try:
                requests = first_requests(task, task.samples[selected_samples(task, options).start], options.seed)
            except PlanError:
                raise
            except PolymeterError:  # a sample of its own that fails; the run reports it
                continue
            tariff.worst_of(requests)


def _tiers(role: str, priced: PricedModel, name: str, plan: Plan, *, is_wrapped: bool) -> Mapping[str, Rates]:
    """The prices of a model's requests by service tier; empty if only this machine's time costs, or no money counts."""
    if plan.options.max_cost is None:
        return {}
    tiers = plan.prices.tiers(priced, datetime.now(timezone.utc).date())
    whose = "the model" if role == MODEL_ROLE else f"the {role}"
    if rates := at_tier(tiers, ""):
        if rates.currency != _CURRENCY:
            raise PlanError(
                f"The prices of {name} ({whose}) are in {rates.currency}, and --max-cost is in US dollars.",
                where=rates.source,
            )
        return tiers
    if not priced.is_local:
        raise PlanError(
            f"The price of {name} ({whose}) is unknown, so --max-cost cannot hold.",
            where="--max-cost",
            hint=plan.prices.hint(priced),
        )
    if plan.prices.gpu_hour is None:
        wrapped = "what it sends to an endpoint itself cannot be counted, and " if is_wrapped else ""
        raise PlanError(
            f"{name} ({whose}) computes on this machine: {wrapped}the price of its time is unknown, so --max-cost "
            "cannot hold.",
            where="--max-cost",
            hint="Give the price of a GPU for an hour in US dollars: --gpu-price 2.50, or 0 if it is free.",
        )
    return {}


def _findings(caps: Caps, tariffs: Mapping[str, Tariff]) -> list[LintFinding]:
    """The notes on what caps cannot see."""
    wrapped = [tariff.name for tariff in tariffs.values() if tariff.model.traits.is_foreign]
    if not wrapped or not caps.counts_requests:
        return []
    text = (
        f"{wrapped[0]} is a wrapper: requests that it sends to an endpoint itself count in no cap, and answers without "
        "a number of tokens count as the most that they can have."
    )
    return [LintFinding("caps", text, severity="note")]
