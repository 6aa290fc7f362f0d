"""The flags of commands that are options of a run, made from the fields of ``RunOptions``.

A command says with ``takes_options`` that it takes them, and receives those that were given as one dictionary, in the
form that ``evaluate`` and ``RunOptions`` take. Their parameters are made by ``with_flags`` only when a command is
called: the list of all commands needs none, and reading the fields takes pydantic.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from polymeter.cli.completion import system_names
from polymeter.cli.foreign_flags import written_count_or_share
from polymeter.cli.options import count_or_all, number_or_auto
from polymeter.cli.pairs import parse_dialect_options, parse_pairs, parse_places, parse_prices, require_paths

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from polymeter.core.options import OptionFlag

Command = Callable[..., int]
_Read = Callable[[Any, str], Any]
"""The value of an option, from what typer gives and the name of its flag, which messages name."""
_COMPLETE = {"parity": system_names}


def _weights(texts: Any, flag: str) -> dict[str, str]:
    return require_paths(parse_places(texts, flag), flag)


def _rule(texts: Any, flag: str) -> dict[str, Any]:
    """A rule for showing media, in which ``none`` is a word of some settings: ``timestamps=none``."""
    from polymeter.core.media.showing import words_of

    modality = flag.lstrip("-")
    return {
        name: "none" if value is None and "none" in words_of(modality, name) else value
        for name, value in parse_pairs(texts, flag).items()
    }


_OF_FIELDS: Mapping[str, tuple[Any, _Read]] = {
    "limit": (str, written_count_or_share),
    "max_errors": (str, written_count_or_share),
    "generation": (list[str], parse_pairs),
    **dict.fromkeys(("video", "image", "audio"), (list[str], _rule)),
    "dialect_options": (list[str], parse_dialect_options),
    "weights": (list[str], _weights),
    "price": (list[str], parse_prices),
    **dict.fromkeys(("reasoning_tags", "max_cost", "max_tokens", "max_time_s"), (str, lambda value, flag: value)),
}
"""Options whose type does not say how they are written: what typer gives, and how that is read."""


def takes_options(command: str) -> Callable[[Command], Command]:
    """Give a command the flags of a run's options. It receives the options that were given as ``options``.

    Args:
        command: Whose flags: a name in ``OptionFlag.commands``.
    """

    def decorate(function: Command) -> Command:
        function.takes_options_of = command  # type: ignore[attr-defined]
        return function

    return decorate


def with_flags(function: Command) -> Command:
    """Return a command with a parameter for each of its flags, for typer to read; others stay unchanged."""
    command = getattr(function, "takes_options_of", None)
    if command is None:
        return function
    from polymeter.core.options import RunOptions

    own = _own_parameters(function)
    names = {one.name for one in own}
    flags = {name: flag for name, flag in RunOptions.flags(command).items() if name not in names}
    readers = {}
    made = []
    for name, flag in flags.items():
        kind, readers[name] = _kind(name, RunOptions.model_fields[name])
        made.append(_parameter(name, flag, RunOptions.model_fields[name], kind))

    def called(**words: Any) -> int:
        given = {name: words.pop(name) for name in flags}
        return function(**words, options=_given_options(given, readers, flags))

    return _declared(function, called, [*own, *made])


def without_flags(function: Command) -> Command:
    """A command with its own parameters alone, for a list of commands, which shows none."""
    if not hasattr(function, "takes_options_of"):
        return function
    return _declared(function, lambda **words: function(**words, options={}), _own_parameters(function))


def _own_parameters(function: Command) -> list[inspect.Parameter]:
    listed = inspect.signature(function, eval_str=True).parameters.values()
    return [one for one in listed if one.name != "options" and one.kind is not one.VAR_KEYWORD]


def _declared(function: Command, called: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """Return the function to call instead of a command, with the parameters for typer."""
    made = wraps(function)(called)
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    return made


def _given_options(
    given: Mapping[str, Any], readers: Mapping[str, _Read], flags: Mapping[str, OptionFlag]
) -> dict[str, Any]:
    """The options that were given. A flag that is merely absent says nothing."""
    values = {
        name: readers[name](value, flags[name].names[0])
        for name, value in given.items()
        if value is not None and value is not False and value != []
    }
    no_words = {name: value for name, value in given.items() if value is False and "/" in flags[name].names[0]}
    return {name: value for name, value in {**values, **no_words}.items() if value not in ((), {})}


def _parameter(name: str, flag: OptionFlag, field: FieldInfo, kind: Any) -> inspect.Parameter:
    is_switch = kind is bool and "/" not in flag.names[0]
    option = typer.Option(
        *flag.names,
        help=field.description,
        rich_help_panel=flag.panel,
        metavar=flag.metavar,
        show_default=_shown_default(field),
        autocompletion=_COMPLETE.get(name),
    )
    annotation = Annotated[kind if is_switch else kind | None, option]  # type: ignore[valid-type]
    default = False if is_switch else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shown_default(field: FieldInfo) -> str | Literal[False]:
    """The default as ``--help`` shows it; ``False`` where the description says it, or there is nothing to say."""
    default, text = field.get_default(call_default_factory=True), field.description or ""
    is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
    if not (is_number or (isinstance(default, str) and default)) or "default" in text.lower():
        return False
    return f"{default:,}" if isinstance(default, int) else f"{default:g}" if is_number else str(default)


def _kind(name: str, field: FieldInfo) -> tuple[Any, _Read]:
    """Return the type that typer returns for an option, and its reader: by the type of the field."""
    if name in _OF_FIELDS:
        return _OF_FIELDS[name]
    kinds = [kind for kind in _alternatives(field.annotation) if kind is not NoneType]
    words = [word for kind in kinds for word in get_args(kind) if get_origin(kind) is Literal]
    if words and len(kinds) == 1:
        return Enum(f"{name.title().replace('_', '')}Words", {word.upper(): word for word in words}, type=str), _word
    if words:
        return str, number_or_auto if words == ["auto"] else count_or_all
    kind = kinds[0]
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple:
        return list[Path], lambda value, flag: tuple(value)
    if get_origin(kind) is dict:
        return list[str], parse_places
    return kind, lambda value, flag: value


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _word(value: Enum, flag: str) -> str:
    return str(value.value)


__all__ = ["takes_options", "with_flags", "without_flags"]
