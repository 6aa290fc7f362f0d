"""The forms in which a task defines how a row becomes a prompt, a target, choices and media.

A form is a column, a template, a constant or a function. Each is compiled to one plain function when the task is
opened, so that nothing has to be decided again for every row.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PolymeterError, boundary, did_you_mean
from polymeter.data.media import names_nothing
from polymeter.guests.loading.load import resolve
from polymeter.reading.lists import PrintedList
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.prompts.empty_options import listed, options_of
from polymeter.tasks.yaml.prompts.templates import compile_template, one_column_hint

Doc = Mapping[str, Any]
Form = Callable[[Any], Any]
_NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""The errors that ``ast.literal_eval`` raises."""
ROUND_ARGUMENTS = ("previous_output", "round_idx", "previous_round_info")


@dataclass(frozen=True, slots=True)
class Binding:
    """The task and the settings that forms are bound to.

    Attributes:
        task: Name of the task, for messages.
        columns: All columns of a row.
        media: The columns that prompts do not see.
        prompt_kwargs: The model's prompt settings; ``None``: none.
        target_kwargs: The model's target settings; ``None``: none.
        has_choices: Whether the task has ``doc_to_choice``.
        where: ``file:line`` of a field.
        has_blanks: Whether a cell without a value is shown as nothing, and not as ``None``.
        is_written: Whether rows hold what is written in their files, and empty options are none.
        have_rows_own_columns: Whether a template may use columns that only some rows have, as examples from another
            split may. Each row is then checked as it is rendered.
        keeps_newline: Whether a line break at the very end of a template counts.
    """

    task: str
    columns: tuple[str, ...]
    media: frozenset[str]
    prompt_kwargs: Any
    target_kwargs: Any
    has_choices: bool
    where: Locate
    has_blanks: bool = False
    is_written: bool = False
    have_rows_own_columns: bool = False
    keeps_newline: bool = False

    @property
    def plain_columns(self) -> tuple[str, ...]:
        """Columns that prompts see."""
        return tuple(name for name in self.columns if name not in self.media)


def guest(
    ref: Callable[..., Any], field: str, task: str, error: type[PolymeterError] = DataError
) -> Callable[..., Any]:
    """A function of task code whose exceptions are attributed to it."""
    function = resolve(ref)
    attributed = boundary(error, f"{field} of task {task!r}")

    def call(*args: Any, **kwargs: Any) -> Any:
        with attributed:
            return function(*args, **kwargs)

    return call


def text_form(value: Any, binding: Binding) -> Form:
    """``doc_to_text``: row → text, or an index of a choice."""
    if value is None:
        return lambda doc: ""
    if isinstance(value, int):
        return lambda doc: value
    if callable(value):
        return _function(value, "doc_to_text", binding, binding.prompt_kwargs)
    if value in binding.columns:
        cell = column(value, "doc_to_text", binding)
        return (lambda doc: _blank(cell(doc))) if binding.has_blanks else cell
    render = template(value, "doc_to_text", binding)
    if not binding.has_choices:
        return render

    def text_or_index(doc: Doc) -> str | int:
        text = render(doc)
        return int(text) if text.isdigit() else text

    return text_or_index


def target_form(value: Any, binding: Binding) -> Form:
    """``doc_to_target``: row → the target: a text, a list of texts, an index, or anything that a column
    holds.
    """
    if value is None or isinstance(value, (int, list)):
        return lambda doc: value
    if callable(value):
        return _function(value, "doc_to_target", binding, binding.target_kwargs)
    if value in binding.columns:
        return column(value, "doc_to_target", binding)
    render = template(value, "doc_to_target", binding)
    has_choices = binding.has_choices

    def target(doc: Doc) -> Any:
        text = render(doc)
        if has_choices and text.isdigit():  # the number of a choice; elsewhere digits are an answer like any other
            return int(text)
        return items_of(text)

    return target


def choice_form(value: Any, binding: Binding) -> Form | None:
    """``doc_to_choice``: row → list of texts."""
    if value is None:
        return None
    if callable(value):
        return _checked(_function(value, "doc_to_choice", binding, None), binding)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        texts = [str(item) for item in value]
        return lambda doc: texts
    read: Callable[[str], Any] = listed
    if not binding.is_written:
        read = partial(literal, field="doc_to_choice", binding=binding)
    if value in binding.columns:
        return _checked(column(value, "doc_to_choice", binding), binding, made=_options_made(binding))
    render = template(value, "doc_to_choice", binding)
    return _checked(lambda doc: read(render(doc)), binding, made=_options_made(binding))


def _options_made(binding: Binding) -> Callable[[Any], list[str]]:
    return options_of if binding.is_written else _texts


def visual_form(value: Any, binding: Binding) -> Form | None:
    """``doc_to_visual`` as a function: row with media → list. A template gives the path of a file."""
    if value is None:
        return None
    if callable(value):
        has_two = len(inspect.signature(resolve(value)).parameters) == 2
        return _function(value, "doc_to_visual", binding, binding.prompt_kwargs if has_two else None)
    if value not in binding.columns:
        if not is_template(value):
            raise _no_column(value, "doc_to_visual", binding)
        render = template(value, "doc_to_visual", binding)
        return lambda doc: [] if names_nothing(path := render(doc)) else [path]
    return lambda doc: [doc[value]]


