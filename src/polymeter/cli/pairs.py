"""Reading ``key=value`` lists of the command line into plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, cast

from polymeter.core.errors import PlanError, did_you_mean

_OPEN = {"[": "]", "{": "}", "(": ")"}
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def parse_pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """The dictionary of lists such as ``temperature=0,stop=["a,b"],name='x, y'``.

    Commas part the pairs, except inside quotes and brackets. A value is ``true``, ``false``, ``null``, a number, JSON,
    or a text; quotes around a text keep it one ("'7'" is a text). Only the first ``=`` of a pair counts.

    Args:
        texts: One text for each time that the option was given.
        option: Its name, for messages.

    Raises:
        PlanError: A pair without ``=``, a key twice, a bracket or quote that does not close, or broken JSON.
    """
    found: dict[str, Any] = {}
    for text in texts:
        for pair in split_list(text, option):
            key, equals, value = pair.partition("=")
            key = key.strip()
            if not equals or not key:
                raise PlanError(
                    f"{pair!r} is not of the form key=value.",
                    where=option,
                    hint=f"Write {option} key=value,other=value",
                )
            if key in found:
                raise PlanError(f"{key!r} is given twice.", where=option)
            found[key] = parse_value(value.strip(), f"{option} {key}")
    return found


def parse_model_args(model: str, texts: Iterable[str], option: str = "--model-args") -> dict[str, Any]:
    """``--model-args``: as ``parse_pairs``, unless the backend has rules of its own that its authors know (under some
    JSON stays text, and a negative number is a float).

    Raises:
        PlanError: As for ``parse_pairs``.
    """
    from polymeter.core.registries import MODELS
    from polymeter.core.systems import load

    backend = model.partition(":")[0]
    reader = MODELS.find(backend).read_args if backend in MODELS else ""
    if not reader:
        return parse_pairs(texts, option)
    read = cast(Callable[[str], dict[str, Any]], load(reader))
    found: dict[str, Any] = {}
    for text in texts:
        try:
            pairs = read(text)
        except ValueError as error:
            raise PlanError(f"{error}.", where=option, hint="Write name=value,other=value") from None
        for key, value in pairs.items():
            if key in found:
                raise PlanError(f"{key!r} is given twice.", where=option)
            found[key] = value
    return found


def parse_dialect_options(texts: Iterable[str], option: str) -> dict[str, dict[str, Any]]:
    """Settings of dialects, each written ``dialect.setting=value``: by dialect and setting.

    Whether a dialect has the setting is found when its tasks are opened.

    Raises:
        PlanError: As for ``parse_pairs``; a name without a dot; a dialect that does not exist.
    """
    from polymeter.core.registries import stored_formats

    found: dict[str, dict[str, Any]] = {}
    for key, value in parse_pairs(texts, option).items():
        dialect, dot, setting = key.partition(".")
        if not dot or not setting:
            raise PlanError(f"{key!r} names no dialect.", where=option, hint=f"Write {option} tsv.circular=true")
        known = stored_formats()
        if dialect not in known:
            hint = did_you_mean(dialect, known) or f"Known: {', '.join(known)}."
            raise PlanError(f"There is no dialect {dialect!r}.", where=option, hint=hint)
        found.setdefault(dialect, {})[setting] = value
    return found


def parse_value(text: str, where: str) -> Any:
    """One value.

    Raises:
        PlanError: It begins like JSON and is none.
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return float(text) if any(sign in ".eE" for sign in text) else int(text)
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    if text[:1] in ('"', "[", "{"):
        try:
            return json.loads(text, parse_constant=_refuse)
        except ValueError as error:
            raise PlanError(
                f"{text!r} is not valid JSON: {error}.", where=where, hint="Put a plain text in single quotes."
            ) from None
    return text


def parse_places(texts: Iterable[str], option: str) -> dict[str, str]:
    """The dictionary of ``ID=PATH`` texts, each given on its own.

    Raises:
        PlanError: A text without ``=``, or an id twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise PlanError(
                f"{text!r} is not of the form ID=PATH.", where=option, hint=f"Write {option} org/name=./folder"
            )
        if name in found:
            raise PlanError(f"{name!r} is given twice.", where=option)
        found[name] = path
    return found


def split_list(text: str, option: str) -> list[str]:
    """The parts of a list between commas; commas inside quotes and brackets part nothing, empty parts are dropped.

    Raises:
        PlanError: A bracket or quote does not close.
    """
    parts: list[str] = []
    closers: list[str] = []
    start = 0
    quote = ""
    skips = False
    for place, sign in enumerate(text):
        if skips:
            skips = False
        elif quote:
            skips = sign == "\\" and quote == '"'
            quote = "" if sign == quote else quote
        elif sign == '"' or (sign == "'" and (closers or text[start:place].endswith("=") or place == start)):
            quote = sign
        elif sign in _OPEN:
            closers.append(_OPEN[sign])
        elif closers and sign == closers[-1]:
            closers.pop()
        elif sign == "," and not closers:
            parts.append(text[start:place])
            start = place + 1
    if quote or closers:
        raise PlanError(
            f"{text!r} lacks a closing {quote or closers[-1]}", where=option, hint="Put a plain text in single quotes."
        )
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
