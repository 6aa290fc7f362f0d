"""``JudgeDefinition``: everything that a judge is asked about one sample, and what its verdicts amount to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from polymeter.interop.evalscope.v1.judging.contracts import OutputContract
from polymeter.interop.evalscope.v1.judging.records import (
    CaseVerdict,
    JudgeCase,
    JudgeContext,
    JudgeRequest,
    JudgeReview,
    Placement,
    ReducedVerdict,
)
from polymeter.interop.evalscope.v1.types.messages import ChatMessage, ChatMessageSystem, ChatMessageUser
from polymeter.interop.evalscope.v1.types.scores import Score

RequestBuilder = Callable[[JudgeCase, Placement, Sequence[CaseVerdict], JudgeContext], JudgeRequest]
VerdictReducer = Callable[[Sequence[CaseVerdict], JudgeContext], ReducedVerdict]
CaseExpander = Callable[[int, Sequence[CaseVerdict], JudgeContext], Sequence[JudgeCase]]
FallbackBuilder = Callable[[JudgeCase, JudgeContext], CaseVerdict | None]
ScoreFinalizer = Callable[[Score, JudgeReview, JudgeContext], Score]


@dataclass
class JudgeDefinition:
    """A judge's work on one sample; ``labels``, ``numeric``, ``workflow`` and ``skip`` make one.

    Attributes:
        cases: What is asked first.
        request: Makes the messages of a case.
        reduce: Makes values of metrics of all verdicts.
        main_score_name: The metric that stands for the sample.
        expand: Gives further cases after a stage.
        fallback: Gives a verdict in place of a missing one.
        immediate_score: The score, if no judge is asked.
        skip_reason: Why none is.
        finalize: Changes the score at the end.

    Raises:
        ValueError: if a score is given without a reason, or a reason without a score.
    """

    cases: Sequence[JudgeCase]
    request: RequestBuilder
    reduce: VerdictReducer
    main_score_name: str | None = None
    expand: CaseExpander | None = None
    fallback: FallbackBuilder | None = None
    immediate_score: Score | None = None
    skip_reason: str | None = None
    finalize: ScoreFinalizer | None = None

    def __post_init__(self) -> None:
        if self.immediate_score is not None and not self.skip_reason:
            raise ValueError("A judge that is skipped needs a reason.")
        if self.immediate_score is None and self.skip_reason is not None:
            raise ValueError("A skip_reason is for a judge that is skipped.")

    @classmethod
    def labels(  # noqa: PLR0913  (the signature that benchmarks are written against)
        cls,
        *,
        prompt: str,
        schema_model: type[BaseModel],
        scores: Mapping[str, Mapping[str, float]],
        case_id: str = "judge",
        system_prompt: str | None = None,
        verdict_field: str = "verdict",
        fallback_verdict: str | None = None,
        main_score_name: str | None = None,
        finalize: ScoreFinalizer | None = None,
    ) -> JudgeDefinition:
        """Return a definition of one question, whose answer is a label.

        Args:
            prompt: The question; the contract's text is put behind it.
            schema_model: What the judge must reply.
            scores: Label → values of metrics.
            case_id: The case's name.
            system_prompt: Put before the question.
            verdict_field: The field with the label.
            fallback_verdict: The label that counts if the judge's is missing.
            main_score_name: The metric that stands for the sample.
            finalize: Changes the score at the end.
        """

        def reduce(verdicts: Sequence[CaseVerdict], context: JudgeContext) -> ReducedVerdict:
            return ReducedVerdict(value=dict(scores[str(getattr(verdicts[0].value, verdict_field))]))

        def fall_back(case: JudgeCase, context: JudgeContext) -> CaseVerdict:
            value = schema_model.model_validate({verdict_field: fallback_verdict})
            return CaseVerdict(case_id=case.case_id, value=value)

        return cls(
            cases=[JudgeCase(case_id=case_id, output_contract=OutputContract(schema_model=schema_model))],
            request=_asking(prompt, system_prompt),
            reduce=reduce,
            fallback=None if fallback_verdict is None else fall_back,
            main_score_name=main_score_name,
            finalize=finalize,
        )

    @classmethod
    def numeric(
        cls,
        *,
        prompt: str,
        schema_model: type[BaseModel],
        metric_name: str = "acc",
        case_id: str = "judge",
        system_prompt: str | None = None,
        score_field: str = "score",
        main_score_name: str | None = None,
        finalize: ScoreFinalizer | None = None,
    ) -> JudgeDefinition:
        """Return a definition of one question, whose answer is a number.

        Args:
            prompt: The question; the contract's text is put behind it.
            schema_model: What the judge must reply.
            metric_name: The metric.
            case_id: The case's name.
            system_prompt: Put before the question.
            score_field: The field with the number.
            main_score_name: The metric that stands for the sample; default: that metric.
            finalize: Changes the score at the end.
        """

        def reduce(verdicts: Sequence[CaseVerdict], context: JudgeContext) -> ReducedVerdict:
            return ReducedVerdict(value={metric_name: float(getattr(verdicts[0].value, score_field))})

        return cls(
            cases=[JudgeCase(case_id=case_id, output_contract=OutputContract(schema_model=schema_model))],
            request=_asking(prompt, system_prompt),
            reduce=reduce,
            main_score_name=main_score_name or metric_name,
            finalize=finalize,
        )

    @classmethod
    def workflow(
        cls,
        *,
        cases: Sequence[JudgeCase],
        request: RequestBuilder,
        reduce: VerdictReducer,
        main_score_name: str | None = None,
        expand: CaseExpander | None = None,
        fallback: FallbackBuilder | None = None,
        finalize: ScoreFinalizer | None = None,
    ) -> JudgeDefinition:
        """Return a definition of several questions, or of questions that follow from verdicts. ``request`` puts the
        contract's text into its messages itself.
        """
        return cls(
            cases=cases,
            request=request,
            reduce=reduce,
            main_score_name=main_score_name,
            expand=expand,
            fallback=fallback,
            finalize=finalize,
        )

    @classmethod
    def skip(cls, score: Score, *, reason: str) -> JudgeDefinition:
        """Return a definition that asks no judge.

        Args:
            score: The score.
            reason: Why no judge is asked; it stands in the score's metadata.
        """
        return cls(cases=[], request=_never_asked, reduce=_never_reduced, immediate_score=score, skip_reason=reason)

    def build_cases(self, context: JudgeContext) -> Sequence[JudgeCase]:
        """Return what is asked first."""
        return self.cases

    def build_request(
        self, case: JudgeCase, placement: Placement, completed_cases: Sequence[CaseVerdict], context: JudgeContext
    ) -> JudgeRequest:
        """Return the messages of a case."""
        return self.request(case, placement, completed_cases, context)

    def expand_cases(
        self, stage: int, completed_cases: Sequence[CaseVerdict], context: JudgeContext
    ) -> Sequence[JudgeCase]:
        """Return what is asked after a stage, from 1."""
        return [] if self.expand is None else self.expand(stage, completed_cases, context)

    def fallback_verdict(self, case: JudgeCase, context: JudgeContext) -> CaseVerdict | None:
        """Return the verdict in place of a missing one, if there is one."""
        return None if self.fallback is None else self.fallback(case, context)

    def reduce_verdicts(self, verdicts: Sequence[CaseVerdict], context: JudgeContext) -> ReducedVerdict:
        """Return what the verdicts amount to."""
        return self.reduce(verdicts, context)


def _asking(prompt: str, system_prompt: str | None) -> RequestBuilder:
    def request(
        case: JudgeCase, placement: Placement, completed: Sequence[CaseVerdict], context: JudgeContext
    ) -> JudgeRequest:
        messages: list[ChatMessage] = [ChatMessageUser(content=prompt + case.output_contract.instruction())]
        if system_prompt:
            messages.insert(0, ChatMessageSystem(content=system_prompt))
        return JudgeRequest(messages=messages)

    return request


def _never_asked(
    case: JudgeCase, placement: Placement, completed: Sequence[CaseVerdict], context: JudgeContext
) -> JudgeRequest:
    raise RuntimeError("A judge that is skipped is asked nothing.")


def _never_reduced(verdicts: Sequence[CaseVerdict], context: JudgeContext) -> ReducedVerdict:
    raise RuntimeError("A judge that is skipped has no verdicts.")
