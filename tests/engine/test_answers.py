"""Stop strings are applied to every answer alike, behind the reasoning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.request import Error, Generate, Loglikelihood, Message, Output, Request, Response
from polymeter.engine.answers import finish_response


def finished(said: str, *stops: str) -> Output:
    response = Response((Output(text=said, finish_reason="length"),))
    return finish_response(Request((), Generate(stop=stops)), response).outputs[0]


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
    assert finish_response(Request((), Generate(stop=stops)), response) is response


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
    cut = finish_response(Request((), Generate(stop=(".",))), response)
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
    assert finish_response(Request((Message("user", ()),), ask), response) is response
