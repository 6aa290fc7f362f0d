"""A task that is a Python class (``class: !function module.Class``), put together from its methods."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import Parity
from polymeter.core.request import Loglikelihood, RequestKind
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.needs import Needs
from polymeter.core.task import ReadingRules, Rollout, RolloutSteps, Sample, Score, Task, TaskSpec
from polymeter.guests import contained, resolve, seeded
from polymeter.guests.opened_sources import loading_sources
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.asking import Asking, ask, modalities
from polymeter.interop.lm_eval.tasks.classes import task_classes
from polymeter.interop.lm_eval.tasks.classes.class_asking import AskedClass, class_contexts, rows_of_class
from polymeter.interop.lm_eval.tasks.classes.class_config import LmTaskContext, TaskConfig
from polymeter.interop.lm_eval.tasks.config import GENERATE, MULTIPLE_CHOICE
from polymeter.interop.lm_eval.tasks.docs import wanted_samples
from polymeter.interop.lm_eval.tasks.scoring.aggregations import AGGREGATIONS, aggregation_at, aggregation_of
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import (
    LmEvalScorer,
    answers_only,
    as_answered,
    checked_process_results,
)
from polymeter.interop.lm_eval.tasks.scoring.chains import chains
from polymeter.interop.lm_eval.tasks.scoring.reduction import reduce
from polymeter.interop.lm_eval.tasks.settings import LmRunOptions, check_way, seed_of
from polymeter.tasks.yaml.extensions import check_code_needs
from polymeter.tasks.yaml.outputs.output_types import Provenance
from polymeter.tasks.yaml.prompts.rows import full_row
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.metrics import BoundMetric
from polymeter.tasks.yaml.scoring.readings import as_text
from polymeter.tasks.yaml.task_code import load_task_code


def compile_class(spec: TaskSpec, traits: ModelTraits, context: OpenContext, options: LmRunOptions) -> Task:
    """The task that a class defines.

    Raises:
        PlanError: if an object of it cannot be made, or defines too little.
        DataError: if its rows are missing or empty.
    """
    if not options.predict_only:
        check_code_needs(spec, context.parity)
    load_task_code(spec)
    task, surroundings = _made(spec, context)
    config = getattr(task, "config", None)
    if isinstance(task, task_classes.MultipleChoiceTask) or getattr(config, "output_type", "") == MULTIPLE_CHOICE:
        check_way(context, spec.name, str(spec.file))
    repeats = int(getattr(config, "repeats", None) or 1)
    with boundary(DataError, f"Reading the rows of task {spec.name!r}"), seeded(context.seed):
        rows, is_bare = rows_of_class(task.eval_docs, f"the rows of task {spec.name!r}", spec.source_hash, context)
    samples = wanted_samples(spec, rows, options)
    asked = AskedClass(
        task, spec.name, surroundings, options, context.system_prompt, _shots(task, context), repeats, is_bare
    )
    surroundings.context_of = class_contexts(asked, rows, context).of
    if hasattr(task, "set_fewshot_seed"):
        task.set_fewshot_seed(seed_of(options.fewshot_seed, context))  # for a class that draws by itself
    scorer = None if options.predict_only else _scorer(task, config, spec, context.parity)
    asking = Asking(
        provenance=Provenance(spec.name, "", {"task": spec.name, "repeats": repeats}, context.seed),
        plan=context.generation,
        fingerprint=f"{rows.fingerprint}:{spec.source_hash[:12]}",
        is_chat=options.is_chat,
        think_end=options.think_end_token,
        parity=context.parity,
        length=options.max_gen_toks,
        where=str(spec.file),
    )
    with contained(), boundary(PlanError, f"Making the requests of task {spec.name!r}"):
        first = asked.instances(samples[0])
    is_asked = {instance.request_type == GENERATE for instance in first}
    kinds: list[RequestKind] = ["generate" if is_generated else "loglikelihood" for is_generated in is_asked]
    return Task(
        spec=_told_by_class(spec, task),
        needs=Needs(frozenset(kinds), modalities(first)),
        samples=samples,
        rollout=partial(_rollout, asking, asked),
        score=partial(_score, scorer, asked),
        reduce=partial(reduce, scorer=scorer) if scorer is not None else lambda rows, context: [],
        row_functions=RowFunctions(
            full_doc=lambda index: samples[index].full_doc(),
            target=lambda index: asked.call("doc_to_target", asked.doc(samples[index].full_doc())),
        ),
        parameters=tuple([_parameters(asking, instance) for instance in first[:1]]),
        fingerprint=rows.fingerprint,
        score_digest=fingerprint([spec.source_hash, scorer.digest if scorer is not None else None]),
        is_guest=True,
        num_fewshot=asked.n_fewshot,
        reading=ReadingRules(is_separated=False, stops_anywhere=context.parity.on("stop-in-reasoning")),
        keeps_answers_only=options.predict_only,
        repeats=repeats,
    )


def _told_by_class(spec: TaskSpec, task: Any) -> TaskSpec:
    """A spec with the values that only the class states: its version, and whether its scoring runs code that a model
    wrote.
    """
    version = getattr(task, "VERSION", None)
    return replace(
        spec,
        version=spec.version or ("" if version in (None, "Yaml") else str(version)),
        runs_generated_code=spec.runs_generated_code or getattr(task, "UNSAFE_CODE", False) is not False,
    )


def _made(spec: TaskSpec, context: OpenContext) -> tuple[Any, LmTaskContext]:
    """An object of the class that the YAML names, and what it knows of the run."""
    make: Any = resolve(spec.config["class"])
    surroundings = LmTaskContext(spec.name, spec.file.parent, context.data, context.cache_dir)
    with contained(), loading_sources(), boundary(PlanError, f"Making the class of task {spec.name!r}"):
        is_told = "config" in inspect.signature(make).parameters
        arguments: dict[str, Any] = {"config": dict(spec.config)} if is_told else {}
        if isinstance(make, type) and issubclass(make, task_classes.Task):
            # Made in two steps, so that the surroundings exist when the author's constructor runs.
            task = make.__new__(make)
            task._surroundings = surroundings
            make.__init__(task, **arguments)
        else:
            task = make(**arguments)
            if isinstance(task, task_classes.Task):
                task._surroundings = surroundings
    if isinstance(getattr(task, "config", None), TaskConfig):
        task.config["task"] = spec.name
    needed = ("eval_docs", "fewshot_context", "construct_requests", "process_results", "aggregation")
    missing = [name for name in needed if not hasattr(type(task), name)]
    if missing:
        raise PlanError(
            f"The class of task {spec.name!r} has no {missing[0]}.",
            where=str(spec.file),
            hint="Derive it from lm_eval.api.task.ConfigurableTask.",
        )
    return task, surroundings


def _shots(task: Any, context: OpenContext) -> int:
    """Return the number of examples before a question: the plan's number wins, unless the task sets 0."""
    own = getattr(getattr(task, "config", None), "num_fewshot", None)
    return int(own or 0) if context.num_fewshot is None or own == 0 else context.num_fewshot


