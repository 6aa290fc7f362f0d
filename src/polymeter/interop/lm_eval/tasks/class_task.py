"""A task that is a Python class (``class: !function module.Class``), put together from its methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.needs import Needs
from polymeter.core.parity import Parity
from polymeter.core.request import Loglikelihood, RequestKind
from polymeter.core.rows import RowFunctions
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score, Task, TaskSpec
from polymeter.data import Rows, make_rows
from polymeter.formats.task_yaml.extensions import check_code_needs
from polymeter.formats.task_yaml.metrics import BoundMetric
from polymeter.formats.task_yaml.output_types import Provenance
from polymeter.formats.task_yaml.registration import code_files
from polymeter.formats.task_yaml.rows import full_row
from polymeter.formats.task_yaml.scoring import as_text
from polymeter.formats.task_yaml.task_code import load_task_code
from polymeter.guests import contained, resolve, seeded
from polymeter.guests.opened_sources import loading_sources
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks import task_classes
from polymeter.interop.lm_eval.tasks.aggregations import AGGREGATIONS, aggregation_at, aggregation_of
from polymeter.interop.lm_eval.tasks.asking import Asking, ask, modalities
from polymeter.interop.lm_eval.tasks.class_config import Surroundings, TaskConfig
from polymeter.interop.lm_eval.tasks.config import GENERATE
from polymeter.interop.lm_eval.tasks.docs import wanted_samples
from polymeter.interop.lm_eval.tasks.fields import ExampleFields, Fields
from polymeter.interop.lm_eval.tasks.filters import chains
from polymeter.interop.lm_eval.tasks.prompts import ChatText, Contexts, Turn, example_turns
from polymeter.interop.lm_eval.tasks.reduction import reduce
from polymeter.interop.lm_eval.tasks.samplers import FIRST_N, ClassRows, DrawnRows, ReadAhead
from polymeter.interop.lm_eval.tasks.scoring import Scorer, as_answered, checked_process_results
from polymeter.interop.lm_eval.tasks.settings import LmRunOptions, seed_of

_BARE = "doc"
"""The column of rows that are no mappings."""
_BASES = (task_classes.Task, task_classes.ConfigurableTask)


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
    repeats = int(getattr(config, "repeats", None) or 1)
    with boundary(DataError, f"Reading the rows of task {spec.name!r}"), seeded(context.seed):
        rows, is_bare = _rows(task.eval_docs, f"the rows of task {spec.name!r}", spec, context)
    samples = wanted_samples(spec, rows, options)
    asked = _Asked(
        task, spec.name, surroundings, options, context.system_prompt, _shots(task, context), repeats, is_bare
    )
    surroundings.context_of = _contexts(asked, rows, context).of
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
        keeps_answers_only=options.predict_only,
    )


def _told_by_class(spec: TaskSpec, task: Any) -> TaskSpec:
    """A spec with what only the class says: its version, and whether its scoring runs code that a model wrote."""
    version = getattr(task, "VERSION", None)
    return replace(
        spec,
        version=spec.version or ("" if version in (None, "Yaml") else str(version)),
        runs_generated_code=spec.runs_generated_code or getattr(task, "UNSAFE_CODE", False) is not False,
    )


@dataclass(slots=True)
class _Asked:
    """An object of the author's, and how a run asks it.

    Attributes:
        task: The object.
        name: The task's name.
        surroundings: What the object knows of the run.
        options: The run's options.
        system: The run's system instruction.
        n_fewshot: How many examples come before a question.
        repeats: How often everything is asked.
        is_bare: Whether its rows are no mappings.
    """

    task: Any
    name: str
    surroundings: Surroundings
    options: LmRunOptions
    system: str
    n_fewshot: int
    repeats: int
    is_bare: bool

    def doc(self, row: dict[str, Any]) -> Any:
        """A row as the object's methods know it."""
        return row[_BARE] if self.is_bare else row

    def call(self, method: str, *args: Any, error: type[PolymeterError] = DataError, **kwargs: Any) -> Any:
        """Call a method with those of the keyword arguments that it takes."""
        function = getattr(self.task, method)
        parameters = inspect.signature(function).parameters.values()
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            taken = {parameter.name for parameter in parameters}
            kwargs = {name: value for name, value in kwargs.items() if name in taken}
        with boundary(error, f"{method} of task {self.name!r}"):
            return function(*args, **kwargs)

    def instances(self, sample: Sample) -> list[Instance]:
        """What the object asks about a row."""
        doc = self.doc(full_row(sample))
        self.surroundings.position = sample.index
        is_chat = self.options.is_chat
        template = _chat if is_chat else None
        context = self.call(
            "fewshot_context",
            doc,
            num_fewshot=self.n_fewshot,
            system_instruction=self.system or None,
            apply_chat_template=is_chat,
            fewshot_as_multiturn=self.options.has_turns,
            chat_template=template,
            gen_prefix=self.call("doc_to_prefix", doc) if hasattr(self.task, "doc_to_prefix") else None,
        )
        made = self.call(
            "construct_requests",
            error=ScoreError,
            doc=doc,
            ctx=context,
            metadata=(self.name, sample.index, self.repeats),
            apply_chat_template=is_chat,
            chat_template=template,
        )
        instances = list(made) if isinstance(made, (list, tuple)) else [made]
        if not instances or not all(isinstance(instance, Instance) for instance in instances):
            raise ScoreError(
                f"construct_requests of task {self.name!r} must return one Instance or more, not {made!r:.80}."
            )
        return instances


