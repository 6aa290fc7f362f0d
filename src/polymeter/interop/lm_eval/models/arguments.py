"""Arguments written as text, by lm-eval's two sets of rules: those of its Python interface, and those of its command
line, where commas in brackets separate nothing and Python's literals are read.
"""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

_WORDS = {"true": True, "false": False}
_QUOTES = "\"'"


def simple_parse_args_string(text: str | None) -> dict[str, Any]:
    """Arguments ``k=v,k=v`` as lm-eval's Python interface reads them: every comma separates."""
    parts = [part.split("=") for part in (text or "").strip().split(",") if part]
    return {part[0]: handle_arg_string("=".join(part[1:])) for part in parts}


def handle_arg_string(text: str) -> Any:
    """A value: text in quotes loses them; ``true``, ``false`` and ``none`` stand for themselves, then come whole
    numbers and floats; everything else is text.
    """
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in _QUOTES:
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text.lower() == "none":
        return None
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return text


def command_arguments(words: Iterable[str]) -> dict[str, Any]:
    """Arguments of the command line: one JSON object, or ``k=v,k=v`` in one or several words, of which later ones win.

    Raises:
        ValueError: if a word is neither.
    """
    words = list(words)
    if words and words[0].lstrip().startswith("{"):
        try:
            told = json.loads(words[0])
        except ValueError as error:
            raise ValueError(f"{words[0]!r:.80} is not a JSON object: {error}") from None
        return {str(name): value for name, value in told.items()}
    arguments: dict[str, Any] = {}
    for part in (part for word in words for part in _parts(word)):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} is not of the form name=value")
        arguments[name] = _command_value(value)
    return arguments


def written(arguments: Mapping[str, Any]) -> str:
    """Arguments as one text, for records."""
    return ",".join(f"{name}={value}" for name, value in arguments.items())


def _command_value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text.isnumeric():
        return int(text)
    with suppress(ValueError):
        return float(text)
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _parts(text: str) -> list[str]:
    """The parts of a text between commas outside of brackets and quotes."""
    parts, start, depth, quote = [], 0, 0, ""
    for position, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part for part in (*parts, text[start:]) if part]
