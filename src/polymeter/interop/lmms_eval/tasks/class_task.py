"""A task that is a Python class (``class: !function module.Class``), taken from its methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.task import TaskSpec
from polymeter.data import make_rows
from polymeter.guests import contained, resolve
from polymeter.guests.opened_sources import loading_sources
from polymeter.interop.lmms_eval.tasks.class_config import LmmsTaskContext
from polymeter.interop.lmms_eval.tasks.constructed_requests import compile_constructed
from polymeter.interop.lmms_eval.tasks.task_classes import ConfigurableMessagesTask, ConfigurableTask, Task
from polymeter.tasks.yaml.config import YamlFields, validate
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.outputs.output_types import CompileOutput
from polymeter.tasks.yaml.pieces import Parts, bind_forms
from polymeter.tasks.yaml.prompts import forms
from polymeter.tasks.yaml.prompts.rows import TaskRows
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.metrics import (
    BoundMetric,
    bind_metrics,
    comparing_as_written,
    metrics_at_parity,
    takes_args,
)
from polymeter.tasks.yaml.scoring.readings import Scorer, checked_scorer
from polymeter.tasks.yaml.settings import fewshot_count

_BASES = (Task, ConfigurableTask, ConfigurableMessagesTask)


def class_task(spec: TaskSpec, config: YamlFields, context: OpenContext, prompt_key: str, locate: Locate) -> Parts:
    """Make an object of the class, and take the task from its methods.

    Raises:
        PlanError: if the object cannot be made, or defines too little.
        DataError: if its rows are missing or empty.
    """
    guest_task = _make(spec, config, context, prompt_key)
    config = _config_of(guest_task, spec, config)
    rows_name = f"the rows of task {spec.name!r}"
    with boundary(DataError, f"Reading {rows_name}"):
        docs = guest_task.eval_docs
    base = f"{spec.source_hash}:class"
    rows = make_rows(docs, what=rows_name, base_fingerprint=base, cache_dir=context.cache_dir)
    n_fewshot = fewshot_count(config, context)
    examples = None
    if n_fewshot:
        with boundary(PlanError, f"Reading the examples of task {spec.name!r}"):
            example_docs = (
                guest_task.fewshot_docs() if hasattr(guest_task, "fewshot_docs") else guest_task.training_docs()
            )
        examples_name = f"the examples of task {spec.name!r}"
        examples = make_rows(example_docs, what=examples_name, base_fingerprint=f"{base}:examples")
    binding = bind_forms(config, rows, prompt_key, locate)
    has_choices = _overrides(guest_task, "doc_to_choice") or config.doc_to_choice is not None
    has_messages = _overrides(guest_task, "doc_to_messages") or config.doc_to_messages is not None
    messages = (
        _method(guest_task, "doc_to_messages", spec)
        if has_messages and hasattr(guest_task, "doc_to_messages")
        else None
    )
    has_visual = _overrides(guest_task, "doc_to_visual") or config.doc_to_visual is not None
    return Parts(
        config=config,
        rows=TaskRows(rows, examples),
        n_fewshot=n_fewshot,
        binding=binding,
        text=_method(guest_task, "doc_to_text", spec),
        target=_method(guest_task, "doc_to_target", spec),
        choices=_method(guest_task, "doc_to_choice", spec) if has_choices else None,
        visual=_method(guest_task, "doc_to_visual", spec) if has_visual else None,
        visual_column=None,
        messages=messages,
        rounds=forms.round_hooks(config.doc_to_text, config.doc_to_messages, messages, binding),
        metrics=metrics_at_parity(_metrics(guest_task, config, locate, spec), context.parity),
        scorer=_scorer(guest_task, config, spec),
        compile_output=_construction(guest_task, spec),
    )


def _make(spec: TaskSpec, config: YamlFields, context: OpenContext, prompt_key: str) -> Any:
    """An object of the class that the YAML names, or what the function that it names returns."""
    assert config.class_ is not None
    make: Any = resolve(config.class_)
    values = {name: value for name, value in spec.config.items() if name != "group"}
    surroundings = LmmsTaskContext(spec.name, spec.file.parent, prompt_key, context.data, context.cache_dir)
    with contained(), loading_sources(), boundary(PlanError, f"Making the class of task {spec.name!r}"):
        arguments: dict[str, Any] = {"config": values} if "config" in inspect.signature(make).parameters else {}
        if not (isinstance(make, type) and issubclass(make, Task)):
            guest_task = make(**arguments)
            if isinstance(guest_task, Task):
                guest_task._surroundings = surroundings
            return guest_task
        # Made in two steps, so that the surroundings exist when the author's constructor runs, which may never
        # call ours.
        task = make.__new__(make, **arguments)
        task._surroundings = surroundings
        make.__init__(task, **arguments)
        return task


def _config_of(guest_task: Any, spec: TaskSpec, config: YamlFields) -> YamlFields:
    """The object's configuration as its constructor left it; the YAML's if the object keeps none."""
    view = getattr(guest_task, "config", None)
    if view is None or not hasattr(view, "to_dict"):
        return config
    values = view.to_dict(keep_callable=True)
    return validate({**values, "task": spec.name}, lambda key: str(spec.file), spec.file)


def _overrides(guest_task: Any, name: str) -> bool:
    """Return whether a method is the author's and not ours."""
    own = getattr(type(guest_task), name, None)
    return own is not None and not any(own is getattr(base, name, None) for base in _BASES)


