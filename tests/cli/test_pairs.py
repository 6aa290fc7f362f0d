"""key=value lists of the command line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.cli.pairs import parse_pairs, parse_places, parse_value, split_list
from polymeter.core.errors import PlanError

KEY = st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", {"a": 1}),
        ("a=-1.5,b=+2,c=1e-4,d=.5,e=3.", {"a": -1.5, "b": 2, "c": 1e-4, "d": 0.5, "e": 3.0}),
        ("a=true,b=False,c=None,d=null", {"a": True, "b": False, "c": None, "d": None}),
        ("revision=0123456", {"revision": "0123456"}),
        ("a='7',b='true'", {"a": "7", "b": "true"}),
        ("a='x, y',b=1", {"a": "x, y", "b": 1}),
        ("until=['a,b']".replace("'", '"'), {"until": ["a,b"]}),
        ('a={"x": {"y": [1, 2]}},b=2', {"a": {"x": {"y": [1, 2]}}, "b": 2}),
        ('a="quoted \\" comma, here"', {"a": 'quoted " comma, here'}),
        ("url=http://x/?a=b", {"url": "http://x/?a=b"}),
        ("name=it's fine,b=1", {"name": "it's fine", "b": 1}),
        (" a = 1 , b = two words ", {"a": 1, "b": "two words"}),
        ("a=", {"a": ""}),
        ("a=nan,b=inf,c=e5,d=-,e=.", {"a": "nan", "b": "inf", "c": "e5", "d": "-", "e": "."}),
        ("", {}),
        ("a=1,,", {"a": 1}),
    ],
)
def test_values_are_what_they_look_like(text, value):
    parsed = parse_pairs([text], "--model-args")
    assert parsed == value
    assert {key: type(item) for key, item in parsed.items()} == {key: type(item) for key, item in value.items()}


@given(st.dictionaries(KEY, JSON, max_size=5))
def test_json_values_come_back_exactly(values):
    text = ",".join(f"{key}={json.dumps(value)}" for key, value in values.items())
    assert parse_pairs([text], "--gen-kwargs") == values


@given(
    st.dictionaries(KEY, st.text(alphabet=st.characters(exclude_characters="'", exclude_categories=["Cs"])), max_size=5)
)
def test_quoted_texts_come_back_exactly(values):
    text = ",".join(f"{key}='{value}'" for key, value in values.items())
    assert parse_pairs([text], "--gen-kwargs") == values


@given(st.text(max_size=40))
def test_anything_is_parsed_or_refused_with_the_options_name(text):
    refusal = None
    try:
        parse_pairs([text], "--model-args")
    except PlanError as error:
        refusal = error
    assert refusal is None or refusal.where.startswith("--model-args")


@given(st.lists(st.from_regex(r"[a-z0-9_*:./-]{1,12}", fullmatch=True), max_size=6))
def test_plain_lists_are_split_at_every_comma(names):
    assert split_list(",".join(names), "--tasks") == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("novalue", "'novalue' is not of the form key=value."),
        ("=1", "'=1' is not of the form key=value."),
        ("a=1,a=2", "'a' is given twice."),
        ("a=[1,2", "has no closing ]"),
        ("a='x", "has no closing '"),
        ("a={x}", "is not valid JSON"),
        ("a=[NaN]", "NaN is not JSON"),
    ],
)
def test_what_cannot_be_read_is_refused(text, said):
    with pytest.raises(PlanError) as caught:
        parse_pairs([text], "--model-args")
    assert said in caught.value.what
    assert caught.value.where.startswith("--model-args")


def test_a_key_twice_over_several_options_is_refused():
    with pytest.raises(PlanError, match="given twice"):
        parse_pairs(["a=1", "a=2"], "--model-args")


def test_places_keep_everything_after_the_first_equals():
    assert parse_places(["org/name:cfg=./a=b"], "--data") == {"org/name:cfg": "./a=b"}
    for text in ("org/name", "=x", "x="):
        with pytest.raises(PlanError):
            parse_places([text], "--data")


def test_large_numbers_stay_whole():
    assert parse_value("123456789012345678901234567890", "x") == 123456789012345678901234567890
