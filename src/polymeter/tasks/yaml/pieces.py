"""The parts of a task, from which an output type makes its rollout and score: rows, forms, metrics, a scorer.

A YAML gives the parts by its fields; a Python class by its methods, for which see ``extensions``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.task import TaskSpec
from polymeter.data import Rows
from polymeter.data.opening.first_rows import SUFFIXES
from polymeter.tasks.yaml import settings
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.outputs import image_targets
from polymeter.tasks.yaml.outputs.output_types import CompileOutput
from polymeter.tasks.yaml.prompts import forms
from polymeter.tasks.yaml.prompts.rows import TaskRows, is_written, open_rows
from polymeter.tasks.yaml.prompts.target_cells import written_form
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.metrics import BoundMetric, bind_metrics, metrics_at_parity
from polymeter.tasks.yaml.scoring.readings import Scorer, own_scorer


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that makes a task.

    Attributes:
        config: Its typed configuration.
        rows: Its rows.
        n_fewshot: How many examples stand before a question.
        binding: What forms were bound to.
        text: ``doc_to_text``.
        target: ``doc_to_target``.
        choices: ``doc_to_choice``.
        visual: ``doc_to_visual`` as a function; see also ``visual_column``.
        visual_column: The media column that ``doc_to_visual`` names.
        messages: ``doc_to_messages``.
        rounds: The functions that say what comes after the first round.
        metrics: Its metrics.
        scorer: Its own scoring; ``None``: its metrics score it.
        compile_output: Compiles it in place of its output type, if it constructs its requests itself.
    """

    config: YamlFields
    rows: TaskRows
    n_fewshot: int
    binding: forms.Binding
    text: forms.Form
    target: forms.Form
    choices: forms.Form | None
    visual: forms.Form | None
    visual_column: str | None
    messages: Callable[..., Any] | None
    rounds: forms.RoundHooks
    metrics: tuple[BoundMetric, ...]
    scorer: Scorer | None
    compile_output: CompileOutput | None = None


def yaml_parts(spec: TaskSpec, config: YamlFields, context: OpenContext, prompt_key: str, locate: Locate) -> Parts:
    """The parts of a task that is written as YAML.

    Raises:
        PlanError: if its settings make no sense.
        DataError: if its dataset is missing, empty, or lacks a column.
    """
    metrics = bind_metrics(config, lambda: locate("metric_list"), code_files(spec))
    metrics = metrics_at_parity(metrics, context.parity)
    n_fewshot = settings.fewshot_count(config, context)
    rows = open_rows(spec, config, context, n_fewshot, locate)
    with rows.noted():
        is_ours = is_written(spec, as_read=context.parity.on("written-values"))
        binding = bind_forms(config, rows.measured, prompt_key, locate, is_written=is_ours)
        messages = forms.messages_form(config.doc_to_messages, binding)
        target_form = image_targets.target_form if config.output_type == image_targets.IMAGES else forms.target_form
        return Parts(
            config=config,
            rows=rows,
            n_fewshot=n_fewshot,
            binding=binding,
            text=forms.text_form(config.doc_to_text, binding),
            target=written_form(target_form(config.doc_to_target, binding), config, rows.measured),
            choices=forms.choice_form(config.doc_to_choice, binding),
            visual=forms.visual_form(config.doc_to_visual, binding),
            visual_column=config.doc_to_visual if config.doc_to_visual in binding.columns else None,
            messages=messages,
            rounds=forms.round_hooks(config.doc_to_text, config.doc_to_messages, messages, binding),
            metrics=metrics,
            scorer=own_scorer(config, spec.name, rows.measured),
        )


def bind_forms(
    config: YamlFields, rows: Rows, prompt_key: str, locate: Locate, *, is_written: bool = False
) -> forms.Binding:
    """Return the binding of the forms of a task.

    Args:
        config: The task.
        rows: Its rows.
        prompt_key: Names the settings of its prompts that are a model's.
        locate: From a field's name to its ``file:line``.
        is_written: Whether rows hold what is written in their files.
    """
    return forms.Binding(
        task=config.task,
        columns=rows.columns,
        media=frozenset() if config.process_results_use_image else frozenset(rows.media),
        prompt_kwargs=settings.prompt_kwargs(config.lmms_eval_specific_kwargs, prompt_key),
        target_kwargs=settings.target_kwargs(config.model_specific_target_kwargs, prompt_key),
        has_choices=config.doc_to_choice is not None,
        where=locate,
        has_blanks=rows.has_blanks or is_written,
        is_written=is_written,
    )


def is_table(file: Path) -> bool:
    """Return whether a task has no YAML file: a table, or a folder of media, whose fields were guessed."""
    return file.suffix.lower() in SUFFIXES or file.is_dir()


def check_fields(config: YamlFields, locate: Locate) -> None:
    """Refuse a YAML that lacks a field that its output type needs. A class may give its value by a method instead.

    Raises:
        PlanError: if something is missing.
    """
    if config.class_ is not None:
        return
    if config.dataset_path is None:
        raise PlanError(
            f"Task {config.task!r} names no dataset_path.",
            where=locate("task"),
            hint="Write dataset_path: csv (or json, a folder, an id of the Hugging Face Hub).",
        )
    if config.eval_split is None:
        raise PlanError(
            f"Task {config.task!r} names neither a test_split nor a validation_split.",
            where=locate("task"),
            hint="Write test_split: test, or the name of the split that is measured.",
        )
    if config.output_type == "multiple_choice" and config.doc_to_choice is None:
        raise PlanError(
            f"Task {config.task!r} is multiple choice but has no doc_to_choice.",
            where=locate("output_type"),
            hint="Write doc_to_choice: a column with lists of texts, or a list such as [yes, no].",
        )
    if config.doc_to_text is None and config.doc_to_messages is None:
        raise PlanError(
            f"Task {config.task!r} has neither doc_to_text nor doc_to_messages.",
            where=locate("task"),
            hint='Write doc_to_text: "{{question}}", with the name of a column inside the braces.',
        )


def check_images(config: YamlFields, context: OpenContext, locate: Locate) -> None:
    """Refuse fields that make no sense for a task that asks for images, with the number of examples of this run.

    Raises:
        PlanError: if there is such a field.
    """
    if config.output_type == image_targets.IMAGES:
        n_fewshot = settings.fewshot_count(config, context)
        image_targets.check_config(config.model_copy(update={"num_fewshot": n_fewshot}), locate)