def _made(spec: TaskSpec, context: OpenContext) -> tuple[Any, Surroundings]:
    """An object of the class that the YAML names, and what it knows of the run."""
    make: Any = resolve(spec.config["class"])
    surroundings = Surroundings(spec.name, spec.file.parent, context.data, context.cache_dir)
    with contained(), loading_sources(), boundary(PlanError, f"Making the class of task {spec.name!r}"):
        is_told = "config" in inspect.signature(make).parameters
        arguments: dict[str, Any] = {"config": dict(spec.config)} if is_told else {}
        if isinstance(make, type) and issubclass(make, task_classes.Task):
            # Made in two steps, so that the surroundings are there when the author's constructor runs.
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


def _rows(docs: Any, what: str, spec: TaskSpec, context: OpenContext) -> tuple[Rows, bool]:
    """Rows that a class gives, and whether they are something other than mappings."""
    if not hasattr(docs, "features"):
        docs = list(docs or ())
    is_bare = isinstance(docs, list) and any(not isinstance(doc, Mapping) for doc in docs)
    if is_bare:
        docs = [{_BARE: doc} for doc in docs]
    base = f"{spec.source_hash}:class:{what}"
    return make_rows(docs, what=what, base_fingerprint=base, cache_dir=context.cache_dir), is_bare


def _shots(task: Any, context: OpenContext) -> int:
    """How many examples come before a question: the plan's number wins, unless the task sets 0."""
    own = getattr(getattr(task, "config", None), "num_fewshot", None)
    return int(own or 0) if context.num_fewshot is None or own == 0 else context.num_fewshot


def _contexts(asked: _Asked, rows: Rows, context: OpenContext) -> Contexts:
    """What ``fewshot_context`` writes, unless the class does."""
    task, config, method = asked.task, getattr(asked.task, "config", None), asked.call

    def told(name: str, default: Any) -> Any:
        value = getattr(config, name, None)
        return default if value is None else value

    def choices_of(doc: Any) -> Any:
        return method("doc_to_choice", doc)

    def description(doc: Any) -> str:
        text = str(told("description", ""))
        if not isinstance(task, task_classes.ConfigurableTask) or not text:
            return text
        form = task._fields().description
        return "" if form is None else str(form(doc))

    has_choices = hasattr(task, "doc_to_choice") and (
        told("doc_to_choice", None) is not None or _overrides(task, "doc_to_choice")
    )
    fields = Fields(
        text=lambda doc: method("doc_to_text", doc),
        target=lambda doc: method("doc_to_target", doc),
        choices=choices_of if has_choices else lambda doc: [],
        has_choices=has_choices,
        description=description,
        prefix=(lambda doc: method("doc_to_prefix", doc)) if hasattr(task, "doc_to_prefix") else None,
    )
    # The older form has no delimiter of its own: doc_to_target begins with it.
    is_configured = isinstance(task, task_classes.ConfigurableTask)
    examples = told("fewshot_config", None)
    has_several = has_choices and type(fields.text(asked.doc(rows.full_doc(0)))) is int
    turns = partial(
        example_turns,
        fields=_example_fields(task, fields, examples),
        target_delimiter=told("target_delimiter", " ") if is_configured else "",
        fewshot_delimiter=told("fewshot_delimiter", "\n\n"),
        has_several_inputs=has_several,
        task=asked.name,
    )
    return Contexts(
        task=asked.name,
        fields=fields,
        examples=_examples(asked, rows, context, turns) if asked.n_fewshot else None,
        system=asked.system,
        target_delimiter=told("target_delimiter", " ") if is_configured else "",
        fewshot_delimiter=told("fewshot_delimiter", "\n\n"),
        has_several_inputs=has_several,
        is_chat=asked.options.is_chat,
        has_turns=asked.options.has_turns,
    )


