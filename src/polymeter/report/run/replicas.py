"""The replicas of models in a report: their load, the waiting requests, and lost replicas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.core.names.stable_names import SESSION_DISPATCHERS
from polymeter.report.formatting import clean, count, duration

_MODEL = "model"


def replica_summary(manifest: Mapping[str, Any]) -> str:
    """One line that sums up all parts of the run; empty if its models were in the run's own process."""
    told = []
    for role in _roles(manifest):
        summary = _summary([record for _, record in _records(manifest, role)])
        told.append(summary if role == _MODEL else f"{role}: {summary}")
    return "; ".join(told)


def _summary(records: Sequence[Mapping[str, Any]]) -> str:
    planned = sorted({int(record["planned"]) for record in records})
    facts = [" and ".join(map(str, planned)), _busy(records[-1])]
    n_lost = sum(int(record.get("n_lost", 0)) for record in records)
    n_returned = sum(int(record.get("n_returned", 0)) for record in records)
    n_given_up = sum(int(record.get("n_given_up", 0)) for record in records)
    facts += [f"{n_lost:,} lost"] if n_lost else []
    facts += [f"{count(n_returned, 'request')} asked again"] if n_returned else []
    facts += [f"{count(n_given_up, 'request')} given up"] if n_given_up else []
    return ", ".join(facts)


def replica_lines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The use of the replicas of each model in each part of the run: pairs of a label and lines of text."""
    for role in _roles(manifest):
        found = list(_records(manifest, role))
        for number, record in found:
            part = f"part {number}" if len(found) > 1 else ""
            label = ", ".join(filter(None, ("" if role == _MODEL and part else role, part)))
            yield label, clean("\n".join(_lines(record)))


def _lines(record: Mapping[str, Any]) -> Iterator[str]:
    yield f"all: {_busy(record)}"
    for slot in record.get("slots", ()):
        facts = [
            f"{count(int(slot['n_items']), 'request')} in {count(int(slot['n_leases']), 'lease')}",
            f"busy for {duration(float(slot['busy_s']))} of {duration(float(slot['ready_s']))}",
        ]
        facts += [f"lost {count(int(slot['n_lost']), 'time')}, at last: {slot['reason']}"] if slot["n_lost"] else []
        facts += ["given up"] if slot.get("is_given_up") else []
        yield f"{slot['slot']}: {', '.join(facts)}"


def _busy(record: Mapping[str, Any]) -> str:
    waits = duration(float(record.get("mean_wait_s", 0)))
    return f"busy {float(record.get('utilisation', 0)):.0%} of the time; a request waits {waits} for a free one"


def _roles(manifest: Mapping[str, Any]) -> list[str]:
    """The roles whose models had replicas, that of the measured one first. A model's own prompts, and verdicts where it
    is the judge, come from the same replicas.
    """
    found: dict[str, None] = {}
    for session in manifest.get("sessions") or ():
        dispatchers = session.get(SESSION_DISPATCHERS) or {}
        own = (dispatchers.get(_MODEL) or {}).get("replicas")
        for role in sorted(dispatchers, key=lambda role: role != _MODEL):
            record = dispatchers[role].get("replicas")
            if record and (role == _MODEL or record != own):
                found[role] = None
    return list(found)


def _records(manifest: Mapping[str, Any], role: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The number of a part, and the record of the replicas of one model."""
    for number, session in enumerate(manifest.get("sessions") or (), 1):
        found = ((session.get(SESSION_DISPATCHERS) or {}).get(role) or {}).get("replicas")
        if found:
            yield number, found
