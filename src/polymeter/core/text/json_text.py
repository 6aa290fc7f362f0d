"""JSON that every reader accepts: the one place where Polymeter turns values into JSON text for files and terminals.

JSON has no word for a NaN or an infinity, and the bare words that Python writes break other readers. The results that
Polymeter computes are spelled as the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, so that they survive being
written and read; a NaN in other data is a missing value, ``null``. The journal is not a JSON file: it keeps Python's
own words, which come back exactly.

A lone surrogate, in which a cut answer may end, is written as its JSON escape, since UTF-8 cannot hold it.

What a guest writes with its own code, or with its system's ``dump``, is read by that code and stays unchanged.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from polymeter.core.text.codec import json_encoder

NAN = "NaN"
INFINITY = "Infinity"
MINUS_INFINITY = "-Infinity"
_NUMBERS = {NAN: math.nan, INFINITY: math.inf, MINUS_INFINITY: -math.inf}
_COMPACT = json_encoder(is_ascii=False, allows_nan=False)
_COMPACT_ASCII = json_encoder(is_ascii=True, allows_nan=False)
_SURROGATE = re.compile("[\ud800-\udfff]")


def json_text(
    value: Any,
    *,
    indent: int | None = None,
    is_compact: bool = False,
    is_ascii: bool = False,
    nan: str | None = NAN,
    default: Callable[[Any], Any] | None = None,
) -> str:
    """JSON text of a value, without bare ``NaN`` or ``Infinity``, which UTF-8 can hold.

    Args:
        value: What to write.
        indent: As of ``json.dumps``.
        is_compact: Whether to leave out the spaces after commas and colons.
        is_ascii: Whether to write escapes for what ASCII cannot hold.
        nan: What is written for a NaN: a string, or ``None`` for ``null``.
        default: Turns a value that JSON cannot hold into one that it can.
    """
    if is_compact and indent is None and default is None:  # as the lines of files of samples, one after the other
        encode = _COMPACT_ASCII if is_ascii else _COMPACT
        try:
            return encodable(encode(value))
        except ValueError:
            return encodable(encode(_spelled(value, nan)))
    separators = (",", ":") if is_compact else None

    def dumps(item: Any, default: Callable[[Any], Any] | None) -> str:
        return json.dumps(
            item, indent=indent, separators=separators, ensure_ascii=is_ascii, allow_nan=False, default=default
        )

    try:
        text = dumps(value, default)
    except ValueError:  # a number that is not finite; most values have none, so they are not searched for it
        spell = None if default is None else lambda item: _spelled(default(item), nan)
        text = dumps(_spelled(value, nan), spell)
    return encodable(text)


def may_be_bare(*texts: str) -> bool:
    """Return whether a bare ``NaN`` or ``Infinity`` may stand in one of some JSON texts."""
    for text in texts:  # noqa: SIM110  (asked for every sample, and several times as quick as ``any``)
        if NAN in text or INFINITY in text:
            return True
    return False


def strict(text: str, *, nan: str | None = NAN) -> str:
    """A JSON text with its bare ``NaN`` and ``Infinity`` written as ``json_text`` writes them; else unchanged."""
    if not may_be_bare(text):
        return text
    parsed = json.loads(text, parse_constant=lambda word: nan if word == NAN else word)
    return json_text(parsed, is_compact=True, nan=nan)


def as_json(value: Any) -> Any:
    """A value as it comes back from JSON, in which what JSON has no form for is text."""
    return json.loads(json.dumps(value, default=str))


def encodable(text: str) -> str:
    """A JSON text with lone surrogates as their escapes."""
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_number(value: Any) -> Any:
    """A value with the numbers in it that ``json_text`` spelled as strings; for places that hold numbers."""
    if isinstance(value, str):
        return _NUMBERS.get(value, value)
    if isinstance(value, list):
        return [as_number(item) for item in value]
    return {key: as_number(item) for key, item in value.items()} if isinstance(value, dict) else value


def _spelled(value: Any, nan: str | None) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return nan if math.isnan(value) else INFINITY if value > 0 else MINUS_INFINITY
    if isinstance(value, dict):
        return {_spelled_key(key): _spelled(item, nan) for key, item in value.items()}
    return [_spelled(item, nan) for item in value] if isinstance(value, (list, tuple)) else value


def _spelled_key(key: Any) -> Any:
    return _spelled(key, NAN) if isinstance(key, float) else key
