"""Answers are checked when they arrive and read when their task gets them: cut behind the reasoning, and without it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.request import ChoiceLogprob, Error, Generate, Loglikelihood, Message, Output, Request, Response
from polymeter.core.task import ReadingRules
from polymeter.run.dispatch.answers import AnswerReader, checked, n_unfinished, stops_of, why_no_choice

WHOLE = ReadingRules(is_separated=False)
USUAL = ReadingRules()


def read(request: Request, response: Response, rules: ReadingRules = WHOLE) -> Response:
    return AnswerReader().read("model", stops_of(request), response, rules)


def finished(said: str, *stops: str) -> Output:
    response = Response((Output(text=said, finish_reason="length"),))
    return read(Request((), Generate(stop=stops)), response).outputs[0]


@pytest.mark.parametrize(
    ("said", "stops", "left"),
    [
        ("Paris\n\nQ: next", ("\n\n",), "Paris"),
        ("a END b STOP c", ("STOP", "END"), "a "),
        ("END", ("END",), ""),
        ("<think>\n\nhm END</think>Paris\n\nQ", ("\n\n", "END"), "<think>\n\nhm END</think>Paris"),
        ("<think>a</think>b</think>c.d", (".",), "<think>a</think>b</think>c"),
        ("<analysis>x.y</analysis>z.", (".",), "<analysis>x.y</analysis>z"),
        ("<think>it never ends. No", (".",), "<think>it never ends. No"),
        ("", ("x",), ""),
    ],
)
def test_an_answer_ends_before_the_first_stop_string(said: str, stops: tuple[str, ...], left: str) -> None:
    output = finished(said, *stops)
    assert output.text == left
    assert output.finish_reason == ("stop" if left != said else "length")


@pytest.mark.parametrize("stops", [(), ("",), ("absent",)])
def test_an_answer_without_a_stop_string_stays_as_it_is(stops: tuple[str, ...]) -> None:
    response = Response((Output(text="said", finish_reason="length"),))
    assert read(Request((), Generate(stop=stops)), response) is response


@settings(deadline=None)
@given(st.text("ab.;"), st.lists(st.text("ab.;", min_size=1, max_size=2), max_size=3))
def test_what_is_left_is_a_beginning_without_any_stop_string(said: str, stops: list[str]) -> None:
    left = finished(said, *stops).text
    assert left is not None
    assert said.startswith(left)
    assert not any(stop in left for stop in stops)
    assert finished(left, *stops).text == left
    if left != said:
        assert any(said[len(left) :].startswith(stop) for stop in stops)


def test_every_output_is_cut_and_keeps_what_else_it_has() -> None:
    outputs = (Output(text="a.b", reasoning="why"), Output(text="c"), Output(text=None))
    response = Response(outputs, latency_ms=3.0)
    cut = read(Request((), Generate(stop=(".",))), response)
    assert [output.text for output in cut.outputs] == ["a", "c", None]
    assert (cut.outputs[0].reasoning, cut.latency_ms) == ("why", 3.0)


@pytest.mark.parametrize(
    ("ask", "response"),
    [
        (Loglikelihood(("a",)), Response.of_text("a.b")),
        (Generate(stop=(".",)), Response(error=Error("permanent", "a.b"))),
    ],
)
def test_errors_and_other_asks_pass(ask: Any, response: Response) -> None:
    assert read(Request((Message("user", ()),), ask), response) is response


def test_wrapped_models_apply_stop_strings_themselves() -> None:
    response = Response.of_text("a.b")
    assert AnswerReader(frozenset({"model"})).read("model", (".",), response, USUAL) is response
    assert AnswerReader(frozenset({"model"})).read("judge", (".",), response, USUAL).text == "a"


@pytest.mark.parametrize(
    ("said", "rules", "left", "unfinished"),
    [
        ("<think>\nhm\n</think>\n\nParis\n\nQ", USUAL, "Paris", 0),
        ("<think>perhaps 540", USUAL, "", 1),
        ("<think>perhaps 540", WHOLE, "<think>perhaps 540", 0),
        ("[[hm. 1]] 2. 3", ReadingRules((("[[", "]]"),)), "2. 3", 0),
        ("<think>a</think> b", ReadingRules(()), "<think>a</think> b", 0),
    ],
)
def test_reasoning_is_set_apart_before_an_answer_is_cut(
    said: str, rules: ReadingRules, left: str, unfinished: int
) -> None:
    response = Response((Output(text=said, finish_reason="length"),))
    assert read(Request((), Generate(stop=("\n\n",))), response, rules).text == left
    assert n_unfinished(response, rules) == unfinished


def test_reasoning_that_came_apart_and_filled_the_limit_is_unfinished() -> None:
    assert n_unfinished(Response((Output("", reasoning="hm", finish_reason="length"),)), USUAL) == 1
    assert n_unfinished(Response((Output("", reasoning="hm", finish_reason="stop"),)), USUAL) == 0
    assert n_unfinished(Response((Output("a", reasoning="hm", finish_reason="length"),)), USUAL) == 0


@pytest.mark.parametrize(
    ("logprobs", "why"),
    [
        ([-1.0, -math.inf], ""),
        ([-math.inf], ""),
        ([-math.inf, -math.inf], "all 2 choices"),
        ([-1.0, math.nan], "NaN"),
        ([-1.0, math.inf], "infinite"),
        ([], ""),
    ],
)
def test_logarithms_that_prefer_nothing(logprobs: list[float], why: str) -> None:
    responses = [Response((Output(logprobs=tuple(ChoiceLogprob(one, False, 1) for one in logprobs)),))]
    assert why in why_no_choice(responses)
    assert bool(why) == bool(why_no_choice(responses))
    asked = Request((), Loglikelihood(tuple(map(str, logprobs)) or ("a",)))
    assert not logprobs or checked(asked, responses[0]).error is None
