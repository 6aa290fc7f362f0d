"""JSON text without bare NaN, and numbers that come back."""

import json
import math

import numpy as np
import pytest

from polymeter.core.text.json_text import as_number, json_text, strict


def refuse(word):
    raise AssertionError(f"a bare {word}")


def load(text):
    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 1.5, 0, None, "text", [1.0, math.nan], {"a": math.inf}]
)
def test_numbers_come_back_from_their_spelling(value):
    back = as_number(load(json_text({"x": value}))["x"])
    assert repr(back) == repr(value)


def test_a_nan_of_other_data_is_null_and_an_infinity_stays_one():
    assert load(json_text({"a": math.nan, "b": [math.inf]}, nan=None)) == {"a": None, "b": ["Infinity"]}


def test_keys_tuples_and_what_default_makes_are_written_without_bare_words():
    value = {math.nan: (math.nan,), "scalar": np.float64("nan"), "array": np.array([1.0, np.inf])}
    text = json_text(value, default=lambda item: item.tolist())
    assert load(text) == {"NaN": ["NaN"], "scalar": "NaN", "array": [1.0, "Infinity"]}


def test_a_finite_value_is_written_as_python_writes_it():
    value = {"a": [1, 2.5, "東京", None, True], "b": {"c": "</script>"}}
    assert json_text(value) == json.dumps(value, ensure_ascii=False)
    assert json_text(value, indent=2) == json.dumps(value, ensure_ascii=False, indent=2)
    assert json_text(value, is_compact=True) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert json_text(value, is_ascii=True) == json.dumps(value)


def test_half_a_character_is_written_as_its_escape_and_comes_back():
    text = json_text({"cut": "a\ud83d", "whole": "😀"})
    assert text.encode()
    assert load(text) == {"cut": "a\ud83d", "whole": "😀"}


def test_a_text_with_bare_words_is_repaired_and_any_other_is_untouched():
    assert load(strict('{"a":NaN,"b":[-Infinity],"c":"NaN Infinity"}')) == {
        "a": "NaN",
        "b": ["-Infinity"],
        "c": "NaN Infinity",
    }
    assert load(strict('{"a":NaN}', nan=None)) == {"a": None}
    assert strict('{ "a" : 1 }') == '{ "a" : 1 }'


def test_a_value_that_contains_itself_is_an_error_and_never_a_hang():
    value = []
    value.append(value)
    with pytest.raises((ValueError, RecursionError)):
        json_text(value)
