"""From a request to a plan: names become specs, and models are made but not loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polymeter.core.errors import PlanError
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec
from polymeter.core.names.parity import parity_with
from polymeter.core.names.registries import MODELS
from polymeter.core.options import RunOptions
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.settings.generation import require_generation
from polymeter.core.text.phrases import in_words
from polymeter.core.text.secrets import remember
from polymeter.prices import PriceBook, priced_model
from polymeter.prices.lists import PRICE, is_named
from polymeter.reading.reasoning import parse_tags
from polymeter.run.plan.models import check_model, make_model
from polymeter.run.plan.named_paths import catalog_for
from polymeter.run.plan.plan import Plan, cache_folder, computes_here
from polymeter.run.plan.request import RunRequest
from polymeter.run.plan.selection import select


def make_plan(request: RunRequest) -> Plan:
    """Names to specs, and the models made (not loaded)."""
    options = request.options
    if not request.is_resume:
        require_generation(options.generation)
    prices = PriceBook.of_options(options)
    _ = options.showing  # a mistake in it shows before any name is looked up
    specs = [which for which in (request.model, *request.roles.values()) if isinstance(which, ModelSpec)]
    remember(*(dict(spec.args) for spec in specs), options.generation, options.data, options.weights)
    named = catalog_for(request.patterns, options.include_paths, cache_folder(options), parity_with(options.parity))
    options = options.model_copy(update={"include_paths": named.include_paths})
    named.catalog.preferred = options.prefer
    selection = select(named.patterns, named.catalog)
    model, spec = _make(request.model, options)
    is_for_model = options.replicas is not None or (
        options.gpus_per_replica is not None and options.judge_replicas is None
    )
    if isinstance(model, AsyncModel) and is_for_model:
        if options.executor == "ray":
            what = "An endpoint, also one that is started for the run, is asked from this machine and not through Ray."
            raise PlanError(what, where="--executor", hint="Leave --executor out; --replicas N starts several servers.")
        model.plan_replicas(options.replicas or 1, options.gpus_per_replica)
    made = {role: _role(which, options, model, spec) for role, which in request.roles.items()}
    if options.judge_replicas is not None:
        _plan_judges([judge for judge, _ in made.values() if judge is not model], options)
    plan = Plan(
        model,
        spec,
        named.patterns,
        selection,
        options,
        {role: pair[0] for role, pair in made.items()},
        {role: pair[1] for role, pair in made.items()},
        notes=(*named.notes, *selection.notes, *_model_notes([spec, *(pair[1] for pair in made.values())])),
        typed_data=request.typed_data,
        pinned=request.pinned,
        prices=prices,
    )
    if not request.is_resume:
        plan.add_findings(_unused_prices(plan))
    return plan


def _unused_prices(plan: Plan) -> Iterator[LintFinding]:
    """Yield a warning for each price of a model that the run does not have, whose name may be mistyped."""
    models = [priced_model(plan.model, plan.model_spec)]
    models += [priced_model(model, plan.role_specs.get(role)) for role, model in plan.roles.items()]
    for pattern in plan.prices.pairs.by_pattern:
        if not any(is_named(model, pattern) for model in models):
            names = in_words([str(model) for model in dict.fromkeys(models)])
            yield LintFinding(
                "unused-price", f"No model of the run is called {pattern!r}: it has {names}.", place=PRICE
            )


def _plan_judges(judges: Sequence[Model], options: RunOptions) -> None:
    """Note how many servers of judges are to be started. Those that compute here are planned when tasks are open.

    Raises:
        PlanError: if no judge can have replicas.
    """
    started = [judge for judge in judges if isinstance(judge, AsyncModel) and not judge.instances]
    for judge in started:
        try:
            judge.plan_replicas(options.judge_replicas or 1, options.gpus_per_replica)
        except PlanError as error:
            raise PlanError(error.what, where="--judge-replicas", hint=error.hint) from None
    if not started and not any(map(computes_here, judges)):
        raise PlanError(
            "The run has no judge on this machine, so it has none for replicas.",
            where="--judge-replicas",
            hint="Name one with --judge: hf:…, or vllm:… for servers. A judge that is the measured model uses its "
            "replicas.",
        )


def _model_notes(specs: Iterable[ModelSpec | None]) -> list[str]:
    return [
        f"Your model {spec.backend!r} ({MODELS.find(spec.backend).place}) is used in place of the built-in one."
        for spec in specs
        if spec is not None and MODELS.shadowed(spec.backend)
    ]


def _make(which: ModelSpec | Model, options: RunOptions) -> tuple[Model, ModelSpec | None]:
    model = make_model(which, options.weights) if isinstance(which, ModelSpec) else check_model(which)
    spec = model.made_from = which if isinstance(which, ModelSpec) else model.made_from
    model.parity = parity_with(options.parity)
    model.reasoning_tags = parse_tags(options.reasoning_tags, "--reasoning-tags")
    if isinstance(model, BatchModel) and isinstance(options.batch_size, int):
        model.planned_batch_size = options.batch_size
    return model, spec


def _role(
    which: ModelSpec | Model, options: RunOptions, model: Model, spec: ModelSpec | None
) -> tuple[Model, ModelSpec | None]:
    """Return the model of a role. A model that is loaded or started here is shared if it is also the measured one."""
    is_held_here = not isinstance(model, AsyncModel) or not model.instances
    return (model, spec) if is_held_here and which == spec else _make(which, options)
