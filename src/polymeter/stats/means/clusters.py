"""The partition into clusters. Standard errors, degrees of freedom and resampling share it, so they cannot disagree.

Samples that share an image or a video are not independent. A value without a cluster counts as a cluster of one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALONE = -1
"""The code of a value that belongs to no cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The assignment of values to clusters.

    Attributes:
        codes: Cluster number of each value, shape ``(n,)``; numbered from 0 in order of first appearance.
        count: Number of clusters, including values without one.
    """

    codes: NDArray[np.intp]
    count: int

    @classmethod
    def of(cls, labels: Iterable[Hashable | None]) -> Partition:
        """Return the partition by label; each ``None`` becomes a cluster of one."""
        numbers: dict[Hashable, int] = {}
        return cls.of_codes([ALONE if label is None else numbers.setdefault(label, len(numbers)) for label in labels])

    @classmethod
    def of_codes(cls, codes: Sequence[int] | NDArray[np.int64]) -> Partition:
        """Return the partition by number, shape ``(n,)``; each negative number (``ALONE``) becomes a cluster of one."""
        numbers = np.array(codes, dtype=np.int64)
        is_alone = numbers < 0
        numbers[is_alone] = np.arange(np.count_nonzero(is_alone)) + numbers.max(initial=-1) + 1
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        rank = np.empty(first.size, dtype=np.intp)
        rank[np.argsort(first)] = np.arange(first.size)
        return cls(rank[inverse], int(first.size))

    def sums(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums per cluster: a table of shape ``(n, k)`` becomes ``(count, k)``."""
        columns = [np.bincount(self.codes, weights=column, minlength=self.count) for column in table.T]
        return np.stack(columns, axis=1)

    def members(self) -> list[NDArray[np.intp]]:
        """Return the positions of each cluster's values, ascending: ``count`` arrays."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.codes, minlength=self.count))[:-1])
