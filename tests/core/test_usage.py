"""Usage: counts that can be added, where unknown is no zero, and one answer that says what several took."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import ModelError
from polymeter.core.records.usage import COUNTS, ModelUsage, told_once, usage_document, usage_of_document
from polymeter.core.request import Output, Response, Usage

counts = st.none() | st.integers(0, 9)
usages = st.builds(
    ModelUsage,
    **dict.fromkeys(COUNTS, counts),
    requests=st.integers(0, 9),
    unknown=st.dictionaries(st.sampled_from(COUNTS), st.integers(1, 9)),
)


@given(usages, usages, usages)
def test_addition_has_no_order_and_nothing_is_its_zero(one: ModelUsage, two: ModelUsage, three: ModelUsage) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + ModelUsage() == one


@given(usages, usages)
def test_usage_survives_its_file(one: ModelUsage, two: ModelUsage) -> None:
    usage = {("model", "a:b/c"): one, ("judge", "x"): two, ("judge", "y"): one}
    assert usage_of_document(json.loads(json.dumps(usage_document(usage)))) == usage


def test_a_file_of_a_later_version_can_be_read() -> None:
    assert usage_of_document({"model": {"m": {"input": 3, "videos": 2}}}) == {("model", "m"): ModelUsage(input=3)}


@pytest.mark.parametrize(
    ("one", "other", "expected", "why"),
    [
        (ModelUsage(input=3), ModelUsage(input=4), 7, "both are known"),
        (ModelUsage(input=3), ModelUsage(unknown={"input": 2}), 3, "a lower bound"),
        (ModelUsage(), ModelUsage(unknown={"input": 2}), None, "nobody says it"),
        (ModelUsage(input=0), ModelUsage(), 0, "a zero that is told is known"),
    ],
)
def test_unknown_is_no_zero(one: ModelUsage, other: ModelUsage, expected: int | None, why: str) -> None:
    assert (one + other).input == expected, why
    assert (one + other).unknown == other.unknown


def test_a_prompt_is_what_was_cached_and_what_was_not() -> None:
    assert ModelUsage(input=3, cached_read=4, cached_write=5).prompt == 12
    assert ModelUsage(cached_read=4).prompt == 4
    assert ModelUsage().prompt is None


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([Usage(10, 8, None, 4), None, None], [Usage(10, 8, None, 4), Usage(0, 0, None, 0), Usage(0, 0, None, 0)]),
        ([Usage(10, 8), Usage(3, 2), None], [Usage(10, 8), Usage(3, 2), Usage(0, 0)]),
        ([None, Usage(3, 2)], [None, Usage(3, 2)]),
    ],
    ids=["one call", "one was asked alone", "the first says nothing"],
)
def test_what_a_call_took_is_told_once(told: list[Any], expected: list[Any]) -> None:
    responses = told_once([Response((Output(text="x", usage=usage),)) for usage in told])
    assert [response.outputs[0].usage for response in responses] == expected


def test_the_media_of_a_call_are_of_its_first_answer() -> None:
    failed, said = Response.failed(ModelError("no image")), Response.of_text("x")
    counted = Response((Output(text="x", usage=Usage(3, 2)),))
    assert [one.is_joined for one in told_once([said, said, counted, said])] == [False, True, False, True]
    assert [one.is_joined for one in told_once([failed, said, said])] == [False, False, True]
    assert [one.is_joined for one in told_once([failed, failed])] == [False, False]
