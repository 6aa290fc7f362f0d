"""The execution of a judge's work on a sample: all cases of each pass, with both placements, stages and fallbacks."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from polymeter.core.errors import UnscoredError
from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.judging.aggregation import (
    Method,
    aggregate_judge_values,
    aggregate_pairwise_outcomes,
    aggregate_repeat_values,
)
from polymeter.interop.evalscope.v1.judging.definition import JudgeDefinition
from polymeter.interop.evalscope.v1.judging.disagreement import judge_disagreement
from polymeter.interop.evalscope.v1.judging.records import (
    CaseVerdict,
    JudgeAttempt,
    JudgeCase,
    JudgeContext,
    JudgeObservation,
    JudgeReview,
    Placement,
)
from polymeter.interop.evalscope.v1.types.scores import JudgeSummary, Score

_LOG = logging.getLogger("polymeter")
MAX_STAGES = 4
_RANDOM: Any = {
    "messages": {"__all__": {"id"}},
    "model_output": {"id": True, "choices": {"__all__": {"message": {"id"}}}},
}
"""Ids that differ whenever a sample is scored again."""


class JudgeExecutorConfig(BaseModel):
    """The work of a run's judges.

    Attributes:
        repeats: Passes of each judge.
        position_swap: Whether each case is asked in both placements.
        aggregation: How values are joined.
        min_valid_judges: How many judges have to have a value.
    """

    model_config = ConfigDict(frozen=True)

    repeats: int = Field(default=1, ge=1)
    position_swap: bool = False
    aggregation: Method = "mean"
    min_valid_judges: int = Field(default=1, ge=1)


class JudgeExecutor:
    """Asks judges about one sample after the other.

    Args:
        judges: Objects with ``generate(messages)`` and ``judge_id`` or ``model_id``; the first is the primary one.
        config: How they work.

    Raises:
        ValueError: if there is no judge, or more have to have a value than there are.
    """

    def __init__(self, judges: Sequence[Any], config: JudgeExecutorConfig | None = None) -> None:
        self.judges = list(judges)
        self.config = config or JudgeExecutorConfig()
        if not self.judges:
            raise ValueError("There is no judge.")
        if self.config.min_valid_judges > len(self.judges):
            raise ValueError(
                f"min_valid_judges is {self.config.min_valid_judges}, and the number of judges {len(self.judges)}."
            )

    def execute(self, definition: JudgeDefinition, context: JudgeContext) -> JudgeReview:
        """Ask all judges about a sample.

        Raises:
            RuntimeError: if the definition has more than four stages.
        """
        review = JudgeReview()
        for judge in self.judges:
            for repeat in range(self.config.repeats):
                session = _Session(definition, context, judge, repeat, self.config.position_swap, review.attempts)
                review.observations.append(session.observe())
        failed = [attempt.status.value for attempt in review.attempts if not attempt.status.is_usable]
        review.failure_counts = dict(Counter(failed))
        self._aggregate(review)
        return review

    def build_score(
        self,
        definition: JudgeDefinition,
        review: JudgeReview,
        context: JudgeContext,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> Score:
        """Return the score of a sample, with everything that was asked and replied in its metadata."""
        score = Score(
            extracted_prediction=context.filtered_prediction,
            prediction=context.original_prediction,
            value=dict(review.value),
            main_score_name=definition.main_score_name,
            metadata=dict(metadata or {}),
        )
        if definition.finalize is not None:
            score = definition.finalize(score, review, context)
        is_usable = review.status.is_usable
        score.status = review.status
        if not is_usable:
            score.value = {}
        score.judge_summary = JudgeSummary(
            status=review.status,
            scored=int(is_usable),
            total=1,
            coverage=float(is_usable),
            judge_models=[judge_name(judge) for judge in self.judges],
            valid_observations=len(review.valid_observations),
            total_observations=len(review.observations),
            failures=review.failure_counts,
            disagreement=review.disagreement,
            error=review.error,
        )
        score.metadata = {
            **(score.metadata or {}),
            "judge_attempts": [
                attempt.model_dump(mode="json", exclude_none=True, exclude=_RANDOM) for attempt in review.attempts
            ],
            "judge_observation_metadata": review.observation_metadata,
        }
        return score

    def _aggregate(self, review: JudgeReview) -> None:
        """Join the passes of each judge, and then the judges; without enough of them, a fallback counts if there is
        one.
        """
        valid, primary = review.valid_observations, judge_name(self.judges[0])
        passes, compared = _by_judge(valid)
        least = self.config.min_valid_judges
        if len(passes) < least:
            if review.fallback_observations:
                self._fall_back(review, primary)
            elif passes:
                _exclude(review, f"{len(passes)} judges gave a verdict, and {least} have to")
            else:
                _exclude(review, "no judge gave a verdict that can be used")
            return
        values: dict[str, dict[str, float]] = {}
        ties: dict[str, list[str]] = {}
        for judge, of_judge in passes.items():
            values[judge], tied = aggregate_repeat_values(of_judge, self.config.aggregation)
            tied = [name for name in tied if name not in compared.get(judge, ())]
            if tied:
                ties[judge] = tied
        counts = Counter(name for own_values in values.values() for name in own_values)
        lacking = sorted(name for name, count in counts.items() if count < least)
        if len(lacking) == len(counts):
            _exclude(review, "no metric has enough verdicts")
            return
        values = {
            judge: {name: value for name, value in own_values.items() if name not in lacking}
            for judge, own_values in values.items()
        }
        joined, is_decided, open_ties = aggregate_judge_values(values, self.config.aggregation, primary)
        if joined is None:
            _exclude(review, "the judges are tied, and the first has no verdict")
            return
        review.value = joined
        outcome, is_outcome_decided = aggregate_pairwise_outcomes(valid, primary, least)
        if outcome is not None:
            review.outcome = outcome
            review.value[outcome.metric_name] = outcome.score
        review.observation_metadata = _metadata_of(review.usable_observations)
        review.disagreement = judge_disagreement(passes, valid)
        first = next((own for own in valid if own.judge_id == primary), valid[0])
        is_decided = is_decided or is_outcome_decided
        notes: dict[str, Any] = {
            "metrics_without_primary_tiebreak": open_ties,
            "repeat_tie_broken_by_first_observation": ties,
            "tie_broken_by_primary": is_decided,
        }
        review.metadata = {} if first.reduced is None else dict(first.reduced.metadata)
        review.metadata |= {"metrics_without_quorum": lacking} if lacking else {}
        review.metadata |= {name: note for name, note in notes.items() if note}
        n_planned = len(self.judges) * self.config.repeats
        if len(valid) != n_planned or any(notes.values()):
            review.status = ScoreStatus.DEGRADED

    def _fall_back(self, review: JudgeReview, primary: str) -> None:
        """Take the fallback of one pass, which is no judge's vote."""
        own = review.fallback_observations
        first = next((one for one in own if one.judge_id == primary), own[0])
        if first.reduced is not None:
            review.value = dict(first.reduced.value)
            review.outcome = first.reduced.outcome
            review.metadata = dict(first.reduced.metadata)
        review.observation_metadata = _metadata_of(own)
        review.status = ScoreStatus.DEGRADED


