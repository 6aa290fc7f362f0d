"""Failures of one kind: what belongs to a sample makes no kind of its own, and no path of this machine is told."""

from __future__ import annotations

import pytest

from polymeter.store.reading.failures import failure_kinds


def kinds(*messages: str) -> list[tuple[int, str]]:
    found = failure_kinds((str(number), "error", message) for number, message in enumerate(messages))
    return [(kind.n, kind.message) for kind in found]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cannot read the image photos/7.png: truncated.", "Cannot read the image photos/12.png: truncated."),
        ("Cannot read the image /a/b/7.png: truncated.", "Cannot read the image /c/12.jpeg: truncated."),
        ("no file 'cat.jpg'", "no file 'dog.jpg'"),
        ("timed out after 10.2 s", "timed out after 11.0 s"),
        ("request 0a1b2c3d4e5f failed", "request ffeeddccbbaa failed"),
    ],
)
def test_what_belongs_to_the_sample_is_factored_out(one: str, other: str) -> None:
    assert [n for n, _ in kinds(one, other, one)] == [3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'captial'", "KeyError: 'country'"),
        ("division by zero [mine/utils.py:6]", "division by zero [mine/utils.py:9]"),
        ("Cannot read the image 7.png: truncated.", "Cannot read the image 8.png: empty."),
    ],
)
def test_another_reason_is_another_kind(one: str, other: str) -> None:
    assert [n for n, _ in kinds(one, other)] == [1, 1]


def test_the_most_frequent_comes_first_with_its_first_sample() -> None:
    found = failure_kinds([("a", "error", "odd"), ("b", "refused", "no"), ("c", "refused", "no")])
    assert [(kind.n, kind.sample, kind.status) for kind in found] == [(2, "b", "refused"), (1, "a", "error")]


def test_an_id_in_the_message_is_the_samples_own() -> None:
    found = failure_kinds([("img_one", "error", "img_one is odd"), ("img_two", "error", "img_two is odd")])
    assert [kind.n for kind in found] == [2]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Cannot read the image /home/me/x/photos/7.png: cut.", "Cannot read the image photos/7.png: cut."),
        ("oops [/home/me/mine/utils.py:6]", "oops [mine/utils.py:6]"),
        ("asked https://host/v1/chat/completions", "asked https://host/v1/chat/completions"),
        ("no file 'mine/photos/7.png'", "no file 'mine/photos/7.png'"),
        ("and/or is no path", "and/or is no path"),
    ],
)
def test_a_file_is_told_by_its_last_folder(message: str, shown: str) -> None:
    assert kinds(message) == [(1, shown)]


def test_messages_without_end_take_no_memory_without_end() -> None:
    words = ("".join(chr(97 + int(digit)) for digit in str(number)) for number in range(3000))
    assert len(failure_kinds((str(n), "error", f"odd {word}") for n, word in enumerate(words))) == 1000
