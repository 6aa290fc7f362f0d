"""Plans of replicas for the models of a run: their place, the dispatchers to them, and the crew that
scores.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Literal

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec
from polymeter.core.names.registries import MODELS
from polymeter.core.settings.needs import video_showings
from polymeter.core.task import TaskSpec
from polymeter.run.budget.meter import Meter
from polymeter.run.dispatch.batch.choice import BatchChoice
from polymeter.run.dispatch.prefetch import Prefetcher
from polymeter.run.dispatch.replicas.hosts import Place, Room, Wanted
from polymeter.run.dispatch.replicas.leases import LeaseLimits
from polymeter.run.dispatch.replicas.replica import ReplicaSetup
from polymeter.run.dispatch.replicas.replica_dispatcher import ReplicaDispatcher
from polymeter.run.dispatch.replicas.scorer import ScoringSetup
from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew
from polymeter.run.dispatch.replicas.scoring_pace import PaceLimits
from polymeter.run.dispatch.replicas.wire import packed
from polymeter.run.plan.plan import Plan, answer_reader, computes_here
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.panel import panel_of
from polymeter.run.schedule.running_samples import MODEL_ROLE

_PLACES = {"local": "polymeter.run.dispatch.replicas.processes", "ray": "polymeter.run.dispatch.replicas.ray.host"}
"""Modules with ``place(wanted, options)``, which gives a ``Place``. Only the one that is asked for is imported."""
SPREAD_FROM = PaceLimits()
"""When scoring is spread over other processes."""


def planned_place(plan: Plan, fetched: Path) -> Place | None:
    """Return the place of the replicas of a plan's models, and of scoring; ``None`` if all of it is in this process.

    Args:
        plan: The plan, its tasks open.
        fetched: Where copies of images that lie at URLs are kept.

    Raises:
        PlanError: if something of the plan cannot be sent to another process, or there is no room for so many replicas.
    """
    options = plan.options
    models = {MODEL_ROLE: plan.model, **plan.roles}
    computing = {role: model for role, model in models.items() if computes_here(model)}
    wanted: dict[str, int | Literal["auto"]] = {}
    if MODEL_ROLE in computing and (options.replicas is not None or options.executor != "local"):
        wanted[MODEL_ROLE] = options.replicas or "auto"
    if options.judge_replicas is not None:
        apart = (role for role, model in computing.items() if model is not plan.model)
        wanted |= dict.fromkeys(apart, options.judge_replicas)
    if options.executor == "local" and not wanted:
        if isinstance(plan.model, AsyncModel) or options.judge_replicas is not None:
            return None  # an endpoint or a judge that can be there several times as a server sees to it by itself
        raise PlanError(
            "--gpus-per-replica, --cpus-per-replica and --address apply to replicas, but the run has none.",
            where="--replicas" if MODEL_ROLE in computing else "--judge-replicas",
            hint=f"Add {'--replicas' if MODEL_ROLE in computing else '--judge-replicas'} N, or --executor ray.",
        )
    setups = {role: Wanted(_setup(plan, role, models[role], fetched), n) for role, n in wanted.items()}
    n_here = len({id(model) for model in computing.values()} - {id(models[role]) for role in wanted})
    place: Place = importlib.import_module(_PLACES[options.executor]).place(setups, options, n_here=n_here)
    return place


def _setup(plan: Plan, role: str, model: Model, fetched: Path) -> ReplicaSetup:
    """Return the setup of each replica of a model.

    Raises:
        PlanError: if something of it cannot be sent to another process.
    """
    spec = _crossing_model(plan, role)
    assert plan.context is not None, "the tasks are open"
    staying = _staying_tasks(plan, model)
    return ReplicaSetup(
        spec,
        tuple(task.spec for task in plan.opened if task.spec.name not in staying),
        staying,
        plan.context,
        plan.options,
        fetched,
        tuple(video_showings(plan.opened)) if role == MODEL_ROLE else (),
    )


def replica_dispatcher(
    plan: Plan,
    room: Room,
    model: BatchModel,
    name: str,
    prefetcher: Prefetcher,
    events: Events,
    meter: Meter | None = None,
) -> ReplicaDispatcher:
    """The dispatcher to the replicas of a model.

    Args:
        plan: The plan.
        room: Where they are.
        model: The model, which stays unloaded.
        name: What to call it in messages.
        prefetcher: Looks at media before it is sent.
        events: Hears of answers and failures.
        meter: Reserves under the caps of the run; ``None``: there are none.
    """
    options = plan.options
    largest_own = max((task.batch_size or 0 for task in plan.opened), default=0)
    return ReplicaDispatcher(
        room,
        BatchChoice(model, options.batch_size, largest_own),
        prefetcher,
        events,
        max_retries=options.max_retries,
        limits=LeaseLimits(deadline_s=options.lease_timeout_s),
        name=name,
        meter=meter,
    )


def scoring_crew(plan: Plan, place: Place, events: Events) -> ScoringCrew | None:
    """Return the crew that scores samples in other processes of a place; ``None`` if the run scores all of them.

    The run alone scores a task if others cannot open it, or if it runs code that a model wrote, since the sandbox of
    such code was chosen for this machine. A user who sets the number of scoring threads has chosen this process.
    """
    options, make_scorers = plan.options, place.make_scorers
    if make_scorers is None or options.score_workers is not None:
        return None
    tasks = [
        task.spec
        for task in plan.opened
        if not (task.spec.runs_generated_code or task.keeps_answers_only) and not _why_it_stays(task.spec)
    ]
    if not tasks:
        return None
    assert plan.context is not None, "the tasks are open"
    reader = answer_reader(plan)
    setup = ScoringSetup(
        tuple(tasks), plan.model.traits, tuple(plan.roles), reader, panel_of(plan), plan.context, options
    )
    return ScoringCrew(
        lambda most, host_listener: make_scorers(setup, most, host_listener),
        [spec.name for spec in tasks],
        events,
        options.lease_timeout_s,
        SPREAD_FROM,
    )


def _staying_tasks(plan: Plan, model: Model) -> dict[str, str]:
    """The tasks that a replica cannot open again, each with the reason.

    Raises:
        PlanError: if there is one, and the model is a wrapper, which may ask for the rows of each.
    """
    found = {task.spec.name: why for task in plan.opened if (why := _why_it_stays(task.spec))}
    if found and model.traits.is_foreign:
        name, why = next(iter(found.items()))
        raise PlanError(
            f"A replica of a wrapped model opens the run's tasks again, and cannot open task {name!r}: {why}.",
            hint="Write it into a file of its own, and name that file among the tasks or with --include-path.",
        )
    return found


def _why_it_stays(spec: TaskSpec) -> str:
    """Return the reason why another process cannot open a task; empty if it can."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main and spec.file.resolve() == Path(main).resolve():
        return "it is written in the script that is running, which would be run again"
    if not spec.file.exists():
        return "it is written in no file"
    try:
        packed(spec)
    except PolymeterError as error:
        return error.what.rstrip(".")
    return ""


def _crossing_model(plan: Plan, role: str) -> ModelSpec:
    """The spec from which each replica makes the model in a role.

    Raises:
        PlanError: if there is none, or it means something to this process only.
    """
    is_measured = role == MODEL_ROLE
    where = "--executor" if plan.options.replicas is None else "--replicas"
    where = where if is_measured else "--judge-replicas"
    spec = plan.model_spec if is_measured else plan.role_specs.get(role)
    if spec is None:
        raise PlanError(
            f"The {role} is a Python object of this process; replicas cannot make it again.",
            where=where,
            hint="Give its name (BACKEND:NAME), or register its class in a file that is named with --import.",
        )
    target = MODELS.find(spec.backend)
    if not isinstance(target.value, str) and not plan.options.imports:
        raise PlanError(
            f"Model {spec.backend!r} is registered in this process only; replicas do not know it.",
            where=target.place,
            hint="Put the class into a file of its own, and name it with --import, or imports=[…] in Python.",
        )
    return spec
