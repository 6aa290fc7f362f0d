"""Parsing ``key=value`` lists of the command line into plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.text.full_width import in_pairs

_OPEN = {"[": "]", "{": "}", "(": ")"}
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def parse_pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """The dictionary of lists such as ``temperature=0,stop=["a,b"],name='x, y'``.

    Pairs are separated by commas, except inside quotes and brackets. A value is ``true``, ``false``, ``null``, a
    number, JSON, or text; a value in quotes is always text ("'7'" is a text). Only the first ``=`` of a pair counts.

    Args:
        texts: One text for each time that the option was given.
        option: Its name, for messages.

    Raises:
        PlanError: if a pair has no ``=``, a key occurs twice, a bracket or quote is not closed, or JSON is invalid.
    """
    pairs: dict[str, Any] = {}
    for text in texts:
        full_width = in_pairs(text)
        if full_width is not None:
            raise PlanError(f"In {text!r}, {full_width.words}.", where=option, hint=full_width.hint)
        for pair in split_list(text, option):
            key, equals, value = pair.partition("=")
            key = key.strip()
            if not equals or not key:
                last = next(reversed(pairs), "") if pairs and not equals else ""
                raise PlanError(
                    f"{pair!r} is not of the form key=value.",
                    where=option,
                    hint=f"If the value of {last!r} contains the comma, quote it: {option} \"{last}='…,{pair}'\""
                    if last
                    else f"Write {option} key=value,other=value",
                )
            if key in pairs:
                raise PlanError(f"{key!r} is given twice.", where=option)
            pairs[key] = parse_value(value.strip(), f"{option} {key}")
    return pairs


def parse_model_args(model: str, texts: Iterable[str], option: str = "--model-args") -> dict[str, Any]:
    """``--model-args``: like ``parse_pairs``, unless the backend has rules of its own, which authors of its wrappers
    expect (with some, JSON stays text and a negative number is a float).

    Raises:
        PlanError: as for ``parse_pairs``.
    """
    from polymeter.core.names.registries import MODELS
    from polymeter.core.names.systems import load

    backend = model.partition(":")[0]
    reader = MODELS.find(backend).read_args if backend in MODELS else ""
    if not reader:
        return parse_pairs(texts, option)
    read = cast(Callable[[str], dict[str, Any]], load(reader))
    arguments: dict[str, Any] = {}
    for text in texts:
        try:
            pairs = read(text)
        except ValueError as error:
            raise PlanError(f"{error}.", where=option, hint="Write name=value,other=value") from None
        for key, value in pairs.items():
            if key in arguments:
                raise PlanError(f"{key!r} is given twice.", where=option)
            arguments[key] = value
    return arguments


def parse_dialect_options(texts: Iterable[str], option: str) -> dict[str, dict[str, Any]]:
    """Settings of formats, each written ``format.setting=value``: by format and setting.

    Whether a format has a setting is checked when its tasks are opened.

    Raises:
        PlanError: as for ``parse_pairs``, and if a name has no dot or a format does not exist.
    """
    from polymeter.core.names.registries import stored_formats

    settings: dict[str, dict[str, Any]] = {}
    for key, value in parse_pairs(texts, option).items():
        name, dot, setting = key.partition(".")
        if not dot or not setting:
            raise PlanError(f"{key!r} names no format.", where=option, hint=f"Write {option} tsv.circular=true")
        names = stored_formats()
        if name not in names:
            hint = did_you_mean(name, names) or f"It must be one of {', '.join(names)}."
            raise PlanError(f"There is no format {name!r}.", where=option, hint=hint)
        settings.setdefault(name, {})[setting] = value
    return settings


def parse_trackers(texts: Iterable[str], option: str) -> dict[str, dict[str, Any]]:
    """Trackers with their arguments, each written ``NAME`` or ``NAME:key=value,other=value``.

    Raises:
        PlanError: as for ``parse_pairs``, and if a tracker is given twice.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, _, arguments = text.partition(":")
        if name in found:
            raise PlanError(f"The tracker {name!r} is given twice.", where=option)
        found[name] = parse_pairs([arguments] if arguments else [], f"{option} {name}")
    return found


def parse_value(text: str, where: str) -> Any:
    """One value.

    Raises:
        PlanError: if it begins like JSON but is not valid.
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return float(text) if any(char in ".eE" for char in text) else int(text)
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    if text[:1] in ('"', "[", "{"):
        try:
            return json.loads(text, parse_constant=_refuse)
        except ValueError as error:
            raise PlanError(
                f"{text!r} is not valid JSON: {error}.", where=where, hint="Put plain text in single quotes."
            ) from None
    return text


def parse_places(texts: Iterable[str], option: str) -> dict[str, str]:
    """The dictionary of ``ID=PATH`` texts, one pair in each.

    Raises:
        PlanError: if a text has no ``=``, or an id occurs twice.
    """
    paths: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            form, example = ("ID=REVISION", "main") if option == "--revision" else ("ID=PATH", "./folder")
            raise PlanError(
                f"{text!r} is not of the form {form}.", where=option, hint=f"Write {option} org/name={example}"
            )
        if name in paths:
            raise PlanError(f"{name!r} is given twice.", where=option)
        paths[name] = path
    return paths


def parse_prices(texts: Iterable[str], option: str) -> dict[str, str]:
    """The dictionary of ``MODEL=IN/OUT`` texts; only the last ``=`` of each counts, for names of models may hold one.

    Raises:
        PlanError: if a model is priced twice.
    """
    prices: dict[str, str] = {}
    for text in texts:
        name, _, price = text.rpartition("=")
        if name in prices:
            raise PlanError(f"{name!r} is given twice.", where=option)
        prices[name] = price
    return prices


def require_paths(paths: Mapping[str, str], option: str) -> dict[str, str]:
    """Return the same paths by id, if those that are written as paths exist; any other may be an id of the hub.

    Raises:
        PlanError: if one does not exist.
    """
    for name, path in paths.items():
        if path.startswith(("/", "./", "../", "~")) and not Path(path).expanduser().exists():
            what = f"There is no file or folder {path!r}."
            raise PlanError(what, where=f"{option} {name}={path}", hint="Check the path after the '='.")
    return dict(paths)


def split_list(text: str, option: str) -> list[str]:
    """The parts of a list separated by commas; commas inside quotes and brackets do not count, empty parts are dropped.

    Raises:
        PlanError: if a bracket or quote is not closed.
    """
    parts: list[str] = []
    closers: list[str] = []
    start = 0
    quote = ""
    is_escaped = False
    for position, char in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif quote:
            is_escaped = char == "\\" and quote == '"'
            quote = "" if char == quote else quote
        # A single quote inside a word is an apostrophe; it opens a quotation only at the start of a part or value.
        elif char == '"' or (char == "'" and (closers or text[start:position].endswith("=") or position == start)):
            quote = char
        elif char in _OPEN:
            closers.append(_OPEN[char])
        elif closers and char == closers[-1]:
            closers.pop()
        elif char == "," and not closers:
            parts.append(text[start:position])
            start = position + 1
    if quote or closers:
        raise PlanError(
            f"{text!r} has no closing {quote or closers[-1]}", where=option, hint="Put plain text in single quotes."
        )
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
