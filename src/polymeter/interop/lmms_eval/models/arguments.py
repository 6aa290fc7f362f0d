"""Argument strings of lmms-eval: ``pretrained=org/name,max_pixels=1024``."""

from __future__ import annotations

from typing import Any

_OPENING, _CLOSING = "{[", "}]"


def simple_parse_args_string(args_string: str) -> dict[str, Any]:
    """Names and values of ``name=value,name=value``. Commas inside quotes, braces or brackets separate nothing.

    Raises:
        ValueError: if an argument has no ``=``.
    """
    parts = [part.split("=", 1) for part in _parts(args_string.strip())]
    for part in parts:
        if len(part) != 2:
            raise ValueError(f"{part[0]!r} is not of the form name=value")
    return {name: handle_arg_string(value) for name, value in parts}


def handle_arg_string(arg: str) -> Any:
    """A value as a boolean, an integer if it has only digits, a float if it can be one, else text."""
    if arg.lower() in ("true", "false"):
        return arg.lower() == "true"
    if arg.isnumeric():
        return int(arg)
    try:
        return float(arg)
    except ValueError:
        return arg


def _parts(text: str) -> list[str]:
    parts, part = [], ""
    depth, quote, previous = 0, "", ""
    for char in text:
        if char in "\"'" and previous != "\\":
            quote = char if not quote else "" if char == quote else quote
        elif not quote and char in _OPENING:
            depth += 1
        elif not quote and char in _CLOSING:
            depth -= 1
        previous = char
        if char == "," and not quote and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += char
    return [text.strip() for text in (*parts, part) if text.strip()]
