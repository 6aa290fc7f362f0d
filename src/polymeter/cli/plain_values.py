"""Values of options that say plainly what they are, past the conversion of newer versions of typer.

These convert every value through pydantic, also those of options that nobody gave. Importing it and making a converter
for each option takes longer than a small command. A value that is unusual in any way, and every wrong one, is left to
typer, and so are all values where typer is an older one, which needs no pydantic for them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

_USUAL = object()
"""What stands for a value that typer is to convert."""
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?")
_PATH_RULES = ("exists", "resolve_path", "writable", "allow_dash", "path_type")
"""What an option may ask of a path, beside being readable if there is something."""


def spare_conversions(command: Any) -> None:
    """Let a command, and those in it, convert plain values themselves.

    Args:
        command: What typer makes of an app.
    """
    for each in (command, *getattr(command, "commands", {}).values()):
        each.get_params = _sparing(each.get_params)  # what a command parses, ``--help`` among it


def _sparing(usual: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    def get_params(ctx: Any) -> list[Any]:
        parameters = usual(ctx)
        for each in parameters:
            if hasattr(each, "type_descriptor") and "process_value" not in vars(each):
                each.process_value = _with_plain_values(each, each.process_value)
        return parameters

    return get_params


def _with_plain_values(parameter: Any, usual: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def process_value(ctx: Any, value: Any) -> Any:
        plain = _plain(parameter, value)
        if plain is _USUAL or (parameter.required and parameter.value_is_missing(plain)):
            return usual(ctx, value)
        return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)

    return process_value


def _plain(parameter: Any, value: Any) -> Any:
    """What typer would make of a value, or ``_USUAL``."""
    is_several = parameter.multiple or parameter.nargs == -1
    if value is None:
        return () if is_several else None
    kind, rules = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    if rules.parser is not None:
        return _USUAL
    if not is_several:
        return _one(kind, rules, value) if parameter.nargs == 1 else _USUAL
    if get_origin(kind) is not list or not isinstance(value, (list, tuple)):
        return _USUAL
    values = [_one(get_args(kind)[0], rules, each) for each in value]
    return _USUAL if _USUAL in values else values


def _one(kind: Any, rules: Any, value: Any) -> Any:
    if kind is str:
        return value if type(value) is str else _USUAL
    if kind is bool:
        return value if type(value) is bool else _USUAL
    if kind in {int, float}:
        return _number(kind, rules, value)
    if kind is Path:
        return _path(rules, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice(kind, value)
    return _USUAL


def _number(kind: Any, rules: Any, value: Any) -> Any:
    if type(value) is str and (_WHOLE if kind is int else _DECIMAL).fullmatch(value):
        value = kind(value)
    is_within = type(value) is kind and (
        (rules.min is None or value >= rules.min) and (rules.max is None or value <= rules.max)
    )
    return value if is_within else _USUAL


def _path(rules: Any, value: Any) -> Any:
    if any(getattr(rules, name) for name in _PATH_RULES) or not (rules.file_okay and rules.dir_okay):
        return _USUAL
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        return _USUAL
    return Path(value) if os.access(value, os.R_OK) or not os.path.exists(value) else _USUAL


def _choice(kind: Iterable[Enum], value: Any) -> Any:
    return next((each for each in kind if each is value or (type(value) is str and each.value == value)), _USUAL)
