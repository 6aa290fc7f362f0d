"""Reasoning is set apart from the answer, whichever tags it has, ended or not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polymeter.core.errors import PlanError
from polymeter.reading.reasoning import (
    REASONING_TAGS,
    Separated,
    last_marks,
    may_open,
    parse_tags,
    separated,
    tags_in_force,
    without_reasoning,
)
from polymeter.reading.stops import cut_at_stop

PIECES = (
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<thi",
    "nk>",
    "a ",
    " b\n",
    "<",
    "/think>",
    "\n\n",
    "<|channel|>",
)


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
@pytest.mark.parametrize("is_opened", [True, False], ids=["opened", "opened by the template"])
def test_each_known_pair(opening: str, closing: str, is_opened: bool) -> None:
    answer = f"{opening * is_opened}It may be Rome.\n{closing}\n\nParis"
    assert separated(answer) == Separated("Paris", has_reasoning=True)
    assert without_reasoning(f"{opening}It may be Rome") == ""
    assert separated(f"{opening}It may be Rome").is_unfinished


@pytest.mark.parametrize(
    ("answer", "left", "is_unfinished"),
    [
        ("<think>a</think>b</think>c", "c", False),
        ("one</think>A <think>two</think>three", "A three", False),
        ("one</think>A <think>never ends", "A", True),
        ("<analysis>a <think>b</think> c</analysis>d", "d", False),
        ("Paris <think>I am sure.</think>", "Paris", False),
        ("<think></think>", "", False),
        ("<think>\n\n</think>\n\nSTOP", "STOP", False),
        ("I think <b>so</b>", "I think <b>so</b>", False),
        ("analysis of data", "analysis of data", False),
        ("analysisWe need a city.assistantfinalParis", "Paris", False),
        ("analysisWe need a city", "", True),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Paris<|return|>",
            "Paris",
            False,
        ),
        ("analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Paris", "Paris", False),
        ("<|channel|>final <|constrain|>JSON<|message|>{}", "{}", False),
        ("<|channel|>commentary<|message|>I call a tool", "", True),
    ],
)
def test_what_is_left(answer: str, left: str, is_unfinished: bool) -> None:
    assert without_reasoning(answer) == left
    assert separated(answer).is_unfinished is is_unfinished


def test_tags_of_ones_own_replace_the_known_ones_and_none_keeps_the_text() -> None:
    assert without_reasoning("[[hm]] <think>A</think>", (("[[", "]]"),)) == "<think>A</think>"
    assert without_reasoning("hm]]A", (("", "]]"),)) == "A"
    assert without_reasoning("]]hm]]A", (("]]", "]]"),)) == "A"
    assert without_reasoning("<think>A</think>B", ()) == "<think>A</think>B"
    assert parse_tags(None, "x") is None
    assert parse_tags("none", "x") == ()
    assert parse_tags('["[[", "]]"]', "x") == (("[[", "]]"),)
    with pytest.raises(PlanError, match="part of the opening tag"):
        parse_tags(["|x|", "|"], "x")


@pytest.mark.parametrize(
    ("answer", "stops", "left"),
    [
        ("<think>\nhm\n</think>\n\nParis\n\nQ: more", ["\n\n"], "<think>\nhm\n</think>\n\nParis"),
        ("hm\n\nhm</think>\n\nParis\n", ["\n"], "hm\n\nhm</think>\n\nParis"),
        ("<think>a\n\nb", ["\n\n"], "<think>a\n\nb"),
        ("\nParis\nQ:", ["\n"], "\nParis"),
        ("\r\nParis\nQ:", ["\n"], "\r\nParis"),
        ("Paris. It is", ["", "."], "Paris"),
        ("\n\n", ["\n"], "\n\n"),
        ("Paris", [], "Paris"),
    ],
)
def test_stop_strings_act_on_the_answer(answer: str, stops: list[str], left: str) -> None:
    assert cut_at_stop(answer, stops) == left


def test_stop_strings_count_from_the_start_where_a_system_has_them_so() -> None:
    assert cut_at_stop("<think>a. b</think>c", ["."], (), is_whole=True) == "<think>a"
    assert cut_at_stop("\nParis", ["\n"], (), is_whole=True) == ""


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example(" b\n<think></think> b\n")
def test_a_text_that_was_cut_at_a_stop_string_stays_as_it_is(text: str) -> None:
    assert cut_at_stop(cut_at_stop(text, ["b", "\n\n"]), ["b", "\n\n"]) == cut_at_stop(text, ["b", "\n\n"])


def test_a_hostile_answer_takes_linear_time() -> None:
    assert without_reasoning("<think></think>" * 50_000 + "A") == "A"
    assert without_reasoning("<think>" * 50_000 + "A") == ""
    assert without_reasoning("x</think>" * 50_000 + "A") == "A"
    assert cut_at_stop("<think></think>b" * 50_000, ["b"]).endswith("</think>")


def test_tags_of_a_template_come_beside_the_usual_ones() -> None:
    tags = tags_in_force(None, None, [["<deep_thought>", "</deep_thought>"]])
    assert without_reasoning("<deep_thought>a</deep_thought>B", tags) == "B"
    assert without_reasoning("<THINK>a</THINK>B", tags) == "B"
    assert without_reasoning("<|channel|>analysis<|message|>a<|channel|>final<|message|>B", tags) == "B"
    assert tags_in_force(None, (), [["<deep_thought>", "</deep_thought>"]]) == ()
    assert tags_in_force((("[", "]"),), (), ()) == (("[", "]"),)
    assert tags_in_force(None, None) is None


def test_a_stop_string_ends_the_answer_before_later_reasoning() -> None:
    answer = "<think>a</think>\n\nParis\n\nQuestion: q9? <think>b</think>\n\nRome"
    assert cut_at_stop(answer, ["\n\n"]) == "<think>a</think>\n\nParis"
    assert cut_at_stop("Let me think.\n\n<think>a</think>\n\nParis\n\nMore", ["\n\n"]).endswith("Paris")


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("The special token is <|channel|>, as in Paris.", "The special token is <|channel|>, as in Paris."),
        ("analysis\u6211\u4eec\u9700\u8981assistantfinalB", "B"),
        ("analysis\nwe need A\nassistantfinal\nB", "B"),
        ("<|START_THINKING|>hm<|END_THINKING|>B", "B"),
    ],
)
def test_marks_of_other_families(answer: str, left: str) -> None:
    assert without_reasoning(answer) == left


@pytest.mark.parametrize("value", [[[None, "</x>"]], ["think", "/think"], [["a", ""]], "nonsense", [1, 2]])
def test_tags_that_make_no_pair_are_refused(value: object) -> None:
    with pytest.raises(PlanError):
        parse_tags(value, "x")


def test_an_answer_that_is_being_written_is_watched() -> None:
    assert last_marks("<think>a</think> b") == (0, 16)
    assert last_marks("analysisWe need")[0] == 0
    assert last_marks("analysisWe assistantfinal")[1] > 0
    assert may_open("<th")
    assert not may_open("<b")
