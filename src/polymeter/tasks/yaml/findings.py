"""Findings about the rows, targets and choices of a task, made while it is compiled: before the first request."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from polymeter.core.content import Modality
from polymeter.core.format import OpenContext
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import TaskSpec
from polymeter.guests import contained
from polymeter.tasks.yaml.extensions import judge_findings
from polymeter.tasks.yaml.outputs.right_choices import choice_target_findings, equal_choice_findings
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.empty_cells import empty_cell_findings
from polymeter.tasks.yaml.prompts.media_files import (
    empty_media_findings,
    missing_file_findings,
    unshown_media_findings,
)
from polymeter.tasks.yaml.prompts.misspelt import constant_target_findings
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder, drawn_examples, media_folders
from polymeter.tasks.yaml.prompts.rows import RowSamples
from polymeter.tasks.yaml.prompts.same_question import repeated_example_findings
from polymeter.tasks.yaml.prompts.target_cells import TargetCells, missing_target_findings


@dataclass(frozen=True, slots=True)
class ShownRows:
    """A task as its rows show it.

    Attributes:
        spec: The task.
        parts: Its parts.
        prompt: Its prompts.
        samples: Its samples.
        modalities: What the prompts that were tried show.
        cells: The cells that targets are read from.
    """

    spec: TaskSpec
    parts: Parts
    prompt: PromptBuilder
    samples: RowSamples
    modalities: Collection[Modality]
    cells: TargetCells


def findings(shown: ShownRows, context: OpenContext, *, is_scored: bool, is_lettered: bool) -> tuple[LintFinding, ...]:
    """Return the findings about a task.

    Args:
        shown: The task.
        context: The run.
        is_scored: Whether answers are scored, and not only kept.
        is_lettered: Whether answers name choices by letter or text, and not by log-probabilities.

    Raises:
        PlanError: if no row has a target, or none of the files that rows name exists.
    """
    return tuple(_findings(shown, context, is_scored=is_scored, is_lettered=is_lettered))


def _findings(shown: ShownRows, context: OpenContext, *, is_scored: bool, is_lettered: bool) -> Iterator[LintFinding]:
    spec, parts, prompt, samples = shown.spec, shown.parts, shown.prompt, shown.samples
    yield from missing_target_findings(shown.cells, parts.rows.measured, context)
    folders = media_folders(parts.config, spec, context.data)
    if prompt.messages_form is None:
        yield from missing_file_findings(parts, folders, context)
        yield from empty_media_findings(parts, context)
        if prompt.fewshot is not None and not context.parity.on("fewshot-draw"):
            with contained():
                examples = [*repeated_example_findings(parts, drawn_examples(parts, context), samples, context)]
            yield from examples
        yield from empty_cell_findings(parts) if is_scored else ()
    yield from unshown_media_findings(parts, spec.file, shown.modalities, samples, folders)
    for note in parts.rows.notes:
        yield LintFinding("media-folder", note, spec.name, parts.binding.where("dataset_path"))
    yield from constant_target_findings(parts, samples, prompt.row)
    yield from choice_target_findings(parts, prompt, samples)
    yield from equal_choice_findings(parts, prompt, samples, is_lettered=is_lettered)
    yield from judge_findings(spec, context.roles) if is_scored else ()
