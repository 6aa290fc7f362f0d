"""Values go through the codec and come back as they were, or not at all."""

from __future__ import annotations

import json
from collections import OrderedDict
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.text.codec import NotExactError, decode, encode, encode_plain, is_nan, json_encoder, jsonable

TAG = "__polymeter__"

texts = st.text(max_size=8) | st.just(TAG)
plain = st.none() | st.booleans() | st.integers() | st.floats() | texts
numpy_scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.integers(0, 255).map(np.uint8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats().map(np.float64),
    st.floats(width=32).map(np.float32),
    st.floats(width=16).map(np.float16),
    st.booleans().map(np.bool_),
)
scalars = plain | numpy_scalars
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=20,
)
json_values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


def is_same(one: Any, other: Any) -> bool:
    """Equality that tells 1 from True and 0.0 from -0.0, and takes NaN for NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict):
        return is_same(list(one.items()), list(other.items()))
    return repr(one) == repr(other)


@settings(deadline=None)
@given(values)
def test_what_is_encoded_comes_back_the_same(value: Any) -> None:
    assert is_same(decode(encode(value)), value)


@settings(deadline=None)
@given(values)
def test_encoded_text_is_json_on_one_line(value: Any) -> None:
    text = encode(value)
    json.loads(text)
    assert "\n" not in text


@settings(deadline=None)
@given(json_values | st.dictionaries(st.integers() | st.booleans() | st.none(), texts), st.booleans(), st.booleans())
def test_the_encoder_writes_what_json_dumps_writes(value: Any, is_ascii: bool, allows_nan: bool) -> None:
    written = json_encoder(is_ascii=is_ascii, allows_nan=allows_nan)
    try:
        expected = json.dumps(value, ensure_ascii=is_ascii, allow_nan=allows_nan, separators=(",", ":"))
    except ValueError:  # a number that is not finite
        with pytest.raises(ValueError):
            written(value)
        return
    assert written(value) == expected


def test_the_encoder_asks_for_what_json_cannot_hold() -> None:
    assert json_encoder(default=str)([1, b"x"]) == """[1,"b'x'"]"""
    with pytest.raises(TypeError):
        json_encoder()(b"x")


@settings(deadline=None)
@given(json_values)
def test_plain_data_is_encoded_alike_with_and_without_a_look_for_more(value: Any) -> None:
    assert encode_plain(value) == encode(value)


class Colour(str, Enum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        frozenset("ab"),
        object(),
        b"bytes",
        1 + 2j,
        len,
        Colour.RED,
        OrderedDict(a=1),
        np.array([1.0, 2.0]),
        np.array(1.0),
        np.datetime64("2024-01-01"),
        np.str_("a"),
        np.longdouble(1) / 3,
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"k": (1, v)}], ids=["bare", "list", "deep"])
def test_what_cannot_be_held_exactly_says_so(value: Any, wrap: Any) -> None:
    with pytest.raises(NotExactError, match="cannot be stored exactly"):
        encode(wrap(value))


@settings(deadline=None)
@given(json_values)
def test_jsonable_leaves_json_as_it_is(value: Any) -> None:
    assert is_same(jsonable(value), value)


@settings(deadline=None)
@given(values)
def test_jsonable_of_any_value_can_be_written(value: Any) -> None:
    json.dumps(jsonable(value))


def test_jsonable_is_a_likeness_for_people() -> None:
    assert jsonable({1: {"a"}, "t": (1, 2)}) == {"1": ["a"], "t": [1, 2]}
    assert jsonable(b"12345") == "<5 bytes>"
    assert jsonable(np.arange(3)) == [0, 1, 2]
    assert jsonable(np.float32(0.5)) == 0.5
    assert jsonable(np.str_("a")) == "a"
    assert jsonable(len) == "<built-in function len>"


def test_jsonable_ends_on_a_value_that_holds_itself() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    json.dumps(jsonable(circle))
    assert jsonable([[[[1]]]], depth=2)[0][0] == repr([[1]])


def test_is_nan_takes_floats_only() -> None:
    assert is_nan(float("nan"))
    assert is_nan(np.float64("nan"))
    assert not is_nan("nan")
    assert not is_nan(None)
    assert not is_nan(0.0)
