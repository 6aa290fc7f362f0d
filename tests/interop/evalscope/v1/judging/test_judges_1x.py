"""Judges of EvalScope 1.x's adapters. ``sessions.json`` holds what EvalScope 1.14.1 makes of the same replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import answering_through, guest_context_with
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Error, Output, Request, Response
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.constants import ScoreStatus, ScoringPolicy
from polymeter.interop.evalscope.v1.judging.contracts import OutputContract
from polymeter.interop.evalscope.v1.judging.definition import JudgeDefinition
from polymeter.interop.evalscope.v1.judging.disagreement import summarize_judge_runs
from polymeter.interop.evalscope.v1.judging.executor import JudgeExecutor, JudgeExecutorConfig
from polymeter.interop.evalscope.v1.judging.llm_judge import LLMJudge
from polymeter.interop.evalscope.v1.judging.records import (
    CaseVerdict,
    JudgeCase,
    JudgeContext,
    JudgeRequest,
    PairwiseOutcome,
    PairwisePlacementOutcome,
    Placement,
    ReducedVerdict,
)
from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig
from polymeter.interop.evalscope.v1.registration import BenchmarkMeta
from polymeter.interop.evalscope.v1.types.messages import ChatMessageUser
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import TaskState

SESSIONS = json.loads((Path(__file__).parent / "sessions.json").read_text("utf-8"))
GRADES = {"A": {"acc": 1.0, "x": 0.5}, "B": {"acc": 0.0}, "C": {"acc": 0.5, "x": 1.0}}


class Verdict(BaseModel):
    verdict: Literal["A", "B", "C"]


class Detailed(BaseModel):
    ok: bool
    n: int = Field(ge=1, le=5, description="how many")
    share: float = Field(ge=0.0)
    items: list[str] = Field(default_factory=list, description="things")
    why: str = Field(alias="because", description="a reason")
    free: str = ""


class Scripted:
    """A judge that gives these replies; ``None``: it fails."""

    def __init__(self, judge_id: str, replies: Sequence[str | None]) -> None:
        self.judge_id = judge_id
        self.replies = list(replies)
        self.asked: list[str] = []

    def generate(self, messages: Sequence[Any], repeat: int = 0) -> ModelOutput:
        self.asked.append(messages[-1].text)
        reply = self.replies.pop(0)
        if reply is None:
            raise UnscoredError("down")
        return ModelOutput.from_content("m", reply)


def _context() -> JudgeContext:
    sample = Sample(input=[ChatMessageUser(content="2 + 2?")], target="4", id=0)
    state = TaskState(model="m", sample=sample, messages=list(sample.input), completed=True)  # type: ignore[arg-type]
    return JudgeContext(task_state=state, original_prediction="It is 4.", filtered_prediction="4", reference="4")


def _graded(fallback: str | None = None) -> JudgeDefinition:
    return JudgeDefinition.labels(
        prompt="P", schema_model=Verdict, scores=GRADES, fallback_verdict=fallback, main_score_name="acc"
    )


def test_a_contract_asks_for_each_field() -> None:
    assert OutputContract(schema_model=Detailed).instruction() == (
        "\n\nReply with a single JSON object and no other text, containing these required keys (additional keys are "
        'allowed):\n- "ok": true or false\n- "n": an integer >= 1 and <= 5\n- "share": a number >= 0.0\n- "items": a '
        'list (things)\n- "because": a string (a reason)\n- "free": a string'
    )
    asked = OutputContract(schema_model=Verdict).instruction().splitlines()[-1]
    assert asked == '- "verdict": exactly one of "A" or "B" or "C"'


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"verdict":"A"}', "A"),
        ('The verdict: {"verdict": "B", "more": {"a": 1}}.', "B"),
        ('```json\n{"verdict":"C"}\n```', "C"),
        ('"{" {"verdict":"A"}', "A"),
        ('}{"verdict":"A"}', "A"),
        ('[{"verdict":"A"}]', "A"),
        ("", "empty"),
        ("A", "0 JSON objects"),
        ('{"verdict":"A"}{"verdict":"A"}', "2 JSON objects"),
        ('{"verdict":"A"', "0 JSON objects"),
        ("{verdict: A}", "no JSON"),
        ('{"verdict":"Z"}', "no Verdict"),
    ],
)
def test_a_reply_holds_exactly_one_object(reply: str, grade: str) -> None:
    found = OutputContract(schema_model=Verdict).parse(reply)
    if found.ok:
        assert found.value.verdict == grade
    else:
        assert grade in str(found.error)


@pytest.mark.parametrize("case", SESSIONS, ids=range(len(SESSIONS)))
def test_a_session_amounts_to_what_it_does_there(case: dict[str, Any]) -> None:
    judges = [Scripted(f"j{number}", replies) for number, replies in enumerate(case["replies"])]
    executor = JudgeExecutor(judges, JudgeExecutorConfig(**case["settings"]))
    definition, context = _graded(case["fallback"]), _context()
    review = executor.execute(definition, context)
    score = executor.build_score(definition, review, context, metadata=review.metadata)
    summary = score.judge_summary
    assert summary is not None
    assert score.metadata is not None
    assert (score.value, score.status.value) == (case["value"], case["status"])
    notes = {name: note for name, note in score.metadata.items() if not name.startswith("judge_")}
    assert (notes, summary.failures) == (case["notes"], case["failures"])
    assert (summary.valid_observations, summary.disagreement) == (case["valid"], case["disagreement"])


def _compared(verdicts: Sequence[CaseVerdict], context: JudgeContext) -> ReducedVerdict:
    results = {"A": ("win", "strong"), "B": ("loss", "weak"), "C": ("tie", "weak")}
    placements = {
        name: PairwisePlacementOutcome(result=results[value.verdict][0], strength=results[value.verdict][1])
        for name, value in verdicts[0].placements.items()
    }
    first = placements["original"]
    outcome = PairwiseOutcome(
        metric_name="win_rate", result=first.result, strength=first.strength, placements=placements
    )
    return ReducedVerdict(value={"win_rate": outcome.score}, outcome=outcome, metadata={"n": len(verdicts)})


def _asked(
    case: JudgeCase, placement: Placement, completed: Sequence[CaseVerdict], context: JudgeContext
) -> JudgeRequest:
    return JudgeRequest(messages=[ChatMessageUser(content=f"{case.case_id} {placement.value} {len(completed)}")])


def test_a_comparison_is_asked_in_both_placements_and_voted() -> None:
    case = JudgeCase(case_id="pair", output_contract=OutputContract(schema_model=Verdict))
    definition = JudgeDefinition.workflow(cases=[case], request=_asked, reduce=_compared, main_score_name="win_rate")
    replies = ['{"verdict":"A"}', '{"verdict":"A"}', '{"verdict":"B"}', '{"verdict":"A"}']
    judge = Scripted("j", replies)
    executor = JudgeExecutor([judge], JudgeExecutorConfig(repeats=2, position_swap=True))
    review = executor.execute(definition, _context())
    assert judge.asked == ["pair original 0", "pair swapped 0"] * 2
    assert review.outcome is not None
    assert (review.outcome.result, review.value) == ("tie", {"win_rate": 0.5}), "one win, one loss: a draw"
    assert review.disagreement["position_consistency"] == 0.5
    assert review.disagreement["swap_flip_count"] == 1


def test_a_pair_without_one_side_has_no_verdict_whatever_the_fallback() -> None:
    case = JudgeCase(case_id="pair", output_contract=OutputContract(schema_model=Verdict))
    definition = JudgeDefinition.workflow(
        cases=[case],
        request=_asked,
        reduce=_compared,
        fallback=lambda case, context: CaseVerdict(case_id=case.case_id, value=Verdict(verdict="C")),
    )
    executor = JudgeExecutor([Scripted("j", ['{"verdict":"A"}', "?"])], JudgeExecutorConfig(position_swap=True))
    assert executor.execute(definition, _context()).status is ScoreStatus.EXCLUDED


def test_cases_follow_from_verdicts_in_at_most_four_stages() -> None:
    def expand(most: int) -> JudgeDefinition:
        def more(stage: int, verdicts: Sequence[CaseVerdict], context: JudgeContext) -> list[JudgeCase]:
            return [] if stage > most else [JudgeCase(case_id=f"s{stage}", output_contract=first.output_contract)]

        return JudgeDefinition.workflow(
            cases=[first],
            request=_asked,
            reduce=lambda verdicts, context: ReducedVerdict(value={"n": len(verdicts)}),
            expand=more,
        )

    first = JudgeCase(case_id="s0", output_contract=OutputContract(schema_model=Verdict), metadata={"kept": 1})
    judge = Scripted("j", ['{"verdict":"A"}'] * 9)
    review = JudgeExecutor([judge]).execute(expand(2), _context())
    assert judge.asked == ["s0 original 0", "s1 original 1", "s2 original 2"]
    assert review.value == {"n": 3.0}
    assert review.observations[0].case_verdicts[0].metadata == {"kept": 1}
    with pytest.raises(RuntimeError, match="more than 4 stages"):
        JudgeExecutor([Scripted("j", ['{"verdict":"A"}'] * 9)]).execute(expand(9), _context())


def test_a_judge_can_be_skipped_with_a_reason() -> None:
    definition = JudgeDefinition.skip(Score(value={"acc": 1}), reason="empty")
    assert definition.immediate_score is not None
    with pytest.raises(ValueError, match="needs a reason"):
        JudgeDefinition.skip(Score(), reason="")
    with pytest.raises(ValueError, match="no judge"):
        JudgeExecutor([])
    with pytest.raises(ValueError, match="min_valid_judges is 2"):
        JudgeExecutor([Scripted("j", [])], JudgeExecutorConfig(min_valid_judges=2))


def test_the_judges_of_a_run_are_summed_up() -> None:
    executor = JudgeExecutor([Scripted("j", ['{"verdict":"A"}', "?"])])
    scores = []
    for _ in range(2):
        review = executor.execute(_graded(), _context())
        scores.append(SampleScore(score=executor.build_score(_graded(), review, _context())))
    summary = summarize_judge_runs([scores, [SampleScore(score=Score())]])
    assert summary is not None
    assert (summary.status, summary.scored, summary.total) == (ScoreStatus.DEGRADED, 1, 2)
    assert (summary.coverage, summary.failures, summary.judge_models) == (0.5, {"parse_error": 1}, ["j"])
    assert summarize_judge_runs([[SampleScore(score=Score())]]) is None


# --- the mixin, with the run's role as judge


class Judge:
    """The role client of a run: what it was asked, what it replies, and what was refused."""

    roles = ("judge",)

    def __init__(self, *replies: str | Error) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.refused: list[str] = []

    def __call__(self, role: str, request: Request) -> Response:
        assert role == "judge"
        self.requests.append(request)
        reply = self.replies.pop(0)
        return Response(error=reply) if isinstance(reply, Error) else Response((Output(reply, finish_reason="stop"),))

    def refuse(self, why: str) -> None:
        self.refused.append(why)


class Quiz(DefaultDataAdapter):
    def extract_answer(self, prediction: str, task_state: TaskState) -> str:
        return prediction.strip(".").split()[-1]


class OnlyJudged(Quiz):
    scoring_policy = ScoringPolicy.JUDGE_ONLY


class Default(Quiz):
    llm_judge_default = True


def _adapter(kind: type[Quiz] = Quiz, **judge: Any) -> Quiz:
    config = SimpleNamespace(judge=JudgeConfig(**judge), repeats=1)
    return kind(benchmark_meta=BenchmarkMeta(name="q", dataset_id="q", metric_list=["acc"]), task_config=config)


def _state(answer: str, target: str = "4") -> TaskState:
    sample = Sample(input=[ChatMessageUser(content="2 + 2?")], target=target, id=0, group_id=0)
    output = ModelOutput.from_content("m", answer)
    return TaskState(
        model="m",
        sample=sample,
        messages=list(sample.input),
        output=output,
        completed=True,  # type: ignore[arg-type]
    )


def test_a_judge_is_asked_through_the_run() -> None:
    judge = Judge('{"reasoning": "r", "verdict": "A"}')
    adapter = _adapter(strategy="llm", contract={"system_prompt": "Be fair."})
    with answering_through(judge):
        score = adapter.calculate_metrics(task_state=_state("It is {gold} 4.")).score
    (request,) = judge.requests
    assert [message.role for message in request.messages] == ["system", "user"]
    text = request.messages[1].text
    assert text.startswith("Your job is to look at a question, a gold target, and a predicted answer, and decide ")
    assert "[Predicted Answer]\nIt is {gold} 4.\n" in text, "what is inserted is text"
    assert text.endswith('- "reasoning": a string\n- "verdict": exactly one of "A" or "B"')
    assert request.parameters.temperature == 0.0
    assert request.parameters.max_new_tokens == 4096
    assert (score.value, score.status, score.extracted_prediction) == ({"acc": 1.0}, ScoreStatus.SUCCESS, "4")
    assert score.metadata is not None
    assert (score.metadata["source"], score.metadata["judge_strategy"]) == ("llm_judge", "llm")
    (attempt,) = score.metadata["judge_attempts"]
    assert attempt["parsed_value"] == {"reasoning": "r", "verdict": "A"}
    assert "id" not in attempt["messages"][0], "nothing differs when a sample is scored again"


def test_a_judge_rates_from_0_to_1() -> None:
    judge = Judge('{"score": 0.25}', '{"score": 1.25}')
    adapter = _adapter(strategy="llm", contract={"score_type": "numeric"})
    with answering_through(judge):
        assert adapter.calculate_metrics(task_state=_state("4")).score.value == {"acc": 0.25}
        adapter.calculate_metrics(task_state=_state("4"))
    assert '- "score": a number >= 0.0 and <= 1.0' in judge.requests[0].messages[0].text
    assert len(judge.refused) == 1


def test_repeats_are_requests_of_their_own() -> None:
    judge = Judge('{"verdict": "A"}', '{"verdict": "B"}')
    with answering_through(judge):
        score = _adapter(strategy="llm", repeats=2).calculate_metrics(task_state=_state("4")).score
    assert score.value == {"acc": 0.5}
    assert [request.parameters.repeat for request in judge.requests] == [0, 1]


def test_without_a_verdict_the_sample_has_no_score_whatever_the_rule_says() -> None:
    for reply in ("no verdict", Error("permanent", "down")):
        judge = Judge(reply)
        with answering_through(judge):
            score = _adapter(Default).calculate_metrics(task_state=_state("4")).score
        assert score.status is ScoreStatus.DEGRADED
        assert len(judge.refused) == 1, "the run leaves the sample without a score"
        assert "no judge gave a verdict" in judge.refused[0]


def test_at_parity_the_rule_stands_in() -> None:
    judge = Judge("no verdict")
    with guest_context_with(parity=parity_with("evalscope")), answering_through(judge):
        score = _adapter(Default).calculate_metrics(task_state=_state("4")).score
    assert judge.refused == []
    assert (score.value, score.status) == ({"accuracy": 1.0}, ScoreStatus.DEGRADED)
    assert score.metadata is not None
    assert score.metadata["judge_unavailable"] == "excluded"


def test_recall_asks_only_where_the_rule_finds_an_answer_wrong() -> None:
    judge = Judge('{"verdict": "A"}')
    adapter = _adapter(strategy="llm_recall")
    with answering_through(judge):
        assert adapter.calculate_metrics(task_state=_state("4")).score.value == {"accuracy": 1.0}
        assert judge.requests == []
        score = adapter.calculate_metrics(task_state=_state("four")).score
    assert (score.value, len(judge.requests)) == ({"accuracy": 1.0}, 1)


def test_a_strategy_that_a_benchmark_cannot_follow_is_refused() -> None:
    for strategy in ("rule", "llm_recall"):
        with pytest.raises(ValueError, match=f"'q' has no rules, so the judge strategy '{strategy}' cannot score it"):
            _adapter(OnlyJudged, strategy=strategy).validate_judge_strategy()
    _adapter(OnlyJudged).validate_judge_strategy()
    assert [_adapter(kind).use_llm_judge for kind in (Quiz, Default, OnlyJudged)] == [False, True, True]
    assert Default.scoring_policy is ScoringPolicy.JUDGE_DEFAULT


def test_an_adapters_own_definition_counts() -> None:
    class Own(OnlyJudged):
        supports_position_swap = True

        def judge_definition(self, context: JudgeContext) -> JudgeDefinition:
            if context.filtered_prediction == "skip":
                return JudgeDefinition.skip(Score(value={"own": 0.0}), reason="said so")
            return JudgeDefinition.labels(prompt="Own?", schema_model=Verdict, scores=GRADES)

    judge = Judge('{"verdict": "C"}')
    with answering_through(judge):
        skipped = _adapter(Own).calculate_metrics(task_state=_state("skip")).score
        score = _adapter(Own).calculate_metrics(task_state=_state("4")).score
    assert skipped.metadata == {"judge_skipped": True, "judge_skip_reason": "said so"}
    assert score.value == {"acc": 0.5, "x": 1.0}
    assert score.metadata is not None
    assert score.metadata["non_official_position_swap"] is False


def test_settings_of_judges_are_checked() -> None:
    judges = JudgeConfig(models={"model_id": "a", "api_key": "hidden"})  # type: ignore[arg-type]
    assert judges.models[0].judge_id == "a"
    assert "hidden" not in repr(judges)
    with pytest.raises(ValueError, match="give each a judge_id"):
        JudgeConfig(models=[{"model_id": "a"}, {"model_id": "a"}])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="judge_id 'x'"):
        JudgeConfig(models=[{"model_id": "a", "judge_id": "x"}, {"model_id": "b", "judge_id": "x"}])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="min_valid_judges is 2"):
        JudgeConfig(models=[{"model_id": "a"}], min_valid_judges=2)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="strateg"):
        JudgeConfig(strategie="llm")  # type: ignore[call-arg]


def test_older_settings_of_judges_are_read() -> None:
    older = JudgeConfig(judge_strategy="llm", judge_model_args={"model_id": "a", "score_mapping": {"A": 2.0}})  # type: ignore[call-arg]
    assert (older.strategy, older.models[0].model_id, older.contract.score_mapping) == ("llm", "a", {"A": 2.0})
    assert JudgeConfig(judge_strategy="rule").models == []  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="score_pattern has no effect"):
        JudgeConfig(judge_model_args={"score_pattern": "x"})  # type: ignore[call-arg]


def test_an_unknown_kind_of_score_is_refused() -> None:
    with pytest.raises(PlanError, match="Unknown score_type of a judge: 'patern'"):
        LLMJudge(score_type="patern")
