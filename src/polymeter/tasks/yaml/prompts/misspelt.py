"""Words of a task that are nearly columns, and targets that are the same for every row.

A plain word in ``doc_to_text`` or ``doc_to_target`` that names no column is a constant. So a misspelt column gives
every row the same prompt, or the same target, and a meaningless score. If the word is nearly the name of a column, it
is an error. To mean the constant, write it as an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Sample, Samples
from polymeter.core.text.full_width import in_names
from polymeter.tasks.constant_targets import constant_target, equal_targets
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.outputs.image_targets import IMAGES
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.forms import Binding
from polymeter.tasks.yaml.registration import FILTER_DEFINITIONS
from polymeter.tasks.yaml.scoring.filters import needed_columns
from polymeter.tasks.yaml.scoring.metrics import BoundMetric

_WORD = re.compile(r"\w[\w .-]*")
_FUNCTION = re.compile(r"(\w+)\.([A-Za-z_]\w*)")
_IN_BRACES = re.compile(r"\{(\w+)\}")
_LONGEST_WORD = 60
_SHORTEST_NEAR = 4
_NEAR, _NEAR_PROMPT = 0.8, 0.85
"""The similarity of a word and a column. A whole prompt may be one word that is like a column (Transcribe)."""
_BYPASS = frozenset({"bypass", "by_pass"})


def refuse_misspelt_columns(parts: Parts, folder: Path, *, is_text_read: bool) -> None:
    """Refuse a word that is nearly the name of a column where the task uses it.

    Args:
        parts: The task.
        folder: The folder of its YAML.
        is_text_read: Whether prompts are made with ``doc_to_text``.

    Raises:
        PlanError: if there is such a word (the message names the nearest column), or one that names a function beside
            the YAML without ``!function``.
    """
    config, binding = parts.config, parts.binding
    if config.class_ is not None:  # its methods decide what is read
        return
    is_target_read = reads_target(parts) or parts.n_fewshot > 0
    is_of_images = config.output_type == IMAGES
    if is_target_read:
        targets = config.doc_to_target if isinstance(config.doc_to_target, list) and is_of_images else None
        for target in targets or (config.doc_to_target,):
            columns = binding.columns if is_of_images else binding.plain_columns
            _refuse(target, "doc_to_target", columns, binding, folder)
    if is_text_read:
        # A prompt that is called like the column of answers does not mean that column.
        columns = tuple(name for name in binding.plain_columns if name != config.doc_to_target)
        _refuse(config.doc_to_text, "doc_to_text", columns, binding, folder, cutoff=_NEAR_PROMPT)
        _refuse_single_braces(config.doc_to_text, binding)
    if isinstance(config.doc_to_choice, str):
        _refuse(config.doc_to_choice, "doc_to_choice", binding.plain_columns, binding, folder)
    _refuse_choices_for_rows(config.doc_to_choice, binding)
    examples = parts.rows.examples
    if parts.n_fewshot and examples is not None:
        for field in ("doc_to_text", "doc_to_target", "doc_to_choice"):
            own = (config.fewshot_config or {}).get(field)
            _refuse(own, f"fewshot_config {field}", examples.columns, binding, folder)
    # process_results may name the cluster itself, in its values.
    if config.cluster_key is not None and config.process_results is None:
        _refuse(config.cluster_key, "cluster_key", binding.plain_columns, binding, folder, is_constant=False)


def refuse_unread_columns(parts: Parts, sources: Collection[Path]) -> None:
    """Refuse a filter or a cluster_key that reads a column which no row has: a filter would fail on every answer, once
    all are paid for.

    Args:
        parts: The task.
        sources: The files of its code, whose filters win over built-in ones.

    Raises:
        PlanError: if there is one.
    """
    config, columns = parts.config, parts.rows.measured.columns
    if config.class_ is not None or config.process_docs is not None:
        return
    steps = [step for item in config.filter_list or () for step in item.filter]
    read = [
        ("filter_list", f"The filter {name!r} of task {config.task!r}", column)
        for name, column in needed_columns(steps)
        if FILTER_DEFINITIONS.of(name, sources) is None
    ]
    if config.cluster_key is not None and config.process_results is None:
        read.append(("cluster_key", f"The cluster_key of task {config.task!r}", config.cluster_key))
    for field, reader, column in read:
        if column not in columns:
            near = did_you_mean(column, columns, n=1)
            raise PlanError(
                f"{reader} reads the column {column!r}, which no row has.",
                where=parts.binding.where(field),
                hint=f"{near} Its rows have: {', '.join(columns)}.".strip(),
            )


def refuse_unmarked_functions(config: YamlFields, folder: Path, where: Callable[[str], str]) -> None:
    """Refuse ``utils.name`` in a field that is used where ``!function utils.name`` is meant, as far as the files show.

    Raises:
        PlanError: if there is such a field.
    """
    if config.class_ is not None:
        return
    if config.process_results is None:
        _refuse_function(config.doc_to_target, "doc_to_target", folder, where)
    if config.doc_to_messages is None:
        _refuse_function(config.doc_to_text, "doc_to_text", folder, where)


def reads_target(parts: Parts) -> bool:
    """Return whether a score of the task, or what it measures, rests on ``doc_to_target``."""
    if parts.config.output_type == "loglikelihood":
        return True  # the target is the text that is measured
    return any(_compares(metric, parts) for metric in parts.metrics)


def constant_target_findings(parts: Parts, samples: Samples, row: Callable[[Sample], Any]) -> Iterator[LintFinding]:
    """A finding if every row has the same target and the score rests on it.

    Args:
        parts: The task.
        samples: Its samples.
        row: From a sample to the row as hooks see it.
    """
    config = parts.config
    target = config.doc_to_target
    n = len(samples)
    if (
        n < 2
        or config.class_ is not None
        or config.output_type == IMAGES
        or callable(target)
        or not reads_target(parts)
    ):
        return
    where, has_choices = parts.binding.where("doc_to_target"), parts.choices is not None
    if not _is_constant(target, parts.binding):
        values = equal_targets(samples, lambda sample: parts.target(row(sample)))
        yield from constant_target(config.task, where, values, n, has_choices=has_choices)
        return
    value = parts.target(row(samples[0]))
    columns = ", ".join(parts.binding.plain_columns)
    hint = f"It is a constant, and no column. The rows have the columns: {columns}."
    yield from constant_target(config.task, where, [value] * n, n, has_choices=has_choices, hint=hint)


def nearest_column(word: str, columns: Sequence[str], cutoff: float = _NEAR) -> str | None:
    """The column that a word is nearly the name of: with the same letters in another case or with other signs between
    them, or with a few other letters.
    """
    letters = {_letters(column): column for column in reversed(columns)}
    own = _letters(word)
    if own in letters:
        return letters[own]
    near = get_close_matches(own, letters, n=1, cutoff=cutoff) if len(own) >= _SHORTEST_NEAR else ()
    return letters[near[0]] if near else None


def _compares(metric: BoundMetric, parts: Parts) -> bool:
    """Return whether a metric compares with the target: it does not if the task scores samples by itself."""
    if metric.name in _BYPASS:
        return False
    return parts.scorer is None or metric.of_sets is not None


def _refuse(
    value: Any,
    field: str,
    columns: Sequence[str],
    binding: Binding,
    folder: Path,
    *,
    cutoff: float = _NEAR,
    is_constant: bool = True,
) -> None:
    if not isinstance(value, str) or value in (*binding.columns, *columns):
        return
    _refuse_function(value, field, folder, binding.where)
    if len(value) > _LONGEST_WORD or not _WORD.fullmatch(value):
        return
    column = nearest_column(value, columns, cutoff)
    if column is None:
        return
    meant = f" To mean the text itself, write \"{{{{ '{value}' }}}}\"." if is_constant else ""
    raise PlanError(
        f"{field} of task {binding.task!r} is {value!r}, which is not a column of the dataset, but nearly one.",
        where=binding.where(field.partition(" ")[0]),
        hint=f"Did you mean {column!r}?{meant}",
    )


def _refuse_function(value: Any, field: str, folder: Path, where: Callable[[str], str]) -> None:
    match = _FUNCTION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return
    file = folder / f"{match[1]}.py"
    try:
        code = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if re.search(rf"^(?:async )?def {match[2]}\b", code, re.MULTILINE):
        raise PlanError(
            f"{field} is the text {value!r}, and {file.name} defines a function {match[2]!r}.",
            where=where(field.partition(" ")[0]),
            hint=f"Write '{field.rpartition(' ')[2]}: !function {value}'.",
        )


def _refuse_single_braces(text: Any, binding: Binding) -> None:
    """Refuse a prompt that is the same for every row because the names of columns stand in single braces."""
    if not isinstance(text, str) or "{{" in text or "{%" in text:
        return
    column = next((name for name in _IN_BRACES.findall(text) if name in binding.plain_columns), None)
    if column is not None:
        raise PlanError(
            f"doc_to_text of task {binding.task!r} writes {{{column}}} into every prompt, not the row's {column!r}.",
            where=binding.where("doc_to_text"),
            hint=f"Write {{{{{column}}}}}, with two braces.",
        )


def _refuse_choices_for_rows(choices: Any, binding: Binding) -> None:
    """Refuse a list of choices whose texts are meant as templates or columns: every row would have these very texts."""
    if not isinstance(choices, list) or not choices:
        return
    texts = [str(choice) for choice in choices]
    comma = in_names(texts[0]) if len(texts) == 1 else None
    if comma is not None:
        raise PlanError(
            f"doc_to_choice of task {binding.task!r} has one choice, {texts[0]!r}, and {comma.words}.",
            where=binding.where("doc_to_choice"),
            hint=comma.hint,
        )
    template = next((text for text in texts if "{{" in text or "{%" in text), None)
    if template is None and not (len(texts) > 1 and all(text in binding.plain_columns for text in texts)):
        return
    meant = ", ".join(re.sub(r"\{\{|\}\}", "", text).strip() for text in texts)
    what = f"the choice {template!r}" if template else f"the choices {', '.join(map(repr, texts))}"
    literal = f' To mean the texts themselves, write "{{{{ {texts!r} }}}}".' if template is None else ""
    raise PlanError(
        f"doc_to_choice of task {binding.task!r} is a list, so every row has {what} as written, not the row's own.",
        where=binding.where("doc_to_choice"),
        hint=f'Write one template that gives the list: doc_to_choice: "{{{{ [{meant}] }}}}".{literal}',
    )


def _is_constant(value: Any, binding: Binding) -> bool:
    """Return whether a form is written as a constant."""
    if isinstance(value, str):
        return value not in binding.columns and "{{" not in value and "{%" not in value
    return value is not None


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum()) or text.casefold()
