"""The rates by which the answers of a part of a run are charged, for the record of the part."""

from __future__ import annotations

from datetime import date
from typing import Any

from polymeter.core.machine.gpus import visible_gpus
from polymeter.core.records.rates import RATES
from polymeter.core.records.usage import MACHINE, MODEL_ROLE
from polymeter.prices import PricedModel, priced_model
from polymeter.run.finish.manifest import model_fingerprints
from polymeter.run.plan.plan import Plan, model_name, role_names
from polymeter.run.plan.stored import StoredAnswers


def priced_models(plan: Plan) -> dict[str, PricedModel]:
    """Describe the models of a plan for look-ups of their prices, by role, the measured model first."""
    found = {MODEL_ROLE: priced_model(plan.model, plan.model_spec)}
    return found | {role: priced_model(model, plan.role_specs.get(role)) for role, model in plan.roles.items()}


def part_rates(plan: Plan, at: date) -> dict[str, Any]:
    """Return the rates of the models of a part that begins, and the price of the machine; without those that are
    unknown.

    Args:
        plan: The plan.
        at: The date on which the part begins.

    Raises:
        PlanError: if two price files have a model.
    """
    models, fingerprints = priced_models(plan), model_fingerprints(plan)
    names = {MODEL_ROLE: model_name(plan), **role_names(plan)}
    tiers = {role: plan.prices.tiers(model, at) for role, model in models.items()}
    rates = {
        role: {
            "name": names[role],
            "fingerprint": fingerprints[role],
            "tiers": {tier: one.document() for tier, one in found.items()},
        }
        for role, found in tiers.items()
        if found
    }
    made = {MODEL_ROLE: plan.model, **plan.roles}
    computed = [
        role
        for role, model in models.items()
        if model.is_local and not tiers[role] and not isinstance(made[role], StoredAnswers)
    ]
    machine = {}
    if computed and plan.prices.gpu_hour is not None:
        machine = {MACHINE: {"gpu_hour": plan.prices.gpu_hour, "gpus": n_gpus(plan), "roles": computed}}
    return {**({RATES: rates} if rates else {}), **machine}


def n_gpus(plan: Plan) -> float:
    """Return the number of GPUs that a run occupies: those that its process sees, or those of its replicas on a
    cluster. A machine without GPUs counts as one.
    """
    options = plan.options
    if options.executor == "ray":
        n = sum(one for one in (options.replicas, options.judge_replicas) if isinstance(one, int))
        return max(n, 1) * (options.gpus_per_replica or 1)
    return max(len(visible_gpus()), 1)
