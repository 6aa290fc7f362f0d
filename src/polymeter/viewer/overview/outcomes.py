"""The samples of a task by outcome: right, wrong and without a score, as one bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.table import title_of
from polymeter.viewer.sample_index import SampleIndex
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import address

_LOOKS = {"right": "fill-right", "wrong": "fill-wrong", "unscored": "fill-none"}
_STATES = {"right": ("right",), "wrong": ("wrong",), "unscored": ("failed", "unscored")}
_LABELS = {"right": "right", "wrong": "wrong", "unscored": "without a score"}


@dataclass(frozen=True, slots=True)
class OutcomePart:
    """A part of the bar: its samples, its place in percent of the bar, and a link to the samples."""

    label: str
    n: int
    start: float
    width: float
    look: str
    link: str

    @property
    def percent(self) -> str:
        """Its share as text."""
        return f"{self.width:.1f} %"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The bar of a task, and the rule by which a sample is wrong."""

    title: str
    rule: str
    parts: tuple[OutcomePart, ...]


def outcomes(
    run: RunInShort, results: Mapping[str, Any], indexes: Sequence[tuple[str, SampleIndex]]
) -> Iterator[Outcome]:
    """The bar of each task whose samples are right or wrong."""
    for task, index in indexes:
        main = index.main(results.get("tasks", {}).get(task, {}))
        if main is None:
            continue
        right, wrong = int(index.is_right(main).sum()), int(index.is_wrong(main).sum())
        counts = {"right": right, "wrong": wrong, "unscored": index.n - right - wrong}
        parts, start = [], 0.0
        for state, n in counts.items():
            width = 100 * n / index.n
            if n:
                states = [("state", one) for one in _STATES[state]]
                link = address(f"/run/{run.key}/samples", (("task", task), *states))
                parts.append(OutcomePart(_LABELS[state], n, round(start, 3), round(width, 3), _LOOKS[state], link))
            start += width
        yield Outcome(title_of(results, "task", task), f"A sample is wrong if {main.rule}.", tuple(parts))
