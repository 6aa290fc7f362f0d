"""Parts of a judge's work on one sample: what is asked, what came back, and what an adapter makes of it."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.judging.contracts import OutputContract
from polymeter.interop.evalscope.v1.types.messages import ChatMessage
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.state import TaskState

PairwiseResult = Literal["win", "tie", "loss"]


class Placement(str, Enum):
    """The order in which two answers are shown."""

    ORIGINAL = "original"
    SWAPPED = "swapped"


class JudgeContext(BaseModel):
    """The sample that is judged.

    Attributes:
        task_state: The sample with the model's answer.
        original_prediction: The answer.
        filtered_prediction: The answer after filters and extraction.
        reference: The target.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    task_state: TaskState
    original_prediction: str
    filtered_prediction: str
    reference: str


class JudgeCase(BaseModel):
    """One question about a sample: a rubric, a claim, a criterion.

    Attributes:
        case_id: Its name within the sample.
        output_contract: What the judge must reply.
        metadata: The adapter's own; it comes back with the verdict.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    case_id: str
    output_contract: OutputContract
    metadata: dict[str, Any] = Field(default_factory=dict)


class JudgeRequest(BaseModel):
    """The messages to a judge about one case."""

    messages: list[ChatMessage]


class JudgeAttempt(BaseModel):
    """One request with its reply, also if it failed.

    Attributes:
        status: How it ended.
        case_id: The case.
        judge_id: The judge.
        repeat_id: Number of the repeat, from 0.
        placement: Which answer was shown first.
        messages: What was asked.
        model_output: The reply.
        raw_response: Its text.
        parsed_value: The verdict as plain data.
        error: Why it is none.
        latency: Seconds until the reply.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    status: ScoreStatus
    case_id: str
    judge_id: str
    repeat_id: int = 0
    placement: Placement = Placement.ORIGINAL
    messages: list[ChatMessage] = Field(default_factory=list)
    model_output: ModelOutput | None = None
    raw_response: str | None = None
    parsed_value: Any = None
    error: str | None = None
    latency: float | None = None


class CaseVerdict(BaseModel):
    """The verdict on a case.

    Attributes:
        case_id: The case.
        value: An object of the contract's model; with both placements a list of two.
        status: ``success``, or ``fallback`` where a rule stands in.
        placements: The two values by placement, where both were asked.
        metadata: The case's.
    """

    case_id: str
    value: Any
    status: ScoreStatus = ScoreStatus.SUCCESS
    placements: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class PairwisePlacementOutcome(BaseModel):
    """The result of a comparison in one placement, from the candidate's side."""

    result: PairwiseResult
    strength: Literal["weak", "strong"] = "weak"


class PairwiseOutcome(PairwisePlacementOutcome):
    """The result of a comparison, from the candidate's side.

    Attributes:
        metric_name: The metric that its score is the value of.
        placements: The results of single placements.
    """

    metric_name: str
    placements: dict[str, PairwisePlacementOutcome] = Field(default_factory=dict)

    @property
    def score(self) -> float:
        """1 for a strong win, 0.75 for a weak one, 0.5 for a tie, 0.25 and 0 for losses."""
        distance = {"win": 0.5, "tie": 0.0, "loss": -0.5}[self.result]
        return 0.5 + distance * (1.0 if self.strength == "strong" else 0.5)


class ReducedVerdict(BaseModel):
    """All verdicts of a pass over a sample, as values of metrics.

    Attributes:
        value: Metric → value.
        outcome: The result of a comparison, which is joined over passes by votes.
        metadata: The adapter's own.
        position_results: Results by placement, for statistics alone.
    """

    value: dict[str, float] = Field(default_factory=dict)
    outcome: PairwiseOutcome | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    position_results: dict[str, PairwiseResult] = Field(default_factory=dict)


class JudgeObservation(BaseModel):
    """One pass of a judge over all cases of a sample.

    Attributes:
        judge_id: The judge.
        repeat_id: Number of the repeat, from 0.
        status: How it ended.
        case_verdicts: The verdicts.
        reduced: What they amount to.
        error: Why it has none.
    """

    judge_id: str
    repeat_id: int = 0
    status: ScoreStatus = ScoreStatus.SUCCESS
    case_verdicts: list[CaseVerdict] = Field(default_factory=list)
    reduced: ReducedVerdict | None = None
    error: str | None = None

    @property
    def has_value(self) -> bool:
        """True if it amounts to a value."""
        return self.reduced is not None and bool(self.reduced.value)

    @property
    def is_valid(self) -> bool:
        """True if it has a value, and the judge gave all of it."""
        return self.status is ScoreStatus.SUCCESS and self.has_value

    @property
    def is_fallback(self) -> bool:
        """True if it has a value, and a rule gave some of it."""
        return self.status is ScoreStatus.FALLBACK and self.has_value


class JudgeReview(BaseModel):
    """All judges' work on one sample.

    Attributes:
        status: Whether there is a score.
        observations: All passes.
        attempts: All requests.
        value: Metric → value over all passes; empty without a score.
        metadata: The adapter's own, of the first judge's first usable pass.
        observation_metadata: The same of each usable pass.
        failure_counts: Requests that failed, by status.
        error: Why there is no score.
        outcome: The result of a comparison over all passes.
        disagreement: Statistics of values that differ.
    """

    status: ScoreStatus = ScoreStatus.SUCCESS
    observations: list[JudgeObservation] = Field(default_factory=list)
    attempts: list[JudgeAttempt] = Field(default_factory=list)
    value: dict[str, float] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    observation_metadata: list[dict[str, Any]] = Field(default_factory=list)
    failure_counts: dict[str, int] = Field(default_factory=dict)
    error: str | None = None
    outcome: PairwiseOutcome | None = None
    disagreement: dict[str, Any] = Field(default_factory=dict)

    @property
    def valid_observations(self) -> list[JudgeObservation]:
        """The passes that a judge gave a value."""
        return [own for own in self.observations if own.is_valid]

    @property
    def fallback_observations(self) -> list[JudgeObservation]:
        """The passes that a rule gave a value; they are no votes."""
        return [own for own in self.observations if own.is_fallback]

    @property
    def usable_observations(self) -> list[JudgeObservation]:
        """Both."""
        return [*self.valid_observations, *self.fallback_observations]