def _scorer(task: Any, config: Any, spec: TaskSpec, parity: Parity) -> LmEvalScorer:
    """Values by ``process_results``, and numbers by ``aggregation``."""
    with boundary(PlanError, f"aggregation of task {spec.name!r}"):
        named, directions = dict(task.aggregation()), dict(task.higher_is_better())
    listed = config.filter_list if isinstance(config, TaskConfig) else None
    sources = code_files(spec)
    return LmEvalScorer(
        task=spec.name,
        bound=tuple(_metric(str(name), how, directions.get(name), parity) for name, how in named.items()),
        chains=chains(listed, task=spec.name, where=f"filter_list of {spec.file}", sources=sources),
        values=checked_process_results(task.process_results, spec.name),
        shown=partial(_shown, task),
        answer=as_answered,
        is_guest=True,
        has_errors_of_lm_eval=parity.on("resampled-error"),
    )


def _metric(name: str, how: Any, higher_is_better: bool | None, parity: Parity) -> BoundMetric:
    own = aggregation_of(how) or (how if isinstance(how, str) and how in AGGREGATIONS else "")
    return BoundMetric(
        name=name,
        kwargs={},
        score=None,
        is_guest_score=True,
        aggregation=aggregation_at(own, parity) if own else None,
        aggregate=None if own else how,
        wants_args=False,
        higher_is_better=higher_is_better,
        version="",
    )


def _shown(task: Any, doc: Any) -> str | None:
    """The target, to show only."""
    try:
        with boundary(ScoreError, "doc_to_target"):
            return as_text(task.doc_to_target(doc))
    except PolymeterError as error:
        return str(error.what)


def _parameters(asking: Asking, instance: Instance) -> Any:
    if instance.request_type != GENERATE:
        return Loglikelihood(())
    return asking.settings(instance.args[1] if len(instance.args) > 1 else {})[1]


def _rollout(asking: Asking, asked: AskedClass, sample: Sample) -> RolloutSteps:
    return (yield from ask(asking, sample, asked.instances(sample)))


def _score(scorer: LmEvalScorer | None, asked: AskedClass, sample: Sample, rollout: Rollout) -> Score:
    if scorer is None:
        return answers_only(rollout)
    return scorer.score_of(asked.doc(full_row(sample)), rollout.returned)
