"""Rules first, then the judge, never chance."""

from __future__ import annotations

import pytest

from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Generate
from polymeter.core.role_client import no_role_client
from polymeter.tasks.table.classes.multiple_choice.reading import OptionRead, may_ask, read_choice
from tests.tasks.table.classes.kit import Judge

_CHOICES = {"A": "lion", "B": "mouse", "C": "whale"}
_VAGUE = "the one that lives in the sea"


def read(answer: str, judge: Judge, **how: bool) -> OptionRead:
    with answering_through(judge):
        return read_choice(answer, _CHOICES, "Which is largest?", is_judged=True, **how)


def test_the_judge_is_not_asked_what_the_rules_can_read() -> None:
    judge = Judge("A")
    assert read("(B)", judge) == OptionRead("B", "rules")
    assert read("Cannot determine the answer", judge) == OptionRead(None, "rules")
    assert read("  ", judge) == OptionRead(None, "none")
    assert judge.asked == []


def test_the_judge_reads_what_the_rules_cannot() -> None:
    judge = Judge("C")
    assert read(_VAGUE, judge) == OptionRead("C", "judge")
    (request,) = judge.asked
    text = request.messages[-1].text
    assert "Which is largest?\nA. lion\nB. mouse\nC. whale" in text
    assert _VAGUE in text
    assert isinstance(request.parameters, Generate)
    assert request.parameters.temperature == 0
    assert read(_VAGUE, Judge("Z")) == OptionRead(None, "judge")


def test_without_a_judge_nothing_is_named() -> None:
    assert read_choice(_VAGUE, _CHOICES, "", is_judged=False) == OptionRead(None, "none")


def test_a_verdict_that_is_none_is_asked_for_again() -> None:
    judge = Judge("It could be A or C.", "D", "Answer: it is\nC")
    assert read(_VAGUE, judge) == OptionRead("C", "judge")
    asks = [request.parameters for request in judge.asked]
    assert [ask.temperature for ask in asks if isinstance(ask, Generate)] == [0, 0.5, 1]
    assert judge.refused == []


def test_three_unusable_verdicts_are_no_score() -> None:
    judge = Judge("hmm")
    with pytest.raises(UnscoredError, match="does not show a verdict"):
        read(_VAGUE, judge)
    assert len(judge.asked) == 3
    assert len(judge.refused) == 1


def test_a_judge_that_fails_is_no_score() -> None:
    judge = Judge(None)
    with pytest.raises(UnscoredError, match="could not be asked: out of order"):
        read(_VAGUE, judge)
    assert len(judge.asked) == 1


def test_letters_that_were_not_shown_name_nothing() -> None:
    assert read_choice("A", {"A": "lion", "B": "others"}, "", is_judged=False, by_letter=False).option is None


def test_whether_a_judge_may_be_asked() -> None:
    with answering_through(Judge("A")):
        assert may_ask({})
        assert may_ask({"model": "gpt"})
        assert not may_ask({"model": "exact_matching"})
    with answering_through(no_role_client):
        assert not may_ask({})
        with pytest.raises(PlanError, match="judge 'gpt' is needed to read answers"):
            may_ask({"model": "gpt"})
