"""The estimate of a run, from its plan: with the samples of its pilot, else with those of earlier runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from polymeter.analysis.cost.earlier import EarlierRun, earlier_runs, learned_text_rule, seen_earlier
from polymeter.analysis.cost.estimate import QUANTITIES, UNKNOWN, CostEstimate, Span, TaskNeeds
from polymeter.analysis.cost.estimating import EstimatedTask, Seen, estimate_task, whole_of
from polymeter.analysis.cost.observing import Tiers, observed
from polymeter.analysis.cost.prompts import PromptSizes, measured_sizes, unknown_sizes
from polymeter.core.errors import PolymeterError, count
from polymeter.core.model import AsyncModel
from polymeter.core.records.progress import Progress
from polymeter.core.records.rates import Rates, at_tier
from polymeter.core.records.usage import MACHINE, MODEL_ROLE
from polymeter.core.task import Task
from polymeter.prices.tokens import TokenRule, token_rule
from polymeter.report.formatting import listing
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish.part_rates import part_rates, priced_models
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
    tiers = _tiers(plan)
    rates = {role: at_tier(found, "") for role, found in tiers.items()}
    machine = _machine_hour(plan)
    runs = _runs(sources, None if pilot is None else pilot.folder.path)
    identity = manifests.identity_of(plan)
    text = replace(learned_text_rule(identity["model"], runs), count=plan.model.text_tokens)
    rule = token_rule(plan.model, text)
    tasks = []
    for task in plan.opened:
        progress.stage(f"making the prompts of {task.spec.name}")
        sizes = _sizes(plan, task, rule, is_running=pilot is not None)
        seen = _seen(plan, task, runs, identity, tiers, pilot)
        tasks.append(estimate_task(task.spec.name, sizes, seen, rates, _at_a_time(plan), machine))
    return _whole(plan, tasks, rates, pilot, machine)


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
    identity: Mapping[str, Any],
    tiers: Tiers,
    pilot: EndedPilot | None,
) -> Seen | None:
    name = task.spec.name
    if pilot is None:
        return seen_earlier(name, task.fingerprint, identity["model"], identity["options"], [*plan.roles], runs, tiers)
    samples = observed(pilot.folder, name, tiers, counts_reused=False)
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


def _tiers(plan: Plan) -> dict[str, Mapping[str, Rates]]:
    """The prices of the model in each role, by service tier."""
    today = datetime.now(timezone.utc).date()
    return {role: plan.prices.tiers(model, today) for role, model in priced_models(plan).items()}


def _machine_hour(plan: Plan) -> float | None:
    """The price of an hour of the machine, if the measured model has no other; ``None``: it has none."""
    machine = part_rates(plan, datetime.now(timezone.utc).date()).get(MACHINE)
    return machine["gpu_hour"] * machine["gpus"] if machine and MODEL_ROLE in machine["roles"] else None


def _at_a_time(plan: Plan) -> float | None:
    """The requests that are answered at a time, if the options say it."""
    if not isinstance(plan.model, AsyncModel):
        return float(plan.options.replicas) if isinstance(plan.options.replicas, int) else 1.0
    limit = plan.options.concurrency
    return None if limit == "auto" else float(limit * max(len(plan.model.instances), 1))


def _whole(
    plan: Plan,
    tasks: Sequence[EstimatedTask],
    rates: Mapping[str, Rates | None],
    pilot: EndedPilot | None,
    machine: float | None,
) -> CostEstimate:
    needs = tuple(task.needs for task in tasks if task.needs is not None)
    total = {name: whole_of(tasks, name) for name in QUANTITIES}
    seconds = sum((one.seconds for one in needs), Span.exactly(0.0)) if needs else UNKNOWN
    known = [task.known.get("total_cost") for task in tasks]
    spent = None if pilot is not None and None in known else sum(value or 0.0 for value in known)
    notes = [*_merged(needs)]
    if pilot is None and plan.options.reuse:
        notes.append("Answers that --reuse finds are not deducted; a pilot shows how many there are.")
    unpriced = [role for role, own in rates.items() if own is None and (role != MODEL_ROLE or machine is None)]
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
        {role: _in_words(own) for role, own in rates.items()}
        | ({MODEL_ROLE: f"{machine:g} for an hour of the machine"} if machine is not None else {}),
        tuple(dict.fromkeys([*notes, _RETRIES])),
        "" if pilot is None else str(pilot.folder.path),
    )


def _merged(needs: Sequence[TaskNeeds]) -> Iterator[str]:
    """Yield the notes on tasks, each once, with the tasks if it is not on all of them."""
    of: dict[str, list[str]] = {}
    for one in needs:
        for note in one.notes:
            of.setdefault(note, []).append(one.task)
    for note, tasks in of.items():
        yield note if len(tasks) == len(needs) else f"{listing(tasks)}: {note}"


def _in_words(rates: Rates | None) -> str:
    if rates is None:
        return ""
    prices = f"{rates.input or 0:g} in, {rates.output or 0:g} out per million tokens"
    source = " ".join(filter(None, (rates.source, rates.version)))
    return f"{prices} ({source})" if source else prices


def _how_to_price(plan: Plan, role: str) -> str:
    model = priced_models(plan)[role]
    who = "model" if role == MODEL_ROLE else role
    if model.is_local:
        return f"The {who} {model} is computed here: --gpu-price PRICE gives the price of an hour of a GPU."
    return f"The price of the {who} {model} is unknown. {plan.prices.hint(model)}"
