"""Which samples an HTML report shows when it cannot show all: those without a score, the worst, and an even spread.

One pass over the samples holds a small multiple of the limit, never all. The choice depends on their order and content
alone, so that the same run gives the same report.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Sample = Mapping[str, Any]
_FAILED_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Choice:
    """The samples to show.

    Attributes:
        samples: In dataset order.
        ranks: The priority of each, 0 the highest: failures, then the worst and the spread in turn.
        n_total: The number of samples of the task.
        n_failed: How many of them have no score.
    """

    samples: tuple[Sample, ...]
    ranks: tuple[int, ...]
    n_total: int
    n_failed: int

    @property
    def n_failed_shown(self) -> int:
        """The number of chosen samples without a score."""
        return sum(sample.get("status") != "ok" for sample in self.samples)


def choose(samples: Iterable[Sample], limit: int, goodness: Callable[[Sample], float | None]) -> Choice:
    """Choose at most ``limit`` samples.

    Args:
        samples: All samples of a task, in dataset order.
        limit: The number of samples to choose.
        goodness: The score of a sample, higher is better; ``None`` if it has none that can be compared.
    """
    failed: list[tuple[int, Sample]] = []
    worst: list[tuple[float, int, Sample]] = []
    spread = _Spread(limit)
    n_total = n_failed = 0
    for position, sample in enumerate(samples):
        n_total += 1
        if sample.get("status") != "ok":
            n_failed += 1
            if len(failed) < limit:
                failed.append((position, sample))
            continue
        spread.offer(position, sample)
        good = goodness(sample)
        if good is not None:
            # A heap pops its smallest entry; with the sign turned that is the best sample held. Positions are unique,
            # so samples (dictionaries) are never compared.
            heapq.heappush(worst, (-good, -position, sample))
            if len(worst) > limit:
                heapq.heappop(worst)
    if n_failed < n_total:
        # Failures take at most a share, unless there are too few others to fill the limit.
        failed = failed[: max(int(limit * _FAILED_SHARE), limit - (n_total - n_failed))]
    candidates = [
        *failed,
        *_alternate([(-position, sample) for _, position, sample in sorted(worst, reverse=True)], spread.kept()),
    ]
    chosen: dict[int, tuple[int, Sample]] = {}
    for position, sample in candidates:
        if len(chosen) == limit:
            break
        chosen.setdefault(position, (len(chosen), sample))
    ordered = [chosen[position] for position in sorted(chosen)]
    return Choice(tuple(sample for _, sample in ordered), tuple(rank for rank, _ in ordered), n_total, n_failed)


class _Spread:
    """An even spread over a stream of unknown length: whenever too many are held, every second one is dropped."""

    def __init__(self, size: int) -> None:
        self._size = max(size, 1)
        self._stride = 1
        self._seen = 0
        self._held: list[tuple[int, Sample]] = []

    def offer(self, position: int, sample: Sample) -> None:
        if self._seen % self._stride == 0:
            self._held.append((position, sample))
            if len(self._held) > 2 * self._size:
                self._held = self._held[::2]
                self._stride *= 2
        self._seen += 1

    def kept(self) -> list[tuple[int, Sample]]:
        """All that is held, in bit-reversed order, so that every prefix of the list is spread evenly."""
        n = len(self._held)
        bits = max(n - 1, 1).bit_length()
        order = (int(f"{i:0{bits}b}"[::-1], 2) for i in range(1 << bits))
        return [self._held[i] for i in order if i < n]


def _alternate(first: list[tuple[int, Sample]], second: list[tuple[int, Sample]]) -> list[tuple[int, Sample]]:
    mixed = [item for pair in zip(first, second, strict=False) for item in pair]
    shared = min(len(first), len(second))
    return [*mixed, *first[shared:], *second[shared:]]