class _Session:
    """One pass of a judge over a sample.

    Args:
        definition: What is asked.
        context: About which sample.
        judge: Who is asked.
        repeat: Number of the pass.
        is_swapped: Whether each case is asked in both placements.
        attempts: Where requests are noted.
    """

    def __init__(
        self,
        definition: JudgeDefinition,
        context: JudgeContext,
        judge: Any,
        repeat: int,
        is_swapped: bool,
        attempts: list[JudgeAttempt],
    ) -> None:
        self.definition = definition
        self.context = context
        self.judge = judge
        self.repeat = repeat
        self.placements = tuple(Placement) if is_swapped else (Placement.ORIGINAL,)
        self.attempts = attempts
        self.completed: list[CaseVerdict] = []

    def observe(self) -> JudgeObservation:
        """Ask about all cases. A case without a verdict ends the pass."""
        observation = JudgeObservation(judge_id=judge_name(self.judge), repeat_id=self.repeat)
        pending = list(self.definition.build_cases(self.context))
        for stage in range(MAX_STAGES):
            for case in pending:
                verdict = self._verdict(case)
                if verdict is None:
                    observation.status = ScoreStatus.INVALID_SESSION
                    observation.error = f"case {case.case_id} has no verdict that can be used"
                    return observation
                self.completed.append(verdict)
            pending = list(self.definition.expand_cases(stage + 1, self.completed, self.context))
        if pending:
            raise RuntimeError(f"A judge's cases expand over more than {MAX_STAGES} stages.")
        observation.case_verdicts = self.completed
        observation.reduced = self.definition.reduce_verdicts(self.completed, self.context)
        if any(verdict.status is ScoreStatus.FALLBACK for verdict in self.completed):
            observation.status = ScoreStatus.FALLBACK
        return observation

    def _verdict(self, case: JudgeCase) -> CaseVerdict | None:
        values: dict[str, Any] = {}
        for placement in self.placements:
            value = self._asked(case, placement)
            if value is None:
                return self._fallback(case) if len(self.placements) == 1 else None
            values[placement.value] = value
        metadata = dict(case.metadata)
        if len(values) == 1:
            return CaseVerdict(case_id=case.case_id, value=next(iter(values.values())), metadata=metadata)
        return CaseVerdict(case_id=case.case_id, value=list(values.values()), placements=values, metadata=metadata)

    def _fallback(self, case: JudgeCase) -> CaseVerdict | None:
        found = self.definition.fallback_verdict(case, self.context)
        if found is None:
            return None
        metadata = found.metadata or dict(case.metadata)
        return found.model_copy(update={"status": ScoreStatus.FALLBACK, "metadata": metadata})

    def _asked(self, case: JudgeCase, placement: Placement) -> Any:
        """The verdict of one request; ``None`` if there is none."""
        request = self.definition.build_request(case, placement, self.completed, self.context)
        messages = list(request.messages)
        attempt = JudgeAttempt(
            status=ScoreStatus.SUCCESS,
            case_id=case.case_id,
            judge_id=judge_name(self.judge),
            repeat_id=self.repeat,
            placement=placement,
            messages=messages,
        )
        self.attempts.append(attempt)
        try:
            output = self.judge.generate(messages, **({"repeat": self.repeat} if self.repeat else {}))
        except UnscoredError as error:
            attempt.status, attempt.error = ScoreStatus.TRANSPORT_ERROR, f"{type(error).__name__}: {error}"
            return None
        attempt.model_output, attempt.raw_response, attempt.latency = output, output.completion, output.time
        found = case.output_contract.parse(output.completion)
        if not found.ok:
            attempt.status, attempt.error = ScoreStatus.PARSE_ERROR, found.error
            _LOG.warning("The judge's reply to %s is no verdict: %s", case.case_id, found.error)
            return None
        attempt.parsed_value = found.value.model_dump() if isinstance(found.value, BaseModel) else found.value
        return found.value


def judge_name(judge: Any) -> str:
    """Return the name under which a judge's work is kept."""
    return str(getattr(judge, "judge_id", None) or getattr(judge, "model_id", "unknown-judge"))


def _by_judge(
    observations: Sequence[JudgeObservation],
) -> tuple[dict[str, list[dict[str, float]]], dict[str, set[str]]]:
    """The values of each judge's passes, and the metrics that its comparisons give."""
    passes: dict[str, list[dict[str, float]]] = {}
    compared: dict[str, set[str]] = {}
    for own in observations:
        if own.reduced is not None:
            passes.setdefault(own.judge_id, []).append(own.reduced.value)
            if own.reduced.outcome is not None:
                compared.setdefault(own.judge_id, set()).add(own.reduced.outcome.metric_name)
    return passes, compared


def _exclude(review: JudgeReview, why: str) -> None:
    review.status, review.error = ScoreStatus.EXCLUDED, why


def _metadata_of(observations: Sequence[JudgeObservation]) -> list[dict[str, Any]]:
    return [
        {
            "judge_id": own.judge_id,
            "repeat_id": own.repeat_id,
            "status": own.status.value,
            "metadata": {} if own.reduced is None else dict(own.reduced.metadata),
        }
        for own in observations
    ]
