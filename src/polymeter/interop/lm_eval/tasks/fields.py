"""The values of a row for a task: its question, target, choices, description, prefix and media.

Each field is a column of the measured rows, a template, a constant or a function, and is compiled once to a plain
function of a row. A template may use columns that only some rows have (examples may come from another split), so each
row is checked as it is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from polymeter.core.errors import PlanError
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig
from polymeter.interop.lm_eval.tasks.contexts.named_prompts import NamedPrompt, named_prompt
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.prompts.forms import (
    Binding,
    Form,
    choice_form,
    column,
    guest,
    items_of,
    literal,
    template,
)
from polymeter.tasks.yaml.prompts.target_cells import compared

Doc = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldFunctions:
    """The fields of a task as functions of a row.

    Attributes:
        text: The question; a number where each choice is a question of its own.
        target: What is expected: a text, a list of texts, the number of a choice, or whatever a column holds.
        choices: The texts to choose from.
        has_choices: Whether the task names any.
        description: The text before everything; ``None``: there is none.
        prefix: What the answer begins with; ``None``: nothing.
        images: The row's images; ``None``: the task shows none.
        audio: The row's recordings; ``None``: the task has none.
    """

    text: Form
    target: Form
    choices: Form
    has_choices: bool
    description: Form | None = None
    prefix: Form | None = None
    images: Form | None = None
    audio: Form | None = None


@dataclass(frozen=True, slots=True)
class ExampleFields:
    """The fields of a row that is shown as an example.

    Attributes:
        text: See ``FieldFunctions``.
        target: See ``FieldFunctions``.
        choices: See ``FieldFunctions``.
        prefix: See ``FieldFunctions``.
        has_code: Whether one of them is a function, which may give something else every time.
    """

    text: Form
    target: Form
    choices: Form | None
    prefix: Form | None
    has_code: bool


class AskedRow(Protocol):
    """The question of a row."""

    @property
    def has_choices(self) -> bool: ...
    def text(self, doc: Any) -> Any: ...
    def choices(self, doc: Any) -> Any: ...


def count_inputs(fields: AskedRow, doc: Any) -> int:
    """Return the number of contexts of a row: one for each choice if its text is the number of one, true and false
    included; 0 for one.
    """
    return len(fields.choices(doc)) if fields.has_choices and isinstance(fields.text(doc), int) else 0


def bind_fields(
    config: LmTaskConfig,
    columns: tuple[str, ...],
    where: Locate,
    *,
    has_blanks: bool = False,
    is_written: bool = False,
) -> FieldFunctions:
    """Bind the fields of a task to rows with these columns.

    Args:
        config: The task.
        columns: Names of columns.
        where: From a field's name to its ``file:line``.
        has_blanks: Whether a cell without a value is shown as nothing, and not as ``None``.
        is_written: Whether rows hold what is written in their files, and empty options are none.

    Raises:
        PlanError: if a template is not valid, or a named prompt is not available.
    """
    binding = _binding(config, columns, where, has_blanks, is_written)
    prompt = _prompt_of(config, where)
    if prompt is not None:
        return FieldFunctions(
            prompt.text,
            prompt.target,
            prompt.choices,
            binding.has_choices,
            _own_column(config.description, "description", binding),
            _field(config.gen_prefix, "gen_prefix", binding),
        )
    return FieldFunctions(
        _text(config.doc_to_text, binding),
        _target(config.doc_to_target, binding),
        choice_form(config.doc_to_choice, binding) or (lambda doc: []),
        binding.has_choices,
        _own_column(config.description, "description", binding),
        _field(config.gen_prefix, "gen_prefix", binding),
        _media(config.doc_to_image, "doc_to_image", binding),
        _media(config.doc_to_audio, "doc_to_audio", binding),
    )


def bind_examples(
    config: LmTaskConfig,
    fields: FieldFunctions,
    columns: tuple[str, ...],
    where: Locate,
    *,
    has_blanks: bool = False,
    is_written: bool = False,
) -> ExampleFields:
    """The fields of examples. A name counts as a column where the *measured* rows have it. Arguments as for
    ``bind_fields``.

    Raises:
        PlanError: if a template is not valid.
    """
    binding, told = _binding(config, columns, where, has_blanks, is_written), config.examples
    prefix = _own_column(told.gen_prefix, "gen_prefix", binding)
    if config.use_prompt is not None:
        choices = fields.choices if fields.has_choices else None
        return ExampleFields(fields.text, fields.target, choices, prefix, has_code=False)
    written = (told.doc_to_text, told.doc_to_target, told.doc_to_choice)
    return ExampleFields(
        _text(told.doc_to_text, binding),
        _target(told.doc_to_target, binding),
        choice_form(told.doc_to_choice, binding) if told.doc_to_choice else None,
        prefix,
        has_code=any(callable(value) for value in written),
    )


def _binding(
    config: LmTaskConfig, columns: tuple[str, ...], where: Locate, has_blanks: bool, is_written: bool
) -> Binding:
    return Binding(
        task=config.task,
        columns=columns,
        media=frozenset(),
        prompt_kwargs=None,
        target_kwargs=None,
        has_choices=config.doc_to_choice is not None,
        where=where,
        has_blanks=has_blanks,
        is_written=is_written,
        have_rows_own_columns=True,
        keeps_newline=True,
    )


def _prompt_of(config: LmTaskConfig, where: Locate) -> NamedPrompt | None:
    if config.use_prompt is None:
        return None
    return named_prompt(config.use_prompt, config.dataset_path, config.dataset_name, where("use_prompt"))


def _text(value: Any, binding: Binding) -> Form:
    if isinstance(value, int):
        return lambda doc: value
    if not isinstance(value, str):
        return _function(value, "doc_to_text", binding)
    if value in binding.columns:
        is_text = binding.has_blanks and not binding.has_choices
        return _as_text(value) if is_text else column(value, "doc_to_text", binding)
    render = template(value, "doc_to_text", binding)
    if not binding.has_choices:
        return render
    return _numbered(render, "doc_to_text", binding)


def _target(value: Any, binding: Binding) -> Form:
    if isinstance(value, (int, list)):
        return lambda doc: value
    if not isinstance(value, str):
        return _function(value, "doc_to_target", binding)
    if value in binding.columns:
        cell = column(value, "doc_to_target", binding)
        return lambda doc: compared(cell(doc), has_choices=binding.has_choices)
    render = template(value, "doc_to_target", binding)
    numbered = _numbered(render, "doc_to_target", binding) if binding.has_choices else render

    def target(doc: Doc) -> Any:
        text = numbered(doc)
        if text == "" and binding.has_blanks:
            return None  # nothing to compare with
        return items_of(text) if isinstance(text, str) else text

    return target


def _media(value: Any, field: str, binding: Binding) -> Form | None:
    if not value:
        return None
    if isinstance(value, list):
        forms = [form for item in value if (form := _media(item, field, binding)) is not None]
        return lambda doc: [medium for form in forms if (medium := form(doc)) is not None]
    if not isinstance(value, str):
        return _function(value, field, binding)
    if value in binding.columns:
        return column(value, field, binding)
    render = template(value, field, binding)
    return lambda doc: literal(render(doc), field, binding)


def _field(value: str | None, field: str, binding: Binding) -> Form | None:
    """A field that is a column of the measured rows, or a template."""
    if value is None:
        return None
    return column(value, field, binding) if value in binding.columns else template(value, field, binding)


def _own_column(value: str | None, field: str, binding: Binding) -> Form | None:
    """A field that is a column of the row itself, or a template; an empty one is none."""
    if not value:
        return None
    render = template(value, field, binding)
    return lambda doc: doc[value] if value in doc else render(doc)


def _function(value: Any, field: str, binding: Binding) -> Form:
    if not callable(value):
        raise PlanError(
            f"{field} of task {binding.task!r} must be a column, a template or a !function, not {value!r:.60}.",
            where=binding.where(field),
        )
    return guest(value, field, binding.task)


def _as_text(name: str) -> Form:
    """A column whose cells are shown as they are written, and empty ones as nothing."""
    return lambda doc: "" if (value := doc[name]) is None else str(value)


def _numbered(render: Callable[[Doc], str], field: str, binding: Binding) -> Form:
    """A template whose digits are the number of a choice."""

    def number_or_text(doc: Doc) -> Any:
        text = render(doc)
        return literal(text, field, binding) if text.isdigit() else text

    return number_or_text
