"""What a report says of the replicas of a model: how busy they were, what waited for them, which of them were lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.stable_names import SESSION_DISPATCHERS
from polymeter.report.formatting import clean, count, duration


def replica_summary(manifest: Mapping[str, Any]) -> str:
    """One line that sums up all parts of the run; empty if its model was in the run's own process."""
    records = [record for _, record in _records(manifest)]
    if not records:
        return ""
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
    """How the replicas of each part of the run fared: pairs of a label and lines of text."""
    found = list(_records(manifest))
    for number, record in found:
        lines = [f"all: {_busy(record)}"]
        for slot in record.get("slots", ()):
            facts = [
                f"{count(int(slot['n_items']), 'request')} in {count(int(slot['n_leases']), 'lease')}",
                f"busy for {duration(float(slot['busy_s']))} of {duration(float(slot['ready_s']))}",
            ]
            facts += [f"lost {count(int(slot['n_lost']), 'time')}, at last: {slot['reason']}"] if slot["n_lost"] else []
            facts += ["given up"] if slot.get("is_given_up") else []
            lines.append(f"{slot['slot']}: {', '.join(facts)}")
        yield f"part {number}" if len(found) > 1 else "model", clean("\n".join(lines))


def _busy(record: Mapping[str, Any]) -> str:
    waits = duration(float(record.get("mean_wait_s", 0)))
    return f"busy {float(record.get('utilisation', 0)):.0%} of the time; a request waits {waits} for a free one"


def _records(manifest: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The number of a part, and the record of its replicas."""
    for number, session in enumerate(manifest.get("sessions") or (), 1):
        # Only the measured model has replicas. Its own prompts, and verdicts where it is the judge, come from the same.
        found = ((session.get(SESSION_DISPATCHERS) or {}).get("model") or {}).get("replicas")
        if found:
            yield number, found
