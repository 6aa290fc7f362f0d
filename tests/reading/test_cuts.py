"""Which answers count as truncated."""

from __future__ import annotations

import json

import pytest

from polymeter.core.task import USUAL_READING, ReadingRules
from polymeter.reading.cuts import cuts_in, truncation_of

KEPT = ReadingRules(is_separated=False)


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ({"text": "Paris", "finish_reason": "stop"}, set()),
        ({"text": "Par", "finish_reason": "length"}, {"length"}),
        ({"text": "", "finish_reason": "stop"}, set()),
        ({"text": " ", "reasoning": "hm", "finish_reason": "stop"}, {"empty"}),
        ({"text": "", "reasoning": "hm", "finish_reason": "length"}, {"empty", "length"}),
        ({"text": "", "usage": [9, 8, 8]}, {"empty"}),
        ({"text": "", "usage": [9, 8, 0]}, set()),
        ({"text": "", "usage": [9, 8]}, set()),
        ({"text": "<think>hm</think>"}, {"empty"}),
        ({"text": "[THINK]hm"}, {"empty"}),
        ({"text": "<think>hm</think>Paris"}, set()),
        ({"text": "", "reasoning": "hm", "tool_calls": [{}]}, set()),
        ({"logprobs": [[-1.0, True, 1]]}, set()),
        ({"text": "a", "cut": {"images": "", "prompt": "raise it"}}, {"images", "prompt"}),
    ],
)
def test_kinds_of_one_answer(output, found):
    assert cuts_in([output], USUAL_READING) == found


def test_reasoning_that_the_benchmark_reads_itself_is_no_empty_answer():
    assert cuts_in([{"text": "<think>hm</think>"}], KEPT) == set()
    assert cuts_in([{"text": "", "reasoning": "hm"}], KEPT) == {"empty"}
    assert cuts_in([{"text": "<deep>hm</deep>"}], ReadingRules((("<deep>", "</deep>"),))) == {"empty"}


def body(**output):
    return json.dumps({"outputs": [output]}, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("rules", [USUAL_READING, KEPT, None, ReadingRules((("<think>", "</think>"),))])
def test_answers_are_counted_once_each(rules):
    bodies = [
        body(text="Paris", finish_reason="stop", usage=[1, 2, None]),
        body(text="Par", finish_reason="length"),
        body(text="", reasoning="hm", finish_reason="length"),
        body(text="a", cut={"prompt": "raise num_ctx"}),
        "{damaged",
    ]
    counted = truncation_of(bodies, rules)
    assert (counted.n_answers, counted.counts) == (5, {"length": 2, "empty": 1, "prompt": 1})
    assert counted.advice_on("prompt") == "raise num_ctx"
    assert counted.advice_on("images") == ""


@pytest.mark.parametrize("text", ["<think>hm", "[THINK]hm", "◁think▷hm", "analysisWe think", "<|channel|>analysis hm"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_no_tag_is_missed_without_parsing(text, is_ascii):
    written = json.dumps({"outputs": [{"text": text}]}, ensure_ascii=is_ascii, separators=(",", ":"))
    assert truncation_of([written], USUAL_READING).counts == {"empty": 1}


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\r\n\t", "\x0b\x0c\x1f", "\u00a0\u3000"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_white_space_after_hidden_reasoning_is_an_empty_answer(text, is_ascii):
    output = {"text": text, "finish_reason": "stop", "usage": [9, 8, 8]}
    stored = json.dumps({"outputs": [output]}, ensure_ascii=is_ascii, separators=(",", ":"))
    assert truncation_of([stored], USUAL_READING).counts == {"empty": 1}


def test_an_answer_that_only_says_so_is_not_cut():
    said = 'it is "finish_reason":"length", "cut": {"prompt": 1} and "reasoning":'
    assert truncation_of([body(text=said, finish_reason="stop")], USUAL_READING).counts == {}
