"""Scores: of a sample, with its place in the benchmark, and of many samples together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, Scalar, canonicalize_producer_identity

Value = dict[str, int | float | bool]


class JudgeSummary(BaseModel):
    """A judge's work on a sample, or on many.

    Attributes:
        status: Whether there is a score.
        scored: Samples with a score.
        total: Samples.
        coverage: ``scored / total``.
        judge_models: Names of the judges.
        valid_observations: Verdicts that could be used.
        total_observations: Verdicts that were asked for.
        failures: How many of them failed, by status.
        disagreement: Statistics of verdicts that differ.
        error: Why there is no score.
    """

    status: ScoreStatus = ScoreStatus.SUCCESS
    scored: int = 0
    total: int = 1
    coverage: float = 0.0
    judge_models: list[str] = Field(default_factory=list)
    valid_observations: int = 0
    total_observations: int = 0
    failures: dict[str, int] = Field(default_factory=dict)
    disagreement: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None


class Score(BaseModel):
    """The score of a sample.

    Attributes:
        value: A number for each metric. A metric that is missing leaves the sample out of its mean.
        status: Whether the score counts.
        judge_summary: A judge's work, where one was asked.
        extracted_prediction: The answer as it was compared.
        prediction: The answer as it came.
        explanation: For people.
        metadata: Whatever the author likes.
        main_score_name: The metric that ``main_value`` stands for.
    """

    value: Value = Field(default_factory=dict)
    status: ScoreStatus = ScoreStatus.SUCCESS
    judge_summary: JudgeSummary | None = Field(  # type: ignore[pydantic-alias]
        default=None, validation_alias=AliasChoices("judge_summary", "judge_detail")
    )
    extracted_prediction: str | None = None
    prediction: str | None = None
    explanation: str | None = None
    metadata: dict[str, Any] | None = Field(default_factory=dict)
    main_score_name: str | None = None

    @property
    def judge_detail(self) -> JudgeSummary | None:
        """The earlier name of ``judge_summary``."""
        return self.judge_summary

    @judge_detail.setter
    def judge_detail(self, value: JudgeSummary | None) -> None:
        self.judge_summary = value

    @property
    def main_value(self) -> Any:
        """The value of the main metric, else of the first, which then is the main one; ``None`` without any."""
        if self.main_score_name and self.main_score_name in self.value:
            return self.value[self.main_score_name]
        if not self.value:
            return None
        self.main_score_name = next(iter(self.value))
        return self.value[self.main_score_name]

    @main_value.setter
    def main_value(self, value: float) -> None:
        if not self.main_score_name:
            self.main_score_name = next(iter(self.value), "default")
        self.value[self.main_score_name] = value


class SampleScore(BaseModel):
    """The score of a sample, with its place.

    Attributes:
        score: The score.
        sample_id: The sample's id.
        group_id: The question of which it is a repeat.
        generation_index: Its place among the repeats.
        sample_metadata: The sample's metadata.
    """

    score: Score
    sample_id: str | int | None = None
    group_id: str | int | None = None
    generation_index: int | None = None
    sample_metadata: dict[str, Any] | None = None


class AggScore(BaseModel):
    """One number of many samples. Its name, aggregation and dimensions are written as they are reported.

    Attributes:
        score: The number.
        metric_name: The metric.
        aggregation: From values of samples to the number; the argument may be named ``aggregation_name``, too.
        dimensions: Further axes, as ``k`` or a scope.
        num: Samples that it rests on.
        ids: Their ids.
        metadata: Whatever the author likes.
    """

    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    score: float = 0.0
    metric_name: str = ""
    aggregation: str = Field(default="identity", validation_alias=AliasChoices("aggregation", "aggregation_name"))
    dimensions: dict[str, Scalar] = Field(default_factory=dict)
    num: int = 0
    ids: list[str | int] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def identity(self) -> MetricIdentity:
        """The identity by which it is reported."""
        return MetricIdentity(name=self.metric_name, aggregation=self.aggregation, dimensions=self.dimensions)

    @property
    def aggregation_name(self) -> str:
        """The earlier name of ``aggregation``."""
        warnings.warn("AggScore.aggregation_name is deprecated; use aggregation.", DeprecationWarning, stacklevel=2)
        return self.aggregation

    @model_validator(mode="after")
    def canonicalize(self) -> AggScore:
        """Write the names as they are reported."""
        identity = canonicalize_producer_identity(self.metric_name, self.aggregation, self.dimensions)
        self.metric_name, self.aggregation, self.dimensions = identity.name, identity.aggregation, identity.dimensions
        return self


class Aggregator:
    """From the scores of a subset to its numbers. Authors subclass it."""

    name = "default"

    def __call__(self, scores: Sequence[SampleScore]) -> list[AggScore]:
        """Compute the numbers.

        Args:
            scores: Of all samples of a subset.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how scores are aggregated.")
