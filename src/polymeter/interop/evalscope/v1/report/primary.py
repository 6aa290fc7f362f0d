"""The choice of the one metric that stands for a whole report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from polymeter.interop.evalscope.v1.report.semantics import MetricKind, MetricSemantics
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, MetricSelector


class PrimarySelectionStatus(str, Enum):
    """The outcome of a choice."""

    SELECTED = "selected"
    NO_MATCH = "no_match"
    NO_SCORED_METRICS = "no_scored_metrics"
    AMBIGUOUS = "ambiguous"
    DIAGNOSTIC = "diagnostic"


@dataclass(frozen=True, slots=True)
class PrimarySelection:
    """The chosen metric, or the reason why there is none.

    Attributes:
        status: The outcome.
        identity: The metric.
        unavailable_reason: Why there is none.
    """

    status: PrimarySelectionStatus
    identity: MetricIdentity | None = None
    unavailable_reason: str | None = None


def select_primary(
    identities: Sequence[MetricIdentity],
    semantics_by_identity: Mapping[str, MetricSemantics],
    selector: MetricSelector | None,
) -> PrimarySelection:
    """Choose a metric. Without a selector, the only metric that grades is chosen.

    Args:
        identities: The report's metrics.
        semantics_by_identity: Their meanings by ``key``.
        selector: The benchmark's.
    """

    def none(status: PrimarySelectionStatus, why: str) -> PrimarySelection:
        return PrimarySelection(status, unavailable_reason=why)

    def is_graded(identity: MetricIdentity) -> bool:
        return semantics_by_identity[identity.key].kind is not MetricKind.DIAGNOSTIC

    if selector is None:
        graded = [identity for identity in identities if is_graded(identity)]
        if not graded:
            return none(PrimarySelectionStatus.NO_SCORED_METRICS, "No metric of this run grades.")
        if len(graded) > 1:
            keys = ", ".join(identity.key for identity in graded)
            return none(PrimarySelectionStatus.AMBIGUOUS, f"{len(graded)} metrics grade, and none is primary: {keys}.")
        return PrimarySelection(PrimarySelectionStatus.SELECTED, graded[0])
    matches = [identity for identity in identities if selector.matches(identity)]
    wanted = f"primary_metric {_shown(selector)}"
    if not matches:
        return none(PrimarySelectionStatus.NO_MATCH, f"{wanted} matches no metric of this run.")
    if len(matches) > 1:
        keys = ", ".join(identity.key for identity in matches)
        return none(PrimarySelectionStatus.AMBIGUOUS, f"{wanted} matches {len(matches)} metrics: {keys}.")
    if not is_graded(matches[0]):
        return none(PrimarySelectionStatus.DIAGNOSTIC, f"{wanted} matches {matches[0].key}, which grades nothing.")
    return PrimarySelection(PrimarySelectionStatus.SELECTED, matches[0])


def _shown(selector: MetricSelector) -> str:
    axes = ",".join(f"{name}={value}" for name, value in selector.dimensions.items())
    return f"{selector.name}:{selector.aggregation or '*'}" + (f"[{axes}]" if axes else "")
