"""The meaning of metrics: whether one grades, which direction is better, and how it is shown.

``catalog.yaml`` holds the table. A metric that is not in it describes a run and grades nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from polymeter.interop.evalscope.v1.types.identities import MetricIdentity

UNSPECIFIED = "diagnostic.unspecified"
DIAGNOSTIC_DIGITS = 4
_PERCENT_DIGITS = 1
_FIELDS = {
    "title": "metric_name",
    "label": "display_name",
    "raw_unit": "raw_unit",
    "display_unit": "display_unit",
    "digits": "display_precision",
}


class MetricKind(str, Enum):
    """A metric grades, or it describes a run."""

    QUALITY = "quality"
    DIAGNOSTIC = "diagnostic"


class MetricDirection(str, Enum):
    """The values that are better."""

    HIGHER_IS_BETTER = "higher_is_better"
    LOWER_IS_BETTER = "lower_is_better"
    NONE = "none"


class MetricDisplayKind(str, Enum):
    """The form in which a value is shown."""

    NUMBER = "number"
    PERCENT = "percent"


class ValueRange(BaseModel):
    """The least and the greatest value.

    Raises:
        ValueError: if they are not finite and in this order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min: float
    max: float

    @model_validator(mode="after")
    def _check(self) -> ValueRange:
        if not (math.isfinite(self.min) and math.isfinite(self.max) and self.min < self.max):
            raise ValueError(f"a range must be finite and min less than max: {self.min} and {self.max}")
        return self


class MetricSemantics(BaseModel):
    """The meaning of one metric of a report.

    Attributes:
        semantic_id: Names the meaning.
        metric_name: The name to show.
        display_name: The label of a metric that only describes.
        kind: Whether it grades.
        direction: Which values are better.
        raw_unit: The unit of the stored value.
        value_range: Its bounds, if it has any.
        display_kind: The form in which it is shown.
        display_multiplier: Factor before it is shown.
        display_unit: The unit that is shown.
        display_precision: Digits after the point.

    Raises:
        ValueError: if the fields contradict each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    semantic_id: str
    metric_name: str
    display_name: str | None = None
    kind: MetricKind
    direction: MetricDirection
    raw_unit: str | None = None
    value_range: ValueRange | None = None
    display_kind: MetricDisplayKind = MetricDisplayKind.NUMBER
    display_multiplier: float | None = None
    display_unit: str | None = None
    display_precision: int = Field(default=DIAGNOSTIC_DIGITS, ge=0)

    @classmethod
    def diagnostic(cls, metric_name: str, semantic_id: str | None = None) -> MetricSemantics:
        """Return the meaning of a metric of which nothing is known."""
        return cls(
            semantic_id=semantic_id or UNSPECIFIED,
            metric_name=metric_name,
            kind=MetricKind.DIAGNOSTIC,
            direction=MetricDirection.NONE,
        )

    @model_validator(mode="after")
    def _check(self) -> MetricSemantics:
        is_graded = self.kind is MetricKind.QUALITY
        if is_graded == (self.direction is MetricDirection.NONE):
            raise ValueError(f"{self.semantic_id}: kind {self.kind.value!r} with direction {self.direction.value!r}")
        if is_graded and self.display_name is not None:
            raise ValueError(f"{self.semantic_id}: display_name is for metrics that only describe")
        is_percent = self.display_kind is MetricDisplayKind.PERCENT
        if is_percent and (self.value_range is None or self.display_multiplier is None):
            raise ValueError(f"{self.semantic_id}: percent needs value_range and display_multiplier")
        factor = self.display_multiplier
        if factor is not None and not (math.isfinite(factor) and factor > 0):
            raise ValueError(f"{self.semantic_id}: display_multiplier must be finite and above 0, and it is {factor}")
        return self


def semantics_of(benchmark: str, identity: MetricIdentity, older_name: str | None = None) -> MetricSemantics:
    """Return the meaning of a metric. What the benchmark defines comes first, then what an older report meant by the
    name, then the aggregation's, then the name's.

    Args:
        benchmark: The benchmark's name.
        identity: The metric.
        older_name: Its name in a report of schema 1.
    """
    found = _row(benchmark, identity, older_name)
    return MetricSemantics.diagnostic(identity.name) if found is None else MetricSemantics(**found)


def _row(benchmark: str, identity: MetricIdentity, older_name: str | None) -> Mapping[str, Any] | None:
    table, name = _catalog(), identity.name
    return (
        table["by_benchmark"].get(f"{benchmark}:{name}")
        or (table["older_names"].get(older_name) if older_name else None)
        or table["by_aggregation"].get(f"{name}:{identity.aggregation}")
        or table["metrics"].get(name)
    )


class SemanticsResolver:
    """The table as an object, for authors."""

    def resolve(
        self, benchmark_name: str, identity: MetricIdentity, legacy_name: str | None = None
    ) -> ResolvedSemantics:
        """Return the meaning of a metric; see ``semantics_of``."""
        is_unknown = _row(benchmark_name, identity, legacy_name) is None
        return ResolvedSemantics(semantics_of(benchmark_name, identity, legacy_name), degraded=is_unknown)


@dataclass(frozen=True, slots=True)
class ResolvedSemantics:
    """The meaning of a metric, as authors get it.

    Attributes:
        semantics: The meaning.
        degraded: Whether the table does not have the metric.
    """

    semantics: MetricSemantics
    degraded: bool = False


def get_semantics_resolver() -> SemanticsResolver:
    """Return the table as an object."""
    return SemanticsResolver()


def is_known(benchmark: str, identity: MetricIdentity) -> bool:
    """Return whether the table has a metric."""
    return _row(benchmark, identity, None) is not None


def is_older_name(name: str) -> bool:
    """Return whether reports of schema 1 have a metric of this name with a known meaning."""
    return name in _catalog()["older_names"]


def spelling_of(name: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name that an older spelling stands for, and the dimensions that it carries."""
    found: tuple[str, Mapping[str, Any]] | None = _catalog()["spellings"].get(name)
    return found


