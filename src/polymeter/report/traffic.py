"""How a run fared at its endpoints, read from its manifest: requests in flight, and what went wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.report.words import count, duration

_COUNTS = (("rate_limits", "rate limit"), ("failures", "passing failure"), ("timeouts", "time-out"))
_REASONS = {
    "told": "as told",
    "start": "to begin with",
    "saturated": "more, as all were in use",
    "slow start": "more, as all were in use",
    "rate limits": "fewer, after rate limits",
    "failures": "fewer, after failures",
    "no faster": "fewer, as more were no faster",
}


def endpoints(manifest: Mapping[str, Any]) -> dict[str, str]:
    """For the model and each judge that is an endpoint, one line about all parts of the run."""
    told = {}
    for role, records in _by_role(manifest).items():
        most = max(int(record.get("most_in_flight", 0)) for record in records)
        said = [f"at most {count(most, 'request')} in flight"]
        for name, noun in _COUNTS:
            total = sum(int(record.get(name, 0)) for record in records)
            said += [count(total, noun)] if total else []
        paused_s = sum(float(record.get("paused_s", 0)) for record in records)
        said += [f"{duration(paused_s)} of waiting as told"] if paused_s else []
        told[role] = ", ".join(said)
    return told


def histories(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How the limit of requests in flight changed, in each part of the run: pairs of a label and lines of text."""
    for role, records in _by_role(manifest).items():
        for number, record in enumerate(records, 1):
            part = f", part {number}" if len(records) > 1 else ""
            lines = [
                f"{seconds:.1f} s: {limit} ({_REASONS.get(why, why)})"
                for seconds, limit, why in record.get("history", ())
            ]
            yield f"{role}{part}", "\n".join(lines)


def _by_role(manifest: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for session in manifest.get("sessions") or ():
        for role, lane in (session.get("lanes") or {}).items():
            if lane.get("concurrency"):
                found.setdefault(role, []).append(lane["concurrency"])
    return found
