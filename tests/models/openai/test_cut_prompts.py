"""Prompts that a server states to have truncated."""

from __future__ import annotations

import pytest

from polymeter.core.content import Text
from polymeter.core.request import Generate, Message, Request, Usage
from polymeter.models.openai.cut_prompts import cut_of, n_words


def request(*said: tuple[str, str]) -> Request:
    return Request(tuple(Message(role, (Text(text),)) for role, text in said), Generate(8))


def answer(reason: str = "stop", **more: object) -> dict[str, object]:
    return {"choices": [{"finish_reason": reason}], **more}


def test_only_long_prompts_of_the_user_are_counted_by_words():
    assert n_words(request(("user", "word " * 600))) == 600
    assert n_words(request(("user", "word " * 511))) == 0
    assert n_words(request(("user", "a1 - 7 " * 600))) == 0
    assert n_words(request(("user", "x" * 5000))) == 0
    assert n_words(request(("assistant", "word " * 600), ("user", "next"))) == 0


@pytest.mark.parametrize(
    ("payload", "settings", "usage", "words", "is_cut"),
    [
        (answer(), {}, Usage(2050), 6000, True),
        (answer(), {}, Usage(7000), 6000, False),
        (answer(), {}, Usage(0), 6000, False),
        (answer(), {}, Usage(2050, cached_tokens=5000), 6000, False),
        (answer(), {}, Usage(2050, cached_tokens=64), 6000, True),
        (answer(), {"truncate_prompt_tokens": -1}, Usage(2050), 6000, True),
        (answer(), {}, None, 6000, False),
        (answer(), {}, Usage(7), 0, False),
        (answer(), {"truncate_prompt_tokens": 64}, Usage(64), 0, True),
        (answer(), {"truncate_prompt_tokens": 64}, Usage(63), 0, False),
        (answer(), {"truncate_prompt_tokens": -1}, Usage(63), 0, False),
        (answer(truncated=True), {}, Usage(7), 0, True),
        (answer(truncated=False), {}, Usage(7), 0, False),
        (answer(__verbose={"truncated": True}), {}, Usage(7), 0, True),
        (answer("length", truncated=True), {}, Usage(7), 0, False),
    ],
)
def test_what_servers_state(payload, settings, usage, words, is_cut):
    found = cut_of(payload, settings, usage, words)
    assert (found is not None) is is_cut
    assert not is_cut or "raise" in found["prompt"]