def is_template(value: Any) -> bool:
    """Return whether a value is written as a template."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def messages_form(value: Any, binding: Binding) -> Callable[..., Any] | None:
    """``doc_to_messages``: row with media → chat messages. Round arguments are passed on only if the function names
    them.
    """
    if value is None:
        return None
    if not callable(value):
        if value not in binding.columns:
            raise _no_column(value, "doc_to_messages", binding)
        return lambda doc, **rounds: doc[value]
    call = guest(value, "doc_to_messages", binding.task)
    parameters = inspect.signature(resolve(value)).parameters
    takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values())
    kwargs = binding.prompt_kwargs
    by_name = "lmms_eval_specific_kwargs" in parameters or takes_any
    by_position = not by_name and len(parameters) == 2

    def messages(doc: Doc, **rounds: Any) -> Any:
        named = {key: item for key, item in rounds.items() if takes_any or key in parameters}
        if by_name and kwargs is not None:
            named["lmms_eval_specific_kwargs"] = kwargs
        return call(doc, kwargs, **named) if by_position else call(doc, **named)

    return messages


@dataclass(frozen=True, slots=True)
class RoundHooks:
    """The functions for later rounds; each is called with the row, ``previous_output``, ``round_idx`` and
    ``previous_round_info``.

    Attributes:
        text: ``doc_to_text``, if it is a round function.
        messages: ``doc_to_messages``, if it is a round function.
    """

    text: Callable[..., Any] | None = None
    messages: Callable[..., Any] | None = None


def round_hooks(text: Any, messages: Any, messages_form: Callable[..., Any] | None, binding: Binding) -> RoundHooks:
    """The round functions of a task: those of its functions that have a parameter for the number of the round."""
    return RoundHooks(
        _round_function(text, binding) if _takes_rounds(text) else None,
        messages_form if _takes_rounds(messages) else None,
    )


def _takes_rounds(code: Any) -> bool:
    if not callable(code):
        return False
    parameters = inspect.signature(resolve(code)).parameters
    return "round_idx" in parameters or any(item.kind is item.VAR_KEYWORD for item in parameters.values())


def _round_function(code: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """``doc_to_text`` after the first round: the model's settings are always passed by name, as round functions
    expect.
    """
    call = guest(code, "doc_to_text", binding.task)
    parameters = inspect.signature(resolve(code)).parameters
    takes_any = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
    second = [*parameters, ""][1]
    # Older functions take the model's settings as a second parameter of any name.
    by_position = second not in ("", "lmms_eval_specific_kwargs", *ROUND_ARGUMENTS) and not takes_any

    def next_round(doc: Doc, **rounds: Any) -> Any:
        named = {"lmms_eval_specific_kwargs": binding.prompt_kwargs, **rounds}
        accepted = {key: item for key, item in named.items() if takes_any or key in parameters}
        return call(doc, binding.prompt_kwargs, **accepted) if by_position else call(doc, **accepted)

    return next_round


def description_form(value: Any, binding: Binding) -> Form | None:
    """``description``: row → text before the prompt; ``None`` if there is none."""
    if not value:
        return None
    if callable(value):
        return _function(value, "description", binding, None)
    return template(value, "description", binding)


def _function(ref: Callable[..., Any], field: str, binding: Binding, kwargs: Any) -> Form:
    """Task code, called with the row alone, or with the row and the model's settings."""
    call = guest(ref, field, binding.task)
    return call if kwargs is None else lambda doc: call(doc, kwargs)


def column(name: str, field: str, binding: Binding) -> Form:
    """A column: row → its cell.

    Raises:
        DataError: if it holds media, which prompts do not see.
    """
    if name in binding.media:
        raise DataError(
            f"{field} of task {binding.task!r} names the media column {name!r}.",
            where=binding.where(field),
            hint=f"Columns with text are: {', '.join(binding.plain_columns)}.",
        )
    return lambda doc: doc[name]


def template(text: Any, field: str, binding: Binding) -> Callable[[Doc], str]:
    """A template: row → text.

    Raises:
        PlanError: if it is not valid.
        DataError: if it uses a column that does not exist; so does the function that is returned.
    """
    return compile_template(
        str(text),
        None if binding.have_rows_own_columns else binding.plain_columns,
        field=field,
        where=binding.where(field),
        keeps_newline=binding.keeps_newline,
        has_blanks=binding.has_blanks,
    )


def literal(text: str, field: str, binding: Binding) -> Any:
    """The Python value that a text is written as.

    Raises:
        DataError: if it is none.
    """
    try:
        return ast.literal_eval(text)
    except _NO_LITERAL as error:
        raise DataError(
            f"{field} of task {binding.task!r} gives {text!r:.80}, which is not a Python value.",
            where=binding.where(field),
        ) from error


def items_of(text: str) -> Any:
    """Return the list that a text in brackets holds; the text itself if it is not a list."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    try:
        items = ast.literal_eval(text)
    except _NO_LITERAL:
        return text
    return PrintedList(items, text) if isinstance(items, list) else items


def _blank(value: Any) -> Any:
    return "" if value is None else value


def _texts(items: Any) -> list[str]:
    return [item if isinstance(item, str) else str(item) for item in items]


def _checked(form: Form, binding: Binding, *, made: Callable[[Any], list[str]] = _texts) -> Form:
    def choices(doc: Doc) -> list[str]:
        texts = form(doc)
        if isinstance(texts, dict):
            texts = list(texts.values())
        if not isinstance(texts, (list, tuple)):
            raise DataError(
                f"doc_to_choice of task {binding.task!r} must give a list of texts, not {texts!r:.80}.",
                where=binding.where("doc_to_choice"),
                hint="Name a column that holds lists, or write a list: doc_to_choice: [yes, no].",
            )
        return made(texts)

    return choices


def _no_column(name: Any, field: str, binding: Binding) -> DataError:
    near = one_column_hint(binding.columns) or did_you_mean(str(name), binding.columns, n=1)
    return DataError(
        f"{field} of task {binding.task!r} names {name!r}, which the dataset does not have.",
        where=binding.where(field),
        hint=f"{near} It has the columns: {', '.join(binding.columns) or 'none that hold text'}.".strip(),
    )
