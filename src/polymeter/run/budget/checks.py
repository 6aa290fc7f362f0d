"""Checks of a plan with caps: every price is known, every request has a bound, and no cap is spent already."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.machine.gpus import visible_gpus
from polymeter.core.model import BatchModel, Model
from polymeter.core.options import RunOptions
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.records.rates import Rates
from polymeter.guests.door import random_state_kept
from polymeter.prices import PriceBook, priced_model
from polymeter.run.budget.amounts import PER_DOLLAR
from polymeter.run.budget.budget import Budget
from polymeter.run.budget.caps import Caps
from polymeter.run.budget.earlier import spent_before
from polymeter.run.budget.worst_case import Tariff
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
    tariffs = {
        role: Tariff.of(model, names[role], caps, _rates(role, model, names[role], plan.prices, plan.options))
        for role, model in asked.items()
    }
    rate = _machine_rate(asked, tariffs, plan.options)
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
    if budget is None or not budget.caps.counts_requests or MODEL_ROLE not in budget.tariffs:
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


def _rates(role: str, model: Model, name: str, book: PriceBook, options: RunOptions) -> Rates | None:
    """The prices of a model's requests; ``None`` if only this machine's time counts, or no money does."""
    if options.max_cost is None:
        return None
    priced = priced_model(model)
    rates = book.rates_for(priced, datetime.now(timezone.utc).date())
    if rates is not None:
        if rates.currency != _CURRENCY:
            raise PlanError(
                f"The prices of {name} are in {rates.currency}, and --max-cost is in US dollars.", where=rates.source
            )
        return rates
    whose = "the model" if role == MODEL_ROLE else f"the {role}"
    if not _computes_here(model):
        raise PlanError(
            f"The price of {name} ({whose}) is unknown, so --max-cost cannot hold.",
            where="--max-cost",
            hint=f"Give it in US dollars for a million tokens, --price {priced.name or name}=IN/OUT, or in a file of "
            "--prices.",
        )
    if _gpu_price(options) is None:
        wrapped = "what it sends to an endpoint itself cannot be counted, and " if model.traits.is_foreign else ""
        raise PlanError(
            f"{name} ({whose}) computes on this machine: {wrapped}the price of its time is unknown, so --max-cost "
            "cannot hold.",
            where="--max-cost",
            hint="Give the price of a GPU for an hour in US dollars: --gpu-price 2.50, or 0 if it is free.",
        )
    return None


def _computes_here(model: Model) -> bool:
    """Return whether a model computes on this machine, or its servers do."""
    if isinstance(model, BatchModel):
        return not (model.traits.is_endpoint and model.traits.is_foreign)
    return not model.instances or not model.traits.is_endpoint


def _gpu_price(options: RunOptions) -> float | None:
    price: float | None = getattr(options, "gpu_price", None)
    return price


def _machine_rate(asked: Mapping[str, Model], tariffs: Mapping[str, Tariff], options: RunOptions) -> float:
    """Picodollars of one second on this machine, as far as models compute here."""
    price = _gpu_price(options)
    is_used = any(_computes_here(model) and tariffs[role].rates is None for role, model in asked.items())
    if price is None or options.max_cost is None or not is_used:
        return 0.0
    return price * max(1, len(visible_gpus())) * PER_DOLLAR / _HOUR_S


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
