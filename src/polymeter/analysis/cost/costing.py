"""The estimate of a run, from its plan: with the samples of its pilot, else with those of earlier runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from polymeter.analysis.cost.earlier import EarlierRun, earlier_runs, learned_text_rule, seen_earlier
from polymeter.analysis.cost.estimate import QUANTITIES, UNKNOWN, CostEstimate, Span
from polymeter.analysis.cost.estimating import EstimatedTask, Seen, estimate_task, whole_of
from polymeter.analysis.cost.observing import PriceOf, observed
from polymeter.analysis.cost.prompts import PromptSizes, measured_sizes, unknown_sizes
from polymeter.core.errors import PolymeterError, count
from polymeter.core.model import AsyncModel
from polymeter.core.records.progress import Progress
from polymeter.core.records.rates import Rates
from polymeter.core.records.usage import MODEL_ROLE, ModelUsage
from polymeter.core.task import Task
from polymeter.prices import PriceBook, priced_model
from polymeter.prices.tokens import TokenRule, token_rule
from polymeter.run.finish import manifest as manifests
from polymeter.run.pilot.drawing import EndedPilot
from polymeter.run.pilot.rendering import rendered, why_not_rendered
from polymeter.run.plan.plan import Plan, model_name, selected_samples
from polymeter.store.folder import RUNS
from polymeter.store.journal import Journal

_RETRIES = "Retries are not included."
_WIDE = 2.0


def estimate_run(
    plan: Plan, progress: Progress, *, pilot: EndedPilot | None = None, sources: Sequence[Path] | None = None
) -> CostEstimate:
    """Estimate what a run needs. Nothing is sent.

    Args:
        plan: Its plan, with open tasks.
        progress: Reports the task whose prompts are made.
        pilot: Its pilot; ``None``: there is none.
        sources: Folders of earlier runs; ``None``: those in ``./runs``.

    Raises:
        PlanError: if a folder of ``sources`` has no runs, or prices cannot be read.
    """
    rates = _rates(plan)
    runs = _runs(sources, None if pilot is None else pilot.folder.path)
    identity = manifests.identity_of(plan)["model"]
    text = replace(learned_text_rule(identity, runs), count=plan.model.text_tokens)
    rule = token_rule(plan.model, text)
    tasks = []
    for task in plan.opened:
        progress.stage(f"making the prompts of {task.spec.name}")
        sizes = _sizes(plan, task, rule, is_running=pilot is not None)
        seen = _seen(plan, task, runs, identity, rates, pilot)
        tasks.append(estimate_task(task.spec.name, sizes, seen, rates, _at_a_time(plan)))
    return _whole(plan, tasks, rates, pilot)


def over_cap(estimate: CostEstimate, cap: float | None) -> str:
    """Return the reason to stop a run after its pilot; empty if its cost may stay below the cap.

    Args:
        estimate: The estimate.
        cap: The most that the run may cost; ``None``: there is no cap.
    """
    cost = estimate.total["total_cost"]
    if cap is None or cost.low is None or cost.low <= cap:
        return ""
    high = "" if cost.high is None else f" to {cost.high:,.4g}"
    raised = f"polymeter resume {shlex.quote(estimate.folder)} --max-cost {cost.high or cost.low:.4g}"
    return (
        f"The whole run is estimated at {cost.low:,.4g}{high} {estimate.currency}, more than --max-cost {cap:g}. "
        f"Continue with a higher cap: {raised}"
    )


def _sizes(plan: Plan, task: Task, rule: TokenRule, *, is_running: bool) -> PromptSizes:
    selected = selected_samples(task, plan.options)
    why = why_not_rendered(plan, task, is_running=is_running)
    return (
        unknown_sizes(selected, why)
        if why
        else measured_sizes(selected, rendered(plan, task), rule, plan.model.token_limit)
    )


def _seen(
    plan: Plan,
    task: Task,
    runs: Sequence[EarlierRun],
    identity: object,
    rates: Mapping[str, Rates | None],
    pilot: EndedPilot | None,
) -> Seen | None:
    price_of = _price_of(rates)
    name = task.spec.name
    if pilot is None:
        return seen_earlier(name, task.fingerprint, identity, plan.options.repeats, [*plan.roles], runs, price_of)
    samples = observed(pilot.folder, name, price_of)
    with closing(Journal(pilot.folder.journal)) as journal:
        ended = frozenset(journal.indices(name))
    drawn = frozenset(pilot.drawn.get(name, ()))
    busy_s = sum(one.seconds for one in samples if one.index in drawn)
    n_drawn = sum(one.index in drawn for one in samples)
    return Seen(
        samples,
        f"Estimated from a pilot of {count(n_drawn, 'sample')}",
        drawn=drawn,
        is_paid=True,
        ended=ended,
        at_a_time=max(busy_s / pilot.seconds, 1.0) if pilot.seconds > 0 and busy_s else None,
    )


def _runs(sources: Sequence[Path] | None, own: Path | None) -> list[EarlierRun]:
    if sources is not None:
        return earlier_runs(sources, own)
    if not RUNS.is_dir():
        return []
    try:
        return earlier_runs([RUNS], own)
    except PolymeterError:  # nobody named it, and it may contain no run
        return []


def _rates(plan: Plan) -> dict[str, Rates | None]:
    """The prices of the model in each role."""
    book, today = PriceBook.of_options(plan.options), datetime.now(timezone.utc).date()
    models = {MODEL_ROLE: plan.model, **plan.roles}
    return {role: book.rates_for(priced_model(model), today) for role, model in models.items()}


def _price_of(rates: Mapping[str, Rates | None]) -> PriceOf:
    def price(role: str, usage: ModelUsage) -> float | None:
        own = rates.get(role)
        return None if own is None else own.cost_of(usage).high

    return price


def _at_a_time(plan: Plan) -> float | None:
    """The requests that are answered at a time, if the options say it."""
    if not isinstance(plan.model, AsyncModel):
        return float(plan.options.replicas) if isinstance(plan.options.replicas, int) else 1.0
    limit = plan.options.concurrency
    return None if limit == "auto" else float(limit * max(len(plan.model.instances), 1))


def _whole(
    plan: Plan, tasks: Sequence[EstimatedTask], rates: Mapping[str, Rates | None], pilot: EndedPilot | None
) -> CostEstimate:
    needs = tuple(task.needs for task in tasks if task.needs is not None)
    total = {name: whole_of(tasks, name) for name in QUANTITIES}
    seconds = sum((one.seconds for one in needs), Span.exactly(0.0)) if needs else UNKNOWN
    known = [task.known.get("total_cost") for task in tasks]
    spent = None if pilot is not None and None in known else sum(value or 0.0 for value in known)
    notes = [note for one in needs for note in one.notes]
    unpriced = [role for role, own in rates.items() if own is None]
    notes += [_how_to_price(plan, role) for role in unpriced]
    wide = total["total_cost"] if not unpriced else total["output_tokens"]
    if wide.low and wide.high and wide.high > _WIDE * wide.low:
        notes.append("The range is wide. A larger pilot narrows it: --pilot N.")
    return CostEstimate(
        model_name(plan),
        needs,
        total,
        spent,
        seconds,
        next((own.currency for own in rates.values() if own is not None), "USD"),
        {role: _in_words(own) for role, own in rates.items()},
        tuple(dict.fromkeys([*notes, _RETRIES])),
        "" if pilot is None else str(pilot.folder.path),
    )


def _in_words(rates: Rates | None) -> str:
    if rates is None:
        return ""
    prices = f"{rates.input or 0:g} in, {rates.output or 0:g} out per million tokens"
    source = " ".join(filter(None, (rates.source, rates.version)))
    return f"{prices} ({source})" if source else prices


def _how_to_price(plan: Plan, role: str) -> str:
    model = plan.model if role == MODEL_ROLE else plan.roles[role]
    who = "model" if role == MODEL_ROLE else role
    name = priced_model(model)
    if name.is_local:
        return f"The {who} {name} is computed on this machine and has no price for tokens."
    return f"The price of the {who} {name} is unknown: --price {name.name or name}=IN/OUT, for a million tokens each."
