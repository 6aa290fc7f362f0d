"""Examples before the question: text only, from another split, or as the task writes them out itself.

``fewshot_config`` may hold ``sampler`` (``default``: drawn anew for each sample; ``first_n``), ``samples`` (rows, or a
function that gives them), and forms of its own for examples: ``doc_to_text``, ``doc_to_target``, ``doc_to_choice``,
``fewshot_delimiter``, ``target_delimiter``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.identity import seed_for
from polymeter.core.task import Sample
from polymeter.formats.task_yaml import forms
from polymeter.formats.task_yaml.config import TaskConfig

if TYPE_CHECKING:
    from polymeter.data.rows import Rows
    from polymeter.formats.task_yaml.parts import Parts

SAMPLERS = ("default", "first_n")


def fewshot_split(config: TaskConfig, n: int) -> str | None:
    """The split that examples come from, the training split before the validation split; ``None`` when there are none.

    Raises:
        PlanError: Examples are wanted, but the task names no split for them.
    """
    if n == 0:
        return None
    split = config.fewshot_split or config.training_split
    if split is None and config.test_split is not None:
        split = config.validation_split
    if split is None:
        raise PlanError(
            f"Task {config.task!r} has no split to draw {n} examples from.",
            hint="Name a fewshot_split (or training_split) in its YAML; the measured split is never used.",
        )
    return split


def fewshot_prefix(parts: Parts, seed: int) -> Callable[[Sample], str]:
    """A function from a sample to the examples before its question.

    Args:
        parts: The task; a sample that is among its examples is never its own.
        seed: The run's seed. Which examples a sample gets depends on it and on the sample, on nothing else.

    Raises:
        PlanError: An unknown sampler, or too few rows.
    """
    config, rows, n = parts.config, parts.data.examples, parts.n_fewshot
    assert rows is not None
    told = config.fewshot_config or {}
    sampler = told.get("sampler", "default")
    if sampler not in SAMPLERS:
        raise PlanError(f"There is no few-shot sampler {sampler!r}.", hint=f"Known: {', '.join(SAMPLERS)}.")
    is_same_split = parts.data.has_own_examples
    total = len(rows)
    if n + is_same_split > total:
        raise PlanError(f"Task {config.task!r} wants {n} examples, but there are only {total} rows to draw from.")
    delimiter = str(told.get("fewshot_delimiter", config.fewshot_delimiter))
    example = _example(parts, told, rows)

    def prefix(sample: Sample) -> str:
        own = sample.index if is_same_split else -1
        if sampler == "first_n":
            chosen = [i for i in range(n + 1) if i != own][:n]
        else:
            drawn = random.Random(seed_for(seed, sample.task, sample.id, "fewshot")).sample(
                range(total), min(n + 1, total)
            )
            chosen = [i for i in drawn if i != own][:n]
        return "".join(example(rows.doc(i)) + delimiter for i in chosen)

    return prefix


def _example(parts: Parts, told: Mapping[str, Any], rows: Rows) -> Callable[[Mapping[str, Any]], str]:
    """Question, delimiter and answer of a row."""
    binding = replace(
        parts.binding,
        columns=rows.columns,
        media=frozenset(rows.media) & parts.binding.media,
        has_choices=parts.binding.has_choices or "doc_to_choice" in told,
    )
    choices = forms.choice_form(told["doc_to_choice"], binding) if "doc_to_choice" in told else parts.choices
    text = forms.text_form(told["doc_to_text"], binding) if "doc_to_text" in told else parts.text
    target = forms.target_form(told["doc_to_target"], binding) if "doc_to_target" in told else parts.target
    delimiter = str(told.get("target_delimiter", parts.config.target_delimiter))

    def shown(value: Any, row: Mapping[str, Any]) -> str:
        if isinstance(value, list):
            value = value[0] if value else ""
        if choices is not None and type(value) is int:
            value = choices(row)[value]
        return "" if value is None else str(value)

    return lambda row: shown(text(row), row) + delimiter + shown(target(row), row)
