"""A summary of what a model was shown in a task, over the distinct media."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.text.codec import parse_json
from polymeter.store.journal import Journal

RANGES = {
    "video": ("frames", "width", "height"),
    "image": ("width", "height"),
    "audio": ("rate", "channels", "seconds"),
}
"""The numbers of a medium as sent whose least and greatest values are kept, by its kind."""


@dataclass(slots=True)
class _Shown:
    """The distinct media of one kind."""

    n: int = 0
    n_fewer: int = 0
    n_scaled: int = 0
    n_subtitled: int = 0
    n_unsubtitled: int = 0
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, kind: str, record: Mapping[str, Any]) -> None:
        before, sent = record.get("before") or {}, record.get("sent") or {}
        self.n += 1
        self.n_fewer += record.get("n_wanted") is not None
        sizes = [(size.get("width"), size.get("height")) for size in (before, sent)]
        self.n_scaled += None not in (*sizes[0], *sizes[1]) and sizes[0] != sizes[1]
        if subtitles := sent.get("subtitles"):
            has_cues = bool(subtitles.get("cues"))
            self.n_subtitled += has_cues
            self.n_unsubtitled += not has_cues
        for name in RANGES[kind]:
            value = sent.get(name)
            if isinstance(value, (int, float)) and math.isfinite(value):
                low, high = self.ranges.get(name, (value, value))
                self.ranges[name] = min(low, value), max(high, value)

    def document(self, kind: str) -> dict[str, Any]:
        ranges = {name: self.ranges[name] for name in RANGES[kind] if name in self.ranges}
        return {
            "n": self.n,
            **({"n_fewer": self.n_fewer} if self.n_fewer else {}),
            **({"n_scaled": self.n_scaled} if self.n_scaled else {}),
            **({"n_subtitled": self.n_subtitled} if self.n_subtitled else {}),
            **({"n_unsubtitled": self.n_unsubtitled} if self.n_unsubtitled else {}),
            **{name: {"min": low, "max": high} for name, (low, high) in ranges.items()},
        }


def shown_summary(journal: Journal, task: str) -> dict[str, Any] | None:
    """Return what the model was shown in a task, by kind of medium; ``None`` if nothing is recorded.

    For each kind: ``n``, the distinct media; ``n_fewer``, the videos with fewer frames than their rule asks for;
    ``n_scaled``, those sent in another size; ``n_subtitled``, the videos with subtitles, and ``n_unsubtitled``, those
    without, if the rule shows them; and ``min`` and ``max`` of ``RANGES``. Only one record is in memory.

    Raises:
        JournalError: if the journal cannot be read.
    """
    found = {kind: _Shown() for kind in RANGES}
    for body in journal.shown_in(task):
        record = parse_json(body)
        if (kind := record.get("modality")) in found:
            found[kind].add(kind, record)
    return {kind: one.document(kind) for kind, one in found.items() if one.n} or None
