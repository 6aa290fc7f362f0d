"""Reports of schema 1, brought to the shape of schema 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.interop.evalscope.v1.report.legacy_names import identity_of
from polymeter.interop.evalscope.v1.report.semantics import semantics_of


def migrated_report(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dictionary of a report in the shape of schema 2; one of that schema keeps its content."""
    found = {key: value for key, value in data.items() if key not in ("num", "score", "metric_schema_version")}
    named = found.pop("primary_metric_name", None)
    found["schema_version"] = 2
    metrics = found.get("metrics") or []
    benchmark = str(found.get("dataset_name") or "")
    found["metrics"] = [
        migrated_metric(metric, benchmark) if isinstance(metric, Mapping) else metric for metric in metrics
    ]
    if found.get("primary_metric_identity") is None:
        primary = _named(found["metrics"], named) or _with_role(metrics)
        if primary is not None:
            found["primary_metric_identity"] = primary
    return found


def migrated_metric(data: Mapping[str, Any], benchmark: str = "") -> dict[str, Any]:
    """Return the dictionary of a metric in the shape of schema 2."""
    found = {key: value for key, value in data.items() if key != "semantic_id"}
    if "identity" in found:
        meaning = found.get("semantics")
        if isinstance(meaning, Mapping):
            found["semantics"] = _without_role(meaning)
        return found
    name = str(found.pop("name", "legacy_metric"))
    identity = identity_of(name, benchmark)
    meaning = semantics_of(benchmark, identity, name).model_dump()
    return {"semantics": meaning, **found, "identity": identity.model_dump(), "legacy_name": name}


def _without_role(meaning: Mapping[str, Any]) -> dict[str, Any]:
    """A meaning without fields of earlier versions; its role shows whether it grades."""
    found = {key: value for key, value in meaning.items() if key not in ("role", "contract_version")}
    role = meaning.get("role")
    if role is not None:
        found.setdefault("kind", "diagnostic" if role == "diagnostic" else "quality")
    return found


def _named(metrics: list[Any], name: Any) -> Any:
    """The identity of the only metric of this name, if it grades."""
    if not isinstance(name, str) or not name:
        return None
    found = [
        metric
        for metric in metrics
        if isinstance(metric, dict) and name in (metric.get("legacy_name"), metric.get("name"))
    ]
    if len(found) != 1 or (found[0].get("semantics") or {}).get("kind") == "diagnostic":
        return None
    return found[0].get("identity")


def _with_role(metrics: list[Any]) -> Any:
    """The identity of the only metric that an earlier version calls primary."""
    found = [
        metric.get("identity")
        for metric in metrics
        if isinstance(metric, Mapping)
        and isinstance(metric.get("semantics"), Mapping)
        and metric["semantics"].get("role") == "primary"
    ]
    return found[0] if len(found) == 1 else None
