"""Bins of a metric's values, and groups of equally many samples along a quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from polymeter.report.scales import Scale
from polymeter.viewer.plots.columns import Codes, Floats

MOST_VALUES = 11
"""The most different values of a metric for which each gets a bar."""


@dataclass(frozen=True)
class Bins:
    """Bins of a metric.

    Attributes:
        labels: The content of each.
        middles: The place of each.
        width: The width of one; 0: each stands for a single value.
        codes: For each value given the bin that it is in.
    """

    labels: tuple[str, ...]
    middles: tuple[float, ...]
    width: float
    codes: Codes

    def counts(self, chosen: Codes | None = None) -> Codes:
        """Return the number of values in each bin; with a mask, only of those that it selects."""
        codes = self.codes if chosen is None else self.codes[chosen]
        return np.bincount(codes, minlength=len(self.labels))


def bins_of(values: Floats, scale: Scale | None, most: int) -> Bins:
    """Bins for some finite values.

    Args:
        values: At least one.
        scale: The scale of the metric, if it is known; bins of equal width then cover it.
        most: The most bins.
    """
    # A metric of few values shows so within its first samples; only then are all of them sorted.
    some = np.unique(values[:10_000])
    different = np.unique(values) if len(some) <= MOST_VALUES else some
    if len(different) <= MOST_VALUES:
        labels = tuple(f"{value:.4g}" for value in different)
        return Bins(labels, tuple(map(float, different)), 0.0, np.searchsorted(different, values))
    low, high = float(values.min()), float(values.max())
    if scale is not None:
        low, high = min(low, scale.low), max(high, scale.high)
    edges = np.linspace(low, high, most + 1)
    codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, most - 1)
    labels = tuple(f"{start:.4g} – {stop:.4g}" for start, stop in pairwise(edges))
    middles = tuple(float(middle) for middle in (edges[:-1] + edges[1:]) / 2)
    return Bins(labels, middles, float(edges[1] - edges[0]), codes)


def quantile_groups(values: Floats, most: int) -> list[Codes]:
    """Groups of about equally many values along their size, as places; equal values are never separated.

    Args:
        values: Finite values.
        most: The most groups.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    cuts = [0]
    for number in range(1, most):
        # A cut among equal values moves to where they begin.
        place = int(np.searchsorted(ordered, ordered[number * len(ordered) // most], side="left"))
        if place > cuts[-1]:
            cuts.append(place)
    ends: Sequence[int] = [*cuts[1:], len(ordered)]
    return [order[start:stop] for start, stop in zip(cuts, ends, strict=True)]