def _example_fields(task: Any, fields: Fields, examples: Any) -> ExampleFields:
    """The fields of examples: those that ``fewshot_config`` has of its own, else the methods."""

    def of(name: str, usual: Callable[[Any], Any]) -> Callable[[Any], Any]:
        own = getattr(examples, name, None)
        is_own = isinstance(task, task_classes.ConfigurableTask) and own not in (None, getattr(task.config, name))
        return partial(getattr(task, name), **{name: own}) if is_own else usual

    choices = of("doc_to_choice", fields.choices) if fields.has_choices else None
    return ExampleFields(of("doc_to_text", fields.text), of("doc_to_target", fields.target), choices, None, True)


def _examples(
    asked: _Asked, rows: Rows, context: OpenContext, turns: Callable[[Any], Sequence[Turn]]
) -> Callable[[int], Sequence[Turn]]:
    """From the position of a sample to the turns of its examples, drawn from the rows that the class gives for them."""
    task, name, n = asked.task, asked.name, asked.n_fewshot
    config = getattr(task, "config", None)
    with boundary(PlanError, f"Reading the examples of task {name!r}"), seeded(context.seed):
        what = f"the examples of task {name!r}"
        pool, is_bare = _rows(task.fewshot_docs(), what, _without_rows(asked), context)
    told = getattr(config, "fewshot_config", None)
    if isinstance(task, task_classes.ConfigurableTask):
        leaves_out = getattr(told, "split", None) == getattr(config, "test_split", None)
    else:
        leaves_out = not task.has_training_docs()
    question = rows.doc if leaves_out else None
    seed, ahead = seed_of(asked.options.fewshot_seed, context), ReadAhead(pool)
    sampler = getattr(told, "sampler", None) or "default"
    if not isinstance(sampler, str):
        chosen = ClassRows(resolve(sampler), ahead, n, seed, question, task=name)
        return lambda index: [turn for row in chosen.of(index) for turn in turns(row)]
    drawn = DrawnRows(ahead, n, seed, question, is_first=sampler == FIRST_N, task=name)

    def of(index: int) -> list[Turn]:
        numbers = drawn.of(max(index - context.offset, 0))
        found = [pool.full_doc(number) for number in numbers]
        return [turn for row in found for turn in turns(row[_BARE] if is_bare else row)]

    return of


def _without_rows(asked: _Asked) -> TaskSpec:
    """A spec that names the task, for the fingerprint of its examples."""
    return TaskSpec(asked.name, "lm_eval", asked.surroundings.directory, {}, "")


def _scorer(task: Any, config: Any, spec: TaskSpec, parity: Parity) -> Scorer:
    """Values by ``process_results``, and numbers by ``aggregation``."""
    with boundary(PlanError, f"aggregation of task {spec.name!r}"):
        named, directions = dict(task.aggregation()), dict(task.higher_is_better())
    listed = config.filter_list if isinstance(config, TaskConfig) else None
    sources = code_files(spec)
    return Scorer(
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


def _overrides(task: Any, name: str) -> bool:
    """Whether a method is the author's and not ours."""
    own = getattr(type(task), name, None)
    return own is not None and not any(own is getattr(base, name, None) for base in _BASES)


def _chat(history: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> str:
    """A conversation as a context, for authors who write their own: the messages are sent, and no text of them."""
    return ChatText([(turn["role"], str(turn["content"])) for turn in history])


def _parameters(asking: Asking, instance: Instance) -> Any:
    if instance.request_type != GENERATE:
        return Loglikelihood(())
    return asking.settings(instance.args[1] if len(instance.args) > 1 else {})[1]


def _rollout(asking: Asking, asked: _Asked, sample: Sample) -> RolloutSteps:
    return (yield from ask(asking, sample, asked.instances(sample)))


def _score(scorer: Scorer | None, asked: _Asked, sample: Sample, rollout: Rollout) -> Score:
    if scorer is None:
        answers = [instance.resps for instance in rollout.returned]
        return Score({}, None, str(answers[0] if len(answers) == 1 else answers))
    return scorer.score_of(asked.doc(full_row(sample)), rollout.returned)
