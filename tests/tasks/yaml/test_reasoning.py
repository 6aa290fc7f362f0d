"""Task code gets answers whose reasoning was removed by one set of rules, with or without the tag that opens it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.tasks.yaml.scoring.reasoning import TAGS, strip_reasoning

TOKENS = ("<think>", "</think>", "<analysis>", "</analysis>", "<thi", "nk>", "a ", " b\n", "<", "/think>")


def searched_again_after_each_removal(text: str) -> str:
    """The rules of lmms-eval 0.7.2 as one would write them down: slow, and obviously right."""
    for opening, closing in TAGS:
        while (start := text.find(opening)) >= 0 and (end := text.find(closing, start)) >= 0:
            text = text[:start] + text[end + len(closing) :]
        if opening not in text and closing in text:
            text = text.rpartition(closing)[2]
    return text.strip()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("reasoning only</think>\n\nNo", "No"),
        ("<think>yes</think>No", "No"),
        ("one</think>two</think> three", "three"),
        ("one</think>A <think>two</think>three", "A three"),
        ("one</think>A <think>never ends", "one</think>A <think>never ends"),
        ("<think>never ends", "<think>never ends"),
        ("x</analysis>y", "y"),
        ("<think>a</think>b</analysis>c", "c"),
        ("</think>", ""),
        (" plain ", "plain"),
    ],
)
def test_what_remains_without_reasoning(said: str, left: str) -> None:
    assert strip_reasoning(said) == left


def test_tags_of_ones_own_replace_the_known_ones() -> None:
    assert strip_reasoning("hm]] <think>A</think>", (("[[", "]]"),)) == "<think>A</think>"
    assert strip_reasoning("|hm|A", (("|", "|"),)) == "A"


@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
def test_the_rules_are_those_of_lmms_eval(text: str) -> None:
    assert strip_reasoning(text) == searched_again_after_each_removal(text)


def test_a_hostile_answer_takes_linear_time() -> None:
    assert strip_reasoning("<think></think>" * 50_000 + "A") == "A"
    assert strip_reasoning("<th" * 50_000 + "<think></think>" + "ink>x</think>" * 50_000) == ""
