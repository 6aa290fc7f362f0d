"""The order of samples in an HTML report that cannot show all: those without a score, the worst, an even spread. One
pass over the samples holds a few numbers of each, never the samples. The order depends only on their status and scores,
so that the same run gives the same report.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polymeter.report.scales import MainMetric, metrics_of

Sample = Mapping[str, Any]
_FAILED_IN_TURN = 3
"""Each stretch of the order consists of this many samples without a score, and then one with a score."""
_WORST_IN_TURN = 3
"""Each stretch of samples with a score consists of this many of the worst, and then one of the even spread."""
_MOST_KNOWN = 1024
"""The most different scores whose values are kept while the samples are read."""


@dataclass(frozen=True, slots=True)
class SampleOrder:
    """The samples of a task, the most important for a reader first.

    Attributes:
        places: The place of each sample in the dataset's order, the first to show first.
        failed: For each place 1 if the sample has no score, else 0.
        main: The metric that determines the worst ones; ``None``: no metric of the task has a number for each sample.
        extents: The least and greatest value of each metric, by its label; without metrics that have no number.
    """

    places: array[int]
    failed: bytearray
    main: MainMetric | None
    extents: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def n_failed(self) -> int:
        """The number of samples without a score."""
        return sum(self.failed)


def order_of(task: Mapping[str, Any], samples: Iterable[Sample]) -> SampleOrder:
    """The order of a task's samples.

    Up to three of four have no score as long as there are any; of the others up to three of four are the worst that are
    left, and one is of an even spread over the dataset. So any beginning of the order is useful.

    Args:
        task: The task in ``results.json``.
        samples: All of its samples, in dataset order; read once.
    """
    metrics = [*metrics_of(task)]
    failed = bytearray()
    values = [array("d") for _ in metrics]
    known: dict[int, tuple[Any, list[float]]] = {}
    for sample in samples:
        is_failed = sample.get("status") != "ok"
        failed.append(is_failed)
        # Lines of samples share the scores that are alike. They are held, so that no others get their number.
        scores = sample.get("scores")
        found = known.get(id(scores)) if not is_failed else None
        if found is None:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            found = scores, _values(metrics, sample, is_failed=is_failed)
            if not is_failed:
                known[id(scores)] = found
        for column, value in zip(values, found[1], strict=True):
            column.append(value)
    main, goods = _main(metrics, values)
    without = [place for place, is_failed in enumerate(failed) if is_failed]
    scored = [place for place, is_failed in enumerate(failed) if not is_failed]
    worst = sorted((place for place in scored if not math.isnan(goods[place])), key=goods.__getitem__) if main else []
    others = _in_turn(worst, _spread(scored), _WORST_IN_TURN)
    places = array("q", _in_turn(without, others, _FAILED_IN_TURN))
    return SampleOrder(places, failed, main, dict(_extents(metrics, values)))


def _extents(
    metrics: Sequence[MainMetric], values: Sequence[array[float]]
) -> Iterator[tuple[str, tuple[float, float]]]:
    for metric, column in zip(metrics, values, strict=True):
        known = {value for value in column if not math.isnan(value)}
        if known:
            low, high = min(known), max(known)
            yield metric.label, (-high, -low) if metric.is_lower_better else (low, high)


def _values(metrics: Sequence[MainMetric], sample: Sample, *, is_failed: bool) -> list[float]:
    """Return the quality of a sample by each metric; NaN: unknown."""
    if is_failed:
        return [math.nan] * len(metrics)
    goods = (metric.goodness(sample) for metric in metrics)
    return [math.nan if good is None else good for good in goods]


def _main(metrics: Sequence[MainMetric], values: Sequence[array[float]]) -> tuple[MainMetric | None, Sequence[float]]:
    """The metric that most samples have a number for, the first of several; and the quality of each sample by it."""
    known = [sum(not math.isnan(value) for value in column) for column in values]
    most = max(known, default=0)
    if not most:
        return None, ()
    place = known.index(most)
    return metrics[place], values[place]


def _spread(places: Sequence[int]) -> Iterator[int]:
    """All places in bit-reversed order, so that any beginning of them is spread evenly."""
    n = len(places)
    highest = 1 << (max(n - 1, 1).bit_length() - 1)
    place = 0
    for _ in range(2 * highest):
        if place < n:
            yield places[place]
        bit = highest  # to count in reverse, the carry goes from the highest bit down
        while place & bit:
            place ^= bit
            bit >>= 1
        place |= bit


def _in_turn(first: Iterable[int], second: Iterable[int], n_first: int) -> list[int]:
    """``n_first`` of the first, one of the second, and so on; all of them, each once."""
    turns = ((iter(first), n_first), (iter(second), 1))
    found: dict[int, None] = {}
    while True:
        before = len(found)
        for source, wanted in turns:
            enough = len(found) + wanted
            for place in source:
                found[place] = None
                if len(found) == enough:
                    break
        if len(found) == before:
            return [*found]
