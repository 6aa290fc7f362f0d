"""The judge that a benchmark's own code is handed."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import PROMPT_VERSION, Error, Generate, Request, Response
from polymeter.judge import GRADE_PROMPT, RATING_PROMPT, LLMJudge, prompt_version
from polymeter.store.wire import write_request


class RoleClient:
    """Says one thing and notes what it was asked and told."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Request]] = []
        self.refused: list[str] = []

    def __call__(self, role: str, request: Request) -> Response:
        self.asked.append((role, request))
        return self.answer

    def refuse(self, why: str) -> None:
        self.refused.append(why)


def asked(judge: LLMJudge, answer: str = "A", **how: Any) -> Request:
    asker = RoleClient(Response.of_text(answer))
    with answering_through(asker):
        assert judge(judge.build_prompt("4", "four", "2 + 2?"), **how) == answer
    ((role, request),) = asker.asked
    assert role == "judge"
    return request


def test_the_prompt_holds_question_reference_and_answer() -> None:
    prompt = LLMJudge().build_prompt("4", "four", "2 + 2?")
    assert prompt == GRADE_PROMPT.format(question="2 + 2?", gold="four", pred="4")
    assert "Not provided" in LLMJudge().build_prompt("4", "four")
    assert "['four', 4]" in LLMJudge().build_prompt(4, ["four", 4])


def test_what_is_filled_in_is_not_searched_for_fields() -> None:
    judge = LLMJudge(prompt_template='{pred} | {gold} | {"json": {question}} {other}')
    assert judge.build_prompt("{gold}", "secret", "{pred}") == '{gold} | secret | {"json": {pred}} {other}'


def test_the_environment_may_bring_the_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_SYSTEM_PROMPT", "Be strict.")
    monkeypatch.setenv("JUDGE_PROMPT_TEMPLATE", "{pred}?")
    assert [message.text for message in asked(LLMJudge()).messages] == ["Be strict.", "4?"]
    assert [
        message.text for message in asked(LLMJudge(prompt_template="{gold}"), system_prompt="Be kind.").messages
    ] == [
        "Be kind.",
        "four",
    ]


def test_a_question_is_greedy_and_short_unless_told_otherwise() -> None:
    assert asked(LLMJudge()).parameters == Generate(1024, 0.0)
    told = {"temperature": 0.5, "max_tokens": 8, "top_p": 0.9, "stop": "\n", "enable_thinking": False}
    assert asked(LLMJudge(generation_config=told)).parameters == Generate(
        8, 0.5, 0.9, ("\n",), extra={"enable_thinking": False}
    )


def test_a_question_carries_the_version_of_its_prompt() -> None:
    judge = LLMJudge()
    request = asked(judge)
    assert request.origin is not None
    assert request.origin.metadata[PROMPT_VERSION] == judge.prompt_version == prompt_version(GRADE_PROMPT)
    assert f'"{PROMPT_VERSION}":"{judge.prompt_version}"' in write_request(request, lambda medium: {})
    versions = {LLMJudge(system_prompt="x").prompt_version, LLMJudge(prompt_template="x").prompt_version}
    assert len({*versions, judge.prompt_version, LLMJudge(score_type="numeric").prompt_version}) == 4


@pytest.mark.parametrize(
    ("said", "score"), [("A", 1.0), ("B", 0.0), ("A: CORRECT", 1.0), ("It fits.\nVerdict: A", 1.0)]
)
def test_grades_become_scores(said: str, score: float) -> None:
    assert LLMJudge().get_score(said) == score


def test_numbers_are_scores() -> None:
    judge = LLMJudge(score_type="numeric")
    assert judge.prompt_template == RATING_PROMPT
    assert judge.get_score("Good.\nRating: [[0.75]]") == 0.75
    own = LLMJudge(score_type="numeric", prompt_template="From 1 to 10: {pred}")
    assert own.get_score("[[8]]") == 8.0, "its own prompt, its own scale"


def test_a_mapping_of_one_s_own() -> None:
    judge = LLMJudge(score_pattern="(A|B|C)", score_mapping={"A": 1, "B": 0.5, "C": 0})
    assert [judge.get_score(grade) for grade in "ABC"] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("said", ["", None, "All of it is right.", "[[2]]"])
@pytest.mark.parametrize("score_type", ["pattern", "numeric"])
def test_an_unusable_verdict_is_an_error_that_the_run_hears_of(said: str | None, score_type: Any) -> None:
    asker = RoleClient(Response.of_text(""))
    with answering_through(asker), pytest.raises(UnscoredError) as caught:
        LLMJudge(score_type=score_type).get_score(said)
    assert asker.refused == [str(caught.value)]


def test_a_judge_that_fails_is_an_error() -> None:
    failed = Response(error=Error("permanent", "no such model"))
    with answering_through(RoleClient(failed)), pytest.raises(UnscoredError, match="could not be asked: no such model"):
        LLMJudge()("?")


def test_without_a_judge_the_error_says_how_to_name_one() -> None:
    with pytest.raises(PlanError) as caught:
        LLMJudge()("?")
    assert caught.value.hint == "Name one with --judge."


def test_an_unknown_score_type_names_the_nearest() -> None:
    with pytest.raises(PlanError, match="Unknown score_type of a judge: 'numerical'") as caught:
        LLMJudge(score_type="numerical")  # type: ignore[arg-type]
    assert "'numeric'" in caught.value.hint


def test_a_pattern_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(PlanError, match=r"score_pattern '\(A'"):
        LLMJudge(score_pattern="(A")


def test_keys_are_not_kept() -> None:
    judge = LLMJudge("sk-secret", "https://x/v1", "gpt-4", other="sk-secret")
    assert "sk-secret" not in str(vars(judge))
