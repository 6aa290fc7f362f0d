"""Requests of a task class: its methods, called with the arguments that they accept, and contexts that it does not
write itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.task import Sample
from polymeter.data import Rows, make_rows
from polymeter.guests import resolve, seeded
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.classes.class_config import LmTaskContext
from polymeter.interop.lm_eval.tasks.classes.configurable_task import ConfigurableTask
from polymeter.interop.lm_eval.tasks.classes.task_classes import Task
from polymeter.interop.lm_eval.tasks.contexts.prompts import ChatText, Contexts, PromptTurn, example_turns
from polymeter.interop.lm_eval.tasks.contexts.samplers import FIRST_N, ClassRows, DrawnRows, ReadAhead
from polymeter.interop.lm_eval.tasks.fields import ExampleFields, FieldFunctions, count_inputs
from polymeter.interop.lm_eval.tasks.settings import LmRunOptions, seed_of
from polymeter.tasks.yaml.prompts.rows import full_row

_BARE = "doc"
"""The column of rows that are not mappings."""
_BASES = (Task, ConfigurableTask)


@dataclass(slots=True)
class AskedClass:
    """An object of the author's, and how a run asks it.

    Attributes:
        task: The object.
        name: The task's name.
        surroundings: What the object knows of the run.
        options: The run's options.
        system: The run's system instruction.
        n_fewshot: How many examples come before a question.
        repeats: How often everything is asked.
        is_bare: Whether its rows are not mappings.
    """

    task: Any
    name: str
    surroundings: LmTaskContext
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
        """Return the instances that the object asks about a row."""
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


def class_contexts(asked: AskedClass, rows: Rows, context: OpenContext) -> Contexts:
    """Return the contexts that ``fewshot_context`` writes, unless the class does."""
    task, config, method = asked.task, getattr(asked.task, "config", None), asked.call

    def told(name: str, default: Any) -> Any:
        value = getattr(config, name, None)
        return default if value is None else value

    def choices_of(doc: Any) -> Any:
        return method("doc_to_choice", doc)

    def description(doc: Any) -> str:
        text = str(told("description", ""))
        if not isinstance(task, ConfigurableTask) or not text:
            return text
        form = task._fields().description
        return "" if form is None else str(form(doc))

    has_choices = hasattr(task, "doc_to_choice") and (
        told("doc_to_choice", None) is not None or _overrides(task, "doc_to_choice")
    )
    fields = FieldFunctions(
        text=lambda doc: method("doc_to_text", doc),
        target=lambda doc: method("doc_to_target", doc),
        choices=choices_of if has_choices else lambda doc: [],
        has_choices=has_choices,
        description=description,
        prefix=(lambda doc: method("doc_to_prefix", doc)) if hasattr(task, "doc_to_prefix") else None,
    )
    # The older form has no delimiter of its own: doc_to_target begins with it.
    is_configured = isinstance(task, ConfigurableTask)
    examples = told("fewshot_config", None)
    has_several = bool(count_inputs(fields, asked.doc(rows.full_doc(0))))
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


def _example_fields(task: Any, fields: FieldFunctions, examples: Any) -> ExampleFields:
    """The fields of examples: those that ``fewshot_config`` has of its own, else the methods."""

    def of(name: str, usual: Callable[[Any], Any]) -> Callable[[Any], Any]:
        own = getattr(examples, name, None)
        is_own = isinstance(task, ConfigurableTask) and own not in (None, getattr(task.config, name))
        return partial(getattr(task, name), **{name: own}) if is_own else usual

    choices = of("doc_to_choice", fields.choices) if fields.has_choices else None
    return ExampleFields(of("doc_to_text", fields.text), of("doc_to_target", fields.target), choices, None, True)


def _examples(
    asked: AskedClass, rows: Rows, context: OpenContext, turns: Callable[[Any], Sequence[PromptTurn]]
) -> Callable[[int], Sequence[PromptTurn]]:
    """From the position of a sample to the turns of its examples, drawn from the rows that the class gives for them."""
    task, name, n = asked.task, asked.name, asked.n_fewshot
    config = getattr(task, "config", None)
    with boundary(PlanError, f"Reading the examples of task {name!r}"), seeded(context.seed):
        what = f"the examples of task {name!r}"
        pool, is_bare = rows_of_class(task.fewshot_docs(), what, asked.name, context)
    told = getattr(config, "fewshot_config", None)
    if isinstance(task, ConfigurableTask):
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

    def of(index: int) -> list[PromptTurn]:
        numbers = drawn.of(max(index - context.offset, 0))
        found = [pool.full_doc(number) for number in numbers]
        return [turn for row in found for turn in turns(row[_BARE] if is_bare else row)]

    return of


def rows_of_class(docs: Any, what: str, base: str, context: OpenContext) -> tuple[Rows, bool]:
    """Rows that a class gives, and whether they are something other than mappings."""
    if not hasattr(docs, "features"):
        docs = list(docs or ())
    is_bare = isinstance(docs, list) and any(not isinstance(doc, Mapping) for doc in docs)
    if is_bare:
        docs = [{_BARE: doc} for doc in docs]
    return make_rows(docs, what=what, base_fingerprint=f"{base}:class:{what}", cache_dir=context.cache_dir), is_bare


def _overrides(task: Any, name: str) -> bool:
    """Return whether a method is the author's and not ours."""
    own = getattr(type(task), name, None)
    return own is not None and not any(own is getattr(base, name, None) for base in _BASES)


def _chat(history: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> str:
    """A conversation as a context, for authors who write their own: the messages are sent, and no text of them."""
    return ChatText([(turn["role"], str(turn["content"])) for turn in history])
