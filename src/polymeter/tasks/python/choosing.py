"""Tasks with choices: compared by log-likelihood, or shown with letters. The output types of task YAML do the work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.settings.choice_orders import ChoiceOrders
from polymeter.core.task import TaskSpec
from polymeter.data import Rows
from polymeter.tasks.python.fields import BoundFields
from polymeter.tasks.python.scoring.bound_scorers import CHOICES, BoundScorer
from polymeter.tasks.python.writing.records import PythonTask
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.outputs.choice_rows import choice_orders
from polymeter.tasks.yaml.outputs.lettered import compile_lettered, lettered_parts
from polymeter.tasks.yaml.outputs.likelihoods import compile_choices
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, Provenance, TaskFunctions
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.forms import Binding, RoundHooks
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
from polymeter.tasks.yaml.prompts.rows import RowSamples, TaskRows
from polymeter.tasks.yaml.prompts.target_cells import TargetCells


def compile_choosing(
    fields: BoundFields,
    scorers: tuple[BoundScorer, ...],
    rows: Rows,
    *,
    spec: TaskSpec,
    traits: ModelTraits,
    context: OpenContext,
    provenance: Provenance,
    generation: dict[str, Any],
) -> tuple[TaskFunctions, tuple[str, ...], Callable[[], ChoiceOrders]]:
    """Compile a task with choices; returns its functions, notes for the results, and the orders of its choices.

    Args:
        fields: Its fields.
        scorers: Its scorers, all of them metrics.
        rows: Its rows.
        spec: The task.
        traits: The model's traits.
        context: The run's settings.
        provenance: The origin and the seeds of its requests.
        generation: Its generation settings, for choices with letters.

    Raises:
        PlanError: if it has no metric that a letter gives.
    """
    task = fields.task
    config = YamlFields(task=task.name, output_type=CHOICES, generation_kwargs=generation)
    binding = Binding(
        task=task.name,
        columns=fields.columns,
        media=frozenset(),
        prompt_kwargs=None,
        target_kwargs=None,
        has_choices=True,
        where=lambda key: task.where,
    )
    parts = Parts(
        config=config,
        rows=TaskRows(rows),
        n_fewshot=0,
        binding=binding,
        text=_no_text,
        target=fields.right_choices,
        choices=fields.choices,
        visual=None,
        visual_column=None,
        messages=None,
        rounds=RoundHooks(),
        metrics=tuple(one.metric for one in scorers if one.metric is not None),
        scorer=None,
    )
    prompt = PromptBuilder(
        fingerprint="",
        text_form=_no_text,
        choice_form=fields.choices,
        description=None,
        column_visuals=None,
        visual_form=None,
        messages_form=lambda row: fields.reader.messages(fields.prompt(row)),
        target_form=fields.right_choices,
        next_round=None,
        next_messages=None,
        sees_media=True,
    )
    is_lettered = is_asked_by_letter(task, context)
    notes: tuple[str, ...] = ()
    if is_lettered:
        parts, notes = lettered_parts(parts)
        notes = () if task.choices_as == "letters" else notes
    setup = CompileSetup(
        spec=spec,
        parts=parts,
        samples=RowSamples(task.name, rows),
        prompt=prompt,
        provenance=provenance,
        scorer=None,
        traits=traits,
        prompt_key="",
        plan_settings=context.generation,
        parity=context.parity,
        target_cells=TargetCells(task.name, (), False, task.where),
    )
    functions = (compile_lettered if is_lettered else compile_choices)(setup)
    return functions, notes, partial(choice_orders, setup, is_lettered=is_lettered)


def is_asked_by_letter(task: PythonTask, context: OpenContext) -> bool:
    """Return whether the choices of a task are shown with letters, because the task or the run says so."""
    return task.choices is not None and (task.choices_as == "letters" or context.is_mcq_text)


def _no_text(row: Any) -> str:
    return ""
