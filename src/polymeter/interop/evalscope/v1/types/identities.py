"""The identity of a reported metric: a name, an aggregation, dimensions; and the names by which authors write it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

Scalar = str | int | float | bool
_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_AMBIGUOUS = frozenset({"score", "overall", "total_score"})
_AGGREGATIONS = {
    "avg": "mean",
    "average": "mean",
    "macro": "macro_mean",
    "micro": "micro_mean",
    "weighted": "weighted_mean",
    "": "identity",
}
PRODUCER_ALIASES = {"acc": "accuracy", "f1_score": "f1", "em": "exact_match", "bertscore": "bert_score"}
"""Names of metrics that adapters write → the one that is reported."""
METRIC_LIST_ALIASES = {"acc": "accuracy", "f1_score": "f1", "F1": "f1", "em": "exact_match"}
"""Names in a ``metric_list`` → the registered metric."""
BLEU_N = re.compile(r"^(?:mean_)?[Bb]leu[-_](?P<ngram>\d+)$")
ROUGE_VARIANT = re.compile(r"^(?:mean_)?Rouge-(?P<variant>[12L])-(?P<statistic>[RPF])$")
_STATISTICS = {"R": "recall", "P": "precision", "F": "f1"}


def checked_name(value: str, field_name: str) -> str:
    """Return a name, if it is in snake case.

    Raises:
        ValueError: if it is not.
    """
    if not _NAME.fullmatch(value):
        raise ValueError(f"{field_name} must be lower-case snake_case, got {value!r}")
    return value


def _metric_name(value: str) -> str:
    if checked_name(value, "name") in _AMBIGUOUS:
        raise ValueError(f"ambiguous metric name {value!r} is forbidden; declare the measured concept")
    return value


def scalar_key(value: Scalar) -> tuple[str, Scalar]:
    """Return a key by which values compare as in JSON, which keeps booleans apart from numbers."""
    kind = "boolean" if isinstance(value, bool) else "number" if isinstance(value, (int, float)) else "string"
    return kind, value


def _dimensions(dimensions: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Sorted, with whole numbers as integers."""
    sorted_ones: dict[str, Scalar] = {}
    for key, value in sorted(dimensions.items()):
        checked_name(key, "dimension key")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"dimension {key!r} must be a finite JSON scalar")
        sorted_ones[key] = int(value) if isinstance(value, float) and value.is_integer() else value
    return sorted_ones


class MetricIdentity(BaseModel):
    """The identity of a reported metric.

    Attributes:
        name: The metric.
        aggregation: From values of samples to a number.
        dimensions: Further axes, as ``k`` or a scope.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    aggregation: str
    dimensions: dict[str, Scalar] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def check_name(cls, value: str) -> str:
        """Refuse names that say nothing, or are not in snake case."""
        return _metric_name(value)

    @field_validator("aggregation")
    @classmethod
    def check_aggregation(cls, value: str) -> str:
        """Refuse names that are not in snake case."""
        return checked_name(value, "aggregation")

    @field_validator("dimensions")
    @classmethod
    def check_dimensions(cls, dimensions: dict[str, Scalar]) -> dict[str, Scalar]:
        """Sort them."""
        return _dimensions(dimensions)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """A key for sorting and comparing."""
        return self.name, self.aggregation, tuple((key, scalar_key(value)) for key, value in self.dimensions.items())

    def __eq__(self, other: object) -> bool:
        return self.sort_key == other.sort_key if isinstance(other, MetricIdentity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sort_key)

    @property
    def key(self) -> str:
        """All of it as text: ``name:aggregation[dimension=value,…]``."""
        parts = [
            f"{key}={json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
            for key, value in self.dimensions.items()
        ]
        return f"{self.name}:{self.aggregation}" + (f"[{','.join(parts)}]" if parts else "")


class MetricSelector(BaseModel):
    """A choice of one metric of a report: what is not given may be anything."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    aggregation: str | None = None
    dimensions: dict[str, Scalar] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def check_name(cls, value: str) -> str:
        """Refuse names that say nothing, or are not in snake case."""
        return _metric_name(value)

    @field_validator("aggregation")
    @classmethod
    def check_aggregation(cls, value: str | None) -> str | None:
        """Refuse names that are not in snake case."""
        return checked_name(value, "aggregation") if value is not None else None

    @field_validator("dimensions")
    @classmethod
    def check_dimensions(cls, dimensions: dict[str, Scalar]) -> dict[str, Scalar]:
        """Sort them."""
        return _dimensions(dimensions)

    def matches(self, identity: MetricIdentity) -> bool:
        """Return whether a metric is among those chosen."""
        return (
            self.name == identity.name
            and self.aggregation in (None, identity.aggregation)
            and all(
                key in identity.dimensions and scalar_key(identity.dimensions[key]) == scalar_key(value)
                for key, value in self.dimensions.items()
            )
        )


def snake_case(value: str) -> str:
    """Return a name in snake case: a boundary between a small letter or digit and a capital, and ``_`` for the rest."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", value).lower()).strip("_")


def canonical_aggregation(raw_aggregation: str) -> str:
    """Return the name by which an aggregation is reported."""
    return _AGGREGATIONS.get(raw_aggregation, snake_case(raw_aggregation))


def canonical_overlap_name(name: str, dimensions: dict[str, Scalar]) -> str | None:
    """Return ``bleu`` or ``rouge`` for names as ``bleu-4`` and ``Rouge-L-F``, whose parts become dimensions; ``None``
    for other names.
    """
    if bleu := BLEU_N.fullmatch(name):
        dimensions.setdefault("ngram", int(bleu["ngram"]))
        return "bleu"
    if rouge := ROUGE_VARIANT.fullmatch(name):
        if rouge["variant"] == "L":
            dimensions.setdefault("variant", "l")
        else:
            dimensions.setdefault("ngram", int(rouge["variant"]))
        dimensions.setdefault("statistic", _STATISTICS[rouge["statistic"]])
        return "rouge"
    return None


def canonicalize_producer_identity(
    metric_name: str, aggregation: str | None, dimensions: Mapping[str, Scalar] | None = None
) -> MetricIdentity:
    """Return the identity by which a new number is reported. A name that says nothing becomes ``legacy_metric``."""
    further = dict(dimensions or {})
    name = canonical_overlap_name(metric_name, further)
    if name is None:
        written = snake_case(metric_name)
        name = PRODUCER_ALIASES.get(written, written)
    try:
        _metric_name(name)
    except ValueError:
        name, further["original_name"] = "legacy_metric", metric_name
    return MetricIdentity(name=name, aggregation=canonical_aggregation(aggregation or "identity"), dimensions=further)
