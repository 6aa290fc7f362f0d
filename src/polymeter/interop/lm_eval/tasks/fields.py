"""What a task says of a row: its question, target, choices, description, prefix and media.

Each field is a column of the measured rows, a template, a constant or a function, and is compiled once to a plain
function of a row. A template may use columns that only some rows have (examples may come from another split), so each
row is checked as it is rendered.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from polymeter.core.errors import DataError, PlanError
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig
from polymeter.interop.lm_eval.tasks.contexts.named_prompts import NamedPrompt, named_prompt
from polymeter.reading.lists import PrintedList
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.prompts.empty_options import listed, options_of
from polymeter.tasks.yaml.prompts.forms import Form, guest
from polymeter.tasks.yaml.prompts.target_cells import compared
from polymeter.tasks.yaml.prompts.templates import compile_template

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
    """What a row asks."""

    @property
    def has_choices(self) -> bool: ...
    def text(self, doc: Any) -> Any: ...
    def choices(self, doc: Any) -> Any: ...


def count_inputs(fields: AskedRow, doc: Any) -> int:
    """How many contexts a row has: one for each choice where its text is the number of one, true and false included;
    0 for one.
    """
    return len(fields.choices(doc)) if fields.has_choices and isinstance(fields.text(doc), int) else 0


@dataclass(frozen=True, slots=True)
class _Binding:
    task: str
    columns: frozenset[str]
    has_choices: bool
    where: Locate
    has_blanks: bool
    is_written: bool


def bind_fields(
    config: LmTaskConfig,
    columns: tuple[str, ...],
    where: Locate,
    *,
    has_blanks: bool = False,
    is_written: bool = False,
) -> FieldFunctions:
    """The fields of a task over rows with these columns.

    Args:
        config: The task.
        columns: Names of columns.
        where: From a field's name to its ``file:line``.
        has_blanks: Whether a cell without a value is shown as nothing, and not as ``None``.
        is_written: Whether rows hold what is written in their files, and empty options are none.

    Raises:
        PlanError: if a template is not valid, or a named prompt cannot be had.
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
        _choices(config.doc_to_choice, binding) or (lambda doc: []),
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
        _choices(told.doc_to_choice, binding) if told.doc_to_choice else None,
        prefix,
        has_code=any(callable(value) for value in written),
    )


def _binding(
    config: LmTaskConfig, columns: tuple[str, ...], where: Locate, has_blanks: bool, is_written: bool
) -> _Binding:
    return _Binding(config.task, frozenset(columns), config.doc_to_choice is not None, where, has_blanks, is_written)


def _prompt_of(config: LmTaskConfig, where: Locate) -> NamedPrompt | None:
    if config.use_prompt is None:
        return None
    return named_prompt(config.use_prompt, config.dataset_path, config.dataset_name, where("use_prompt"))


def _text(value: Any, binding: _Binding) -> Form:
    if isinstance(value, int):
        return lambda doc: value
    if not isinstance(value, str):
        return _function(value, "doc_to_text", binding)
    if value in binding.columns:
        return _as_text(value) if binding.has_blanks and not binding.has_choices else _column(value)
    render = _template(value, "doc_to_text", binding)
    if not binding.has_choices:
        return render
    return _numbered(render, "doc_to_text", binding)


def _target(value: Any, binding: _Binding) -> Form:
    if isinstance(value, (int, list)):
        return lambda doc: value
    if not isinstance(value, str):
        return _function(value, "doc_to_target", binding)
    if value in binding.columns:
        column = _column(value)
        return lambda doc: compared(column(doc), has_choices=binding.has_choices)
    render = _template(value, "doc_to_target", binding)
    numbered = _numbered(render, "doc_to_target", binding) if binding.has_choices else render

    def target(doc: Doc) -> Any:
        text = numbered(doc)
        if text == "" and binding.has_blanks:
            return None  # nothing to compare with
        if type(text) is not str or len(text) < 2 or text[0] != "[" or text[-1] != "]":
            return text
        try:
            items = ast.literal_eval(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return text
        return PrintedList(items, text) if isinstance(items, list) else items

    return target


def _choices(value: Any, binding: _Binding) -> Form | None:
    if value is None:
        return None
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        texts = [item if isinstance(item, str) else str(item) for item in value]
        return lambda doc: texts
    if not isinstance(value, str):
        return _checked(_function(value, "doc_to_choice", binding), binding)
    if value in binding.columns:
        return _checked(_column(value), binding, made=options_of if binding.is_written else _texts)
    render = _template(value, "doc_to_choice", binding)
    if binding.is_written:
        return _checked(lambda doc: listed(render(doc)), binding, made=options_of)
    return _checked(_literal(render, "doc_to_choice", binding), binding)


def _media(value: Any, field: str, binding: _Binding) -> Form | None:
    if not value:
        return None
    if isinstance(value, list):
        forms = [form for item in value if (form := _media(item, field, binding)) is not None]
        return lambda doc: [medium for form in forms if (medium := form(doc)) is not None]
    if not isinstance(value, str):
        return _function(value, field, binding)
    if value in binding.columns:
        return _column(value)
    return _literal(_template(value, field, binding), field, binding)


def _field(value: str | None, field: str, binding: _Binding) -> Form | None:
    """A field that is a column of the measured rows, or a template."""
    if value is None:
        return None
    return _column(value) if value in binding.columns else _template(value, field, binding)


def _own_column(value: str | None, field: str, binding: _Binding) -> Form | None:
    """A field that is a column of the row itself, or a template; an empty one is none."""
    if not value:
        return None
    render = _template(value, field, binding)
    return lambda doc: doc[value] if value in doc else render(doc)


def _function(value: Any, field: str, binding: _Binding) -> Form:
    if not callable(value):
        raise PlanError(
            f"{field} of task {binding.task!r} must be a column, a template or a !function, not {value!r:.60}.",
            where=binding.where(field),
        )
    return guest(value, field, binding.task)


def _as_text(name: str) -> Form:
    """A column whose cells are shown as they are written, and empty ones as nothing."""
    return lambda doc: "" if (value := doc[name]) is None else str(value)


def _column(name: str) -> Form:
    return lambda doc: doc[name]


def _template(text: str, field: str, binding: _Binding) -> Callable[[Doc], str]:
    return compile_template(
        text, None, field=field, where=binding.where(field), keeps_newline=True, has_blanks=binding.has_blanks
    )


def _numbered(render: Callable[[Doc], str], field: str, binding: _Binding) -> Form:
    """A template whose digits are the number of a choice."""

    def number_or_text(doc: Doc) -> Any:
        text = render(doc)
        return _literal_of(text, field, binding) if text.isdigit() else text

    return number_or_text


def _literal(render: Callable[[Doc], str], field: str, binding: _Binding) -> Form:
    return lambda doc: _literal_of(render(doc), field, binding)


def _literal_of(text: str, field: str, binding: _Binding) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        what = f"{field} of task {binding.task!r} gives {text!r:.80}, which is no Python value."
        raise DataError(what, where=binding.where(field)) from error


def _texts(items: Any) -> list[str]:
    return [item if isinstance(item, str) else str(item) for item in items]


def _checked(form: Form, binding: _Binding, *, made: Callable[[Any], list[str]] = _texts) -> Form:
    def choices(doc: Doc) -> list[str]:
        texts = form(doc)
        if not isinstance(texts, (list, tuple)):
            raise DataError(
                f"doc_to_choice of task {binding.task!r} must give a list of texts, not {texts!r:.80}.",
                where=binding.where("doc_to_choice"),
            )
        return made(texts)

    return choices
