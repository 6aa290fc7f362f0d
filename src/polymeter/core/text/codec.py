"""The codec: values to JSON text and back, exactly.

Holds what scores are made of: JSON values, tuples, NumPy scalars, dictionaries with any of these as keys, NaN and
infinities. For a value that it cannot hold exactly it raises ``NotExactError``, and the caller computes that value
again instead of trusting an approximation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.text.written_numbers import WrittenNumber

_TAG = "__polymeter__"
_TEXT = frozenset({str})
_PLAIN = frozenset({str, int, float, bool, type(None)})


def json_encoder(
    *,
    is_ascii: bool = False,
    allows_nan: bool = True,
    default: Callable[[Any], Any] | None = None,
    separators: tuple[str, str] = (",", ":"),
) -> Callable[[Any], str]:
    """A function that writes plain data as JSON, as ``json.dumps`` does with these settings. That one prepares an
    encoder anew in each call, which takes longer than to write what a sample consists of.

    Args:
        is_ascii: Whether to write escapes for what ASCII cannot hold.
        allows_nan: Whether numbers that are not finite are written as Python's words for them.
        default: Turns a value that JSON cannot hold into one that it can.
        separators: What stands between items, and behind a key.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=is_ascii, separators=separators, check_circular=False, allow_nan=allows_nan, default=default
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the compiled encoder
        return encoder.encode
    quoted = encode_basestring_ascii if is_ascii else encode_basestring
    pieces = make(None, encoder.default, quoted, None, separators[1], separators[0], False, False, allows_nan)

    def encoded(value: Any) -> str:
        return quoted(value) if isinstance(value, str) else "".join(pieces(value, 0))

    return encoded


compact_json = json_encoder()
"""Plain data as the journal holds it."""
json_string = encode_basestring
"""A text as ``compact_json`` writes it."""


def scalar_json(value: Any) -> str:
    """Plain data as ``compact_json`` writes it; most quickly a text or a number that stands alone."""
    kind = type(value)
    if kind is str:
        return json_string(value)
    if kind is int or (kind is float and value - value == 0):  # NaN and infinities have words of their own
        return repr(value)
    return compact_json(value)


_scanned = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def parse_json(text: str) -> Any:
    """The value of a JSON text that was written here, with nothing before or behind it.

    Raises:
        ValueError: if it is none.
    """
    try:
        value, end = _scanned(text, 0)
    except StopIteration as stop:
        raise json.JSONDecodeError("Expecting value", text, stop.value) from None
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


class NotExactError(PolymeterError):
    """A value that the codec cannot hold exactly."""

    def __init__(self, what: str) -> None:
        # Raised for every sample of some tasks. The text names a type and holds no secret, for which it need not be
        # searched.
        Exception.__init__(self, what)
        self.what = what
        self.where = ""
        self.hint = ""


def encode(value: Any) -> str:
    """JSON text of a value.

    Raises:
        NotExactError: if the value is of a type that would not come back the same.
    """
    return compact_json(_pack(value))


def encode_plain(value: Any) -> str:
    """Return the result of ``encode`` for plain JSON data."""
    text = compact_json(value)
    return encode(value) if _TAG in text else text


def decode(text: str) -> Any:
    """The value behind a text that ``encode`` made."""
    value = parse_json(text)
    return _unpack(value) if _TAG in text else value


def jsonable(value: Any, *, depth: int = 12) -> Any:
    """Any value as plain JSON data, approximated if need be, for display and files that others read. NaN stays NaN."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth == 0:
        return repr(value)[:200]
    if isinstance(value, dict):
        is_done = kind is dict and _is_flat(value)
        return dict(value) if is_done else {str(key): jsonable(item, depth=depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item, depth=depth - 1) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return f"<{len(value)} bytes>"
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return jsonable(value.tolist(), depth=depth - 1)
    if isinstance(value, (str, int, float)):
        base = kind.__mro__[-2]
        return base(value) if base in _PLAIN and not isinstance(value, WrittenNumber) else str(value)
    return repr(value)[:500]


def jsonable_as_json(value: Any) -> str:
    """``jsonable`` of a value as ``compact_json`` writes it."""
    return compact_json(value if type(value) is dict and _is_row(value) else jsonable(value))


def _is_flat(value: dict[Any, Any]) -> bool:
    """Return whether a dictionary holds nothing but plain values under texts, as most rows do."""
    return _TEXT.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values()))


def _is_row(value: dict[Any, Any]) -> bool:
    """Return whether a dictionary holds nothing but plain values, and lists of them, under texts, as nearly all rows
    do.
    """
    if not _TEXT.issuperset(map(type, value)):
        return False
    for item in value.values():
        kind = type(item)
        if kind not in _PLAIN and not (kind is list and _PLAIN.issuperset(map(type, item))):
            return False
    return True


def is_nan(value: Any) -> bool:
    """Return whether a value is a float NaN."""
    return isinstance(value, float) and math.isnan(value)


def _pack(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return list(value) if _PLAIN.issuperset(map(type, value)) else [_pack(item) for item in value]
    if kind is dict:
        if _is_flat(value) and _TAG not in value:
            return value
        if all(type(key) is str for key in value) and _TAG not in value:
            return {key: _pack(item) for key, item in value.items()}
        return {_TAG: "dict", "v": [[_pack(key), _pack(item)] for key, item in value.items()]}
    if kind is tuple:
        return {_TAG: "tuple", "v": [_pack(item) for item in value]}
    is_scalar = kind.__module__ == "numpy" and kind.__name__ != "ndarray" and getattr(value, "shape", None) == ()
    if is_scalar and hasattr(value, "dtype"):
        name = value.dtype.name
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            return {_TAG: "np", "t": name, "v": value.item()}
    raise NotExactError(f"A value of type {kind.__module__}.{kind.__qualname__} cannot be stored exactly.")


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    if tag is None:
        return {key: _unpack(item) for key, item in value.items()}
    if tag == "tuple":
        return tuple(_unpack(item) for item in value["v"])
    if tag == "dict":
        return {_unpack(key): _unpack(item) for key, item in value["v"]}
    import numpy as np

    return np.dtype(value["t"]).type(value["v"])
