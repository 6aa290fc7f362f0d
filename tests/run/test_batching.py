"""Which requests share a batch: every request leaves once, with its like, the longest first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.content import Image, Text
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Request
from polymeter.run.dispatch.batch.batching import ReadyQueue, estimated_length, settings_key

items = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=40)
sizes = st.none() | st.integers(1, 6)


def filled(found: list[tuple[str, int]], size: int | None) -> ReadyQueue[tuple[int, str, int]]:
    queue: ReadyQueue[tuple[int, str, int]] = ReadyQueue(lambda key, longest: size)
    for number, (key, length) in enumerate(found):
        queue.add((number, key, length), key, length)
    return queue


@settings(deadline=None)
@given(items, sizes)
def test_every_request_leaves_once_in_a_batch_of_its_like(found: list[tuple[str, int]], size: int | None) -> None:
    queue = filled(found, size)
    left = len(queue)
    assert left == len(found)
    seen: list[tuple[int, str, int]] = []
    while batch := queue.take(is_partial_fine=True):
        left -= len(batch)
        assert len(queue) == left
        assert len(batch) <= (size or len(found))
        assert len({key for _, key, _ in batch}) == 1
        lengths = [length for _, _, length in batch]
        assert lengths == sorted(lengths, reverse=True)
        seen.extend(batch)
    assert sorted(seen) == [(number, key, length) for number, (key, length) in enumerate(found)]
    assert len(queue) == 0


@settings(deadline=None)
@given(items, sizes)
def test_only_full_batches_leave_while_more_can_come(found: list[tuple[str, int]], size: int | None) -> None:
    queue = filled(found, size)
    while batch := queue.take(is_partial_fine=False):
        assert len(batch) == size
    for key in "abc":
        waiting = sum(one == key for one, _ in found)
        assert size is None or waiting % size < size
    assert len(queue) == sum(
        sum(one == key for one, _ in found) % size if size else sum(one == key for one, _ in found) for key in "abc"
    )


@settings(deadline=None)
@given(items)
def test_the_longest_of_a_key_come_before_the_shorter(found: list[tuple[str, int]]) -> None:
    queue = filled([("a", length) for _, length in found], 3)
    lengths: list[int] = []
    while batch := queue.take(is_partial_fine=True):
        lengths.extend(length for _, _, length in batch)
    assert lengths == sorted((length for _, length in found), reverse=True)


def test_equal_lengths_keep_their_order() -> None:
    queue = filled([("a", 7)] * 5, None)
    assert [number for number, _, _ in queue.take(is_partial_fine=True)] == [0, 1, 2, 3, 4]


def test_when_nothing_more_comes_whoever_waits_longest_goes_first() -> None:
    queue = filled([("b", 1), ("a", 99), ("a", 98)], 8)
    assert [key for _, key, _ in queue.take(is_partial_fine=True)] == ["b"]


def test_the_fullest_group_goes_first() -> None:
    queue = filled([("a", 1)] * 2 + [("b", 1)] * 5, 2)
    assert [key for _, key, _ in queue.take(is_partial_fine=False)] == ["b", "b"]


def test_a_key_may_have_a_size_of_its_own() -> None:
    queue: ReadyQueue[int] = ReadyQueue(lambda key, longest: 2 if key == "few" else 8)
    for number in range(4):
        queue.add(number, "few", 1)
        queue.add(number, "many", 1)
    batches = []
    while batch := queue.take(is_partial_fine=True):
        batches.append(len(batch))
    assert batches == [2, 2, 4]


def test_an_empty_queue_has_no_batch() -> None:
    assert ReadyQueue(lambda key, longest: 3).take(is_partial_fine=True) == []


def asking(ask: Any, *parts: Any) -> Request:
    return Request((Message("user", parts),), ask)


BASE = Generate(5, 0.5, 0.9, ("x",), 1, 0, {"top_k": 3})


@pytest.mark.parametrize(
    ("changes", "is_together"),
    [
        ({}, True),
        ({"seed": 2}, True),
        ({"repeat": 1}, True),
        ({"extra": {"top_k": 3}}, True),
        ({"max_new_tokens": 6}, False),
        ({"temperature": 0.0}, False),
        ({"top_p": 1.0}, False),
        ({"stop": ()}, False),
        ({"extra": {"top_k": [3]}}, False),
    ],
)
def test_settings_part_requests_and_seeds_do_not(changes: dict[str, Any], is_together: bool) -> None:
    key = settings_key(asking(replace(BASE, **changes)))
    assert (key == settings_key(asking(BASE))) == is_together
    hash(key)


def test_asks_of_different_kinds_are_parted() -> None:
    asks = [
        Generate(),
        Loglikelihood(("a",)),
        GenerateImage(),
        GenerateImage(size=(2, 2)),
        GenerateImage(extra={"a": {}}),
    ]
    assert len({settings_key(asking(ask)) for ask in asks}) == len(asks)
    assert settings_key(asking(Loglikelihood(("a",)))) == settings_key(asking(Loglikelihood(("b", "c"))))


def test_length_grows_with_text_and_media() -> None:
    lengths = [
        estimated_length(asking(BASE, *parts))
        for parts in ((), (Text("ab"),), (Image(b""), Text("ab")), (Image(b""), Image(b"")))
    ]
    assert lengths == sorted(set(lengths))
    assert lengths[:2] == [0, 2]