# Kept for the life of the process: a file of the package.
@lru_cache(maxsize=1)
def _catalog() -> Mapping[str, Mapping[str, Any]]:
    read = yaml.safe_load((Path(__file__).parent / "catalog.yaml").read_text("utf-8"))
    kinds = {name: _of_kind(name, fields) for name, fields in read["kinds"].items()}

    def of(fields: Mapping[str, Any]) -> dict[str, Any]:
        own = {_FIELDS[key]: value for key, value in fields.items() if key in _FIELDS}
        if "better" in fields:
            own["direction"] = f"{fields['better']}_is_better"
        if "range" in fields:
            own["value_range"] = dict(zip(("min", "max"), fields["range"], strict=True))
        return {**kinds[fields["kind"]], **own}

    def listed(section: str) -> dict[str, Any]:
        plain = {name: kinds[kind] for kind, names in read[section].items() for name in names}
        return plain | {name: of(fields) for name, fields in read[f"{section}_with_fields"].items()}

    spellings: dict[str, tuple[str, dict[str, Any]]] = {
        other: (name, {}) for name, others in read["spellings"].items() for other in others
    }
    for other, fields in read["spellings_with_dimensions"].items():
        spellings[other] = fields.pop("name"), fields
    return {
        "metrics": listed("metrics"),
        "older_names": listed("older_names"),
        "by_aggregation": {key: of(fields) for key, fields in read["by_aggregation"].items()},
        "by_benchmark": {key: of(fields) for key, fields in read["by_benchmark"].items()},
        "spellings": spellings,
    }


def _of_kind(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    better = fields.get("better")
    found: dict[str, Any] = {
        "semantic_id": name,
        "metric_name": fields["title"],
        "kind": MetricKind.QUALITY if better else MetricKind.DIAGNOSTIC,
        "direction": f"{better}_is_better" if better else MetricDirection.NONE,
    }
    if fields["form"] == "number":
        unit = fields.get("unit")
        return found | {"display_precision": fields["digits"], "raw_unit": unit, "display_unit": unit}
    factor = 100.0 if fields["form"] == "percent" else 1.0
    return found | {
        "value_range": {"min": 0.0, "max": 100.0 / factor},
        "display_kind": MetricDisplayKind.PERCENT,
        "display_multiplier": factor,
        "display_unit": "%",
        "display_precision": _PERCENT_DIGITS,
    }
