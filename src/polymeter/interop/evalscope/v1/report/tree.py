"""Reports of schema 2: a tree of metrics, categories and subsets, with scores rounded at every level.

``Report → Metric → Category → Subset``. What is above a subset follows from the rounded scores below it; a metric's own
score, if its author gives one, stays. A subset that summarises others counts nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, computed_field, field_serializer, field_validator, model_validator

from polymeter.core.guest_context import current_role_client
from polymeter.core.text.json_text import json_text
from polymeter.interop.evalscope.tasks.scoring.metrics import macro_mean, micro_mean
from polymeter.interop.evalscope.tasks.scoring.report import ReportKey, analyse, report_rows
from polymeter.interop.evalscope.v1.report.legacy import migrated_metric, migrated_report
from polymeter.interop.evalscope.v1.report.primary import PrimarySelectionStatus, select_primary
from polymeter.interop.evalscope.v1.report.semantics import MetricKind, MetricSemantics, semantics_of
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity
from polymeter.interop.evalscope.v1.types.scores import JudgeSummary

if TYPE_CHECKING:
    import pandas

SCHEMA = 2
_DIGITS = 4


class ReportSubset(BaseModel):
    """One number: a metric over a subset.

    Attributes:
        name: Of the subset.
        score: The number, rounded.
        num: Samples that it rests on.
        metadata: What its aggregation says of it.
        is_aggregate: Whether it summarises other subsets.
    """

    name: str = "default_subset"
    score: float = 0.0
    num: int = 0
    metadata: dict[str, Any] | None = None
    is_aggregate: bool = False

    @field_validator("score")
    @classmethod
    def _round(cls, value: float) -> float:
        return round(value, _DIGITS)


class ReportCategory(BaseModel):
    """Subsets under one heading of one or more levels."""

    name: tuple[str, ...] = ()
    num: int = 0
    score: float = 0.0
    macro_score: float = 0.0
    subsets: list[ReportSubset] = Field(default_factory=list)

    @field_validator("name", mode="before")
    @classmethod
    def _levels(cls, name: Any) -> tuple[str, ...]:
        return (name,) if isinstance(name, str) else tuple(name)

    @field_serializer("name")
    def _as_list(self, name: tuple[str, ...]) -> list[str]:
        return list(name)

    @model_validator(mode="after")
    def _total(self) -> ReportCategory:
        own = [subset for subset in self.subsets if not subset.is_aggregate]
        self.num = sum(subset.num for subset in own)
        self.score, self.macro_score = _means(own)
        return self


class ReportMetric(BaseModel):
    """One metric over all subsets.

    Attributes:
        identity: The metric.
        legacy_name: Its name in a report of schema 1.
        num: Samples of its categories.
        score: The mean over samples, unless it is given.
        macro_score: The mean over categories.
        categories: In order of their names.
        semantics: Its meaning.
    """

    model_config = ConfigDict(extra="forbid")

    identity: MetricIdentity
    legacy_name: str | None = None
    num: int = 0
    score: float = 0.0
    macro_score: float = 0.0
    categories: list[ReportCategory] = Field(default_factory=list)
    semantics: MetricSemantics

    @model_validator(mode="before")
    @classmethod
    def _migrate(cls, data: Any) -> Any:
        return migrated_metric(data) if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _total(self) -> ReportMetric:
        if not self.categories:
            return self
        counted = [category for category in self.categories if category.num > 0]
        self.num = sum(category.num for category in counted)
        score, self.macro_score = _means(counted)
        self.score = round(self.score, _DIGITS) if "score" in self.model_fields_set else score
        return self

    @property
    def name(self) -> str:
        """Under which tables list it."""
        return self.legacy_name or self.identity.key

    def count(self) -> int:
        """Return how many samples its subsets rest on, as they are now."""
        return sum(subset.num for category in self.categories for subset in category.subsets if not subset.is_aggregate)


class ExecutionSubset(BaseModel):
    """Counts of the samples of a subset: asked for, with an answer, and without one."""

    requested: int = 0
    succeeded: int = 0
    errored: int = 0


class ExecutionSummary(ExecutionSubset):
    """The same of a run, and of each subset.

    Attributes:
        incomplete: Whether a sample has no answer.
        subsets: The counts of each.
    """

    incomplete: bool = False
    subsets: dict[str, ExecutionSubset] = Field(default_factory=dict)


class EvaluationReport(BaseModel):
    """The scores of one model on one benchmark.

    Attributes:
        schema_version: 2.
        name: ``<model>@<benchmark>``.
        dataset_name: The benchmark's name.
        dataset_pretty_name: For readers.
        dataset_description: What it measures.
        model_name: The model's name.
        metrics: In the order in which they were first computed.
        analysis: What a judge wrote about the report.
        perf_metrics: Times and tokens.
        primary_metric_identity: The metric that stands for the report.
        primary_metric_unavailable_reason: Why there is none.
        judge_summary: How the judge did.
        execution_summary: How the samples ended.

    Raises:
        ValueError: if the schema is unknown, or the primary metric is not in the report, or grades nothing.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: int = SCHEMA
    name: str = "default_report"
    dataset_name: str = "default_dataset"
    dataset_pretty_name: str = ""
    dataset_description: str = ""
    model_name: str = "default_model"
    metrics: list[ReportMetric] = Field(default_factory=list)
    analysis: str = "N/A"
    perf_metrics: dict[str, Any] | None = None
    primary_metric_identity: MetricIdentity | None = None
    primary_metric_unavailable_reason: str | None = None
    judge_summary: JudgeSummary | None = None
    execution_summary: ExecutionSummary | None = None

    @model_validator(mode="before")
    @classmethod
    def _migrate(cls, data: Any) -> Any:
        return migrated_report(data) if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _check(self) -> EvaluationReport:
        if self.schema_version != SCHEMA:
            raise ValueError(f"the report has schema {self.schema_version}, and {SCHEMA} is known")
        if self.primary_metric_identity is None:
            return self
        key = self.primary_metric_identity.key
        if self.primary_metric_unavailable_reason is not None:
            raise ValueError(f"the report has a primary metric, {key}, and a reason why it has none")
        found = [metric for metric in self.metrics if metric.identity == self.primary_metric_identity]
        if len(found) != 1:
            raise ValueError(f"the primary metric {key} is in the report {len(found)} times")
        if found[0].semantics.kind is MetricKind.DIAGNOSTIC:
            raise ValueError(f"the primary metric {key} grades nothing")
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def num(self) -> int:
        """Samples of the primary metric, else of the first. Where all metrics are of subsets of their own, which the
        dimension ``subset`` names, those of all subsets.
        """
        metric = self.primary_metric or next(iter(self.metrics), None)
        if metric is None:
            return 0
        if not all("subset" in own.identity.dimensions for own in self.metrics):
            return metric.count()
        counts: dict[str, int] = {}
        for own in sorted(self.metrics, key=lambda own: own.identity != self.primary_metric_identity):
            counts.setdefault(json.dumps(own.identity.dimensions["subset"]), own.count())
        return sum(counts.values())

    @property
    def primary_metric(self) -> ReportMetric | None:
        """The metric that stands for the report."""
        if self.primary_metric_identity is None:
            return None
        return next((metric for metric in self.metrics if metric.identity == self.primary_metric_identity), None)

    @property
    def score(self) -> float | None:
        """The primary metric's score."""
        metric = self.primary_metric
        return None if metric is None else metric.score

    def to_dict(self) -> dict[str, Any]:
        """The whole tree as dictionaries and lists."""
        return self.model_dump()

    def to_json_str(self) -> str:
        """The report as JSON, indented; a score of NaN is ``null``."""
        return json_text(self.model_dump(mode="json"), indent=4, nan=None)

    def to_json(self, json_file: str | Path) -> None:
        """Write the report; folders are made as needed."""
        path = Path(json_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json_str(), encoding="utf-8")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EvaluationReport:
        """Return the report of a dictionary; one of schema 1 is brought to schema 2.

        Raises:
            ValueError: if it is no report.
        """
        report = cls.model_validate(data)
        if data.get("schema_version") != SCHEMA:
            report.find_meanings()
        return report

    @classmethod
    def from_json(cls, json_file: str | Path) -> EvaluationReport:
        """Return the report of a file.

        Raises:
            ValueError: if the file holds no report.
        """
        return cls.from_dict(json.loads(Path(json_file).read_text(encoding="utf-8")))

    def find_meanings(self) -> None:
        """Give the metrics of an older report the meaning that they have today, and choose the primary one."""
        for metric in self.metrics:
            metric.semantics = semantics_of(self.dataset_name, metric.identity, metric.legacy_name)
            if metric.semantics.kind is not MetricKind.DIAGNOSTIC:
                metric.legacy_name = None
        meanings = {metric.identity.key: metric.semantics for metric in self.metrics}
        selection = select_primary([metric.identity for metric in self.metrics], meanings, None)
        if selection.status is not PrimarySelectionStatus.SELECTED and self.primary_metric_identity is not None:
            kept = meanings.get(self.primary_metric_identity.key)
            if kept is not None and kept.kind is not MetricKind.DIAGNOSTIC:
                return
        self.primary_metric_identity = selection.identity
        self.primary_metric_unavailable_reason = selection.unavailable_reason

    def to_dataframe(
        self,
        flatten_metrics: bool = True,
        flatten_categories: bool = True,
        add_overall_metric: bool = False,
        include_aggregate: bool = False,
    ) -> pandas.DataFrame:
        """The report as a table, one row for each metric and subset.

        Args:
            flatten_metrics: Rows of all metrics, not of the first alone.
            flatten_categories: A column ``Cat.0``, ``Cat.1``, … for each level, not one ``Category`` of tuples.
            add_overall_metric: A row ``OVERALL`` after the rows of a metric that has more than one, unless it has one.
            include_aggregate: Rows of subsets that summarise others, too.
        """
        import pandas

        rows = report_rows(
            self,
            flatten_metrics,
            flatten_categories,
            add_overall_metric,
            is_shown=lambda subset: include_aggregate or not subset.is_aggregate,
        )
        if not rows:
            return pandas.DataFrame()
        return pandas.DataFrame(rows, dtype=object).astype({ReportKey.num: int, ReportKey.score: float})

    def generate_analysis(self, task_config: Any = None, analysis_context: Any = None) -> str:
        """Have the run's judge write about this report; what it writes is kept in ``analysis``.

        Args:
            task_config: Not used: the run names its judge.
            analysis_context: Not used: the judge is shown the report.

        Raises:
            ScoreError: if the judge did not answer.
            PlanError: if the run has no judge.
        """
        self.analysis = analyse(self, current_role_client())
        return self.analysis


def _means(parts: Iterable[Any]) -> tuple[float, float]:
    """The means of scores, weighted by ``num`` and plain."""
    items = list(parts)
    return round(float(micro_mean(items)), _DIGITS), round(float(macro_mean(items)), _DIGITS)