def _method(guest_task: Any, name: str, spec: TaskSpec, error: type[PolymeterError] = DataError) -> Callable[..., Any]:
    method = getattr(guest_task, name)
    doing = f"{name} of task {spec.name!r}"

    def call(*args: Any, **kwargs: Any) -> Any:
        with boundary(error, doing):
            return method(*args, **kwargs)

    return call


def _scorer(guest_task: Any, config: YamlFields, spec: TaskSpec) -> Scorer | None:
    if not _overrides(guest_task, "process_results") and config.process_results is None:
        return None
    return checked_scorer(_method(guest_task, "process_results", spec, ScoreError), spec.name, {})


def _construction(guest_task: Any, spec: TaskSpec) -> CompileOutput | None:
    """The author's ``construct_requests`` in place of the output type, called with what its signature takes."""
    if not _overrides(guest_task, "construct_requests"):
        return None
    call = _method(guest_task, "construct_requests", spec, ScoreError)
    parameters = inspect.signature(guest_task.construct_requests).parameters
    takes_any = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
    has_row = next(iter(parameters), "") == "doc"  # older authors get the row itself, not its number

    def construct(doc_id: int, ctx: str, metadata: Mapping[str, Any]) -> Any:
        first: Any = guest_task.eval_docs[doc_id] if has_row else doc_id
        more = {"metadata": dict(metadata)} if takes_any or "metadata" in parameters else {}
        return call(first, ctx, **more)

    return partial(compile_constructed, construct)


def _metrics(guest_task: Any, config: YamlFields, locate: Locate, spec: TaskSpec) -> tuple[BoundMetric, ...]:
    """The metrics that its ``aggregation`` names, else those of its configuration."""
    if not _overrides(guest_task, "aggregation"):
        if _overrides(guest_task, "process_results") and config.process_results is None:
            # Its own method makes the values, so names need no registration.
            config = config.model_copy(update={"process_results": guest_task.process_results})
        # What the class inherits keeps the rule of the system that it was written for.
        return comparing_as_written(bind_metrics(config, lambda: locate("metric_list"), code_files(spec)))
    with boundary(PlanError, f"aggregation of task {spec.name!r}"):
        aggregations = dict(guest_task.aggregation())
        directions = dict(guest_task.higher_is_better())
    return tuple(
        BoundMetric(
            name=str(name),
            kwargs={},
            score=None,
            is_guest_score=True,
            aggregation=None,
            aggregate=function,
            wants_args=takes_args(function),
            higher_is_better=directions.get(name),
            version="",
        )
        for name, function in aggregations.items()
    )
