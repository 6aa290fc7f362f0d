"""Krippendorff's alpha: the agreement of any number of judges, even if some of them missed a sample.

``1 - observed disagreement / expected disagreement`` over the pairs of values within samples (Krippendorff 2011,
*Computing Krippendorff's Alpha-Reliability*). 1 is full agreement, 0 is chance. Numbers with more than two distinct
values are compared by their squared difference (the interval metric), anything else by being equal (the nominal one).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.text.codec import is_nan
from polymeter.stats import Estimate, Partition, bootstrap_error, bootstrap_interval
from polymeter.stats.bootstrap import affordable_resamples
from polymeter.stats.means.moments import FEWEST_SAMPLES

_RESAMPLES = 1000
_BUDGET = 20_000_000
_LEAST = 1e-12


def krippendorff_alpha(
    ratings: Sequence[Sequence[Any]],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
) -> Estimate:
    """Compute Krippendorff's alpha, with an interval from resampling the samples.

    Args:
        ratings: For each sample the judges' values; ``None`` or NaN for a missing one.
        clusters: The label that each sample shares with others, ``None`` for one on its own; clusters are resampled.
        seed: For resampling.

    Returns:
        The estimate. It has no value if no sample has two comparable values, or if all values are equal, so that no
        disagreement is expected.

    Raises:
        ValueError: if the lists differ in length.
    """
    if clusters is not None and len(clusters) != len(ratings):
        raise ValueError("The lists of ratings and clusters differ in length.")
    known = [[value for value in row if value is not None and not is_nan(value)] for row in ratings]
    kept = [number for number, row in enumerate(known) if len(row) > 1]
    rows = [known[number] for number in kept]
    values = {value for row in rows for value in row}
    is_interval = len(values) > 2 and all(isinstance(value, (int, float)) for value in values)
    terms = _interval_terms(rows) if is_interval else _nominal_terms(rows, sorted(values, key=str))
    expected = _expected_interval if is_interval else _expected_nominal

    def alpha_of(totals: NDArray[np.float64]) -> float | None:
        n = float(totals[0])
        within = float(totals[1])
        disagreement = expected(totals)
        return 1 - (n - 1) * within / disagreement if disagreement > _LEAST else None

    value = alpha_of(terms.sum(axis=0)) if rows else None
    if value is None:
        return Estimate(None)
    partition = None
    if clusters is not None:
        partition = Partition.of(clusters[number] for number in kept)
    is_clustered = partition is not None and partition.count < len(rows)
    units = partition.sums(terms) if partition is not None and is_clustered else terms
    if value == 1.0:
        return Estimate(value, no_interval="the verdicts show no disagreement")
    if len(units) < FEWEST_SAMPLES and not is_clustered:
        return Estimate(value, no_interval=f"fewer than {FEWEST_SAMPLES} samples")
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(affordable_resamples(_RESAMPLES, units.size, _BUDGET)):
        counts = np.bincount(draw.integers(len(units), size=len(units)), minlength=len(units))
        found.append(alpha_of(counts @ units))
    replicates = np.array([item for item in found if item is not None])
    stderr = bootstrap_error(value, replicates)
    if stderr is None:
        return Estimate(value, no_interval="hardly any resample has a value")
    interval = bootstrap_interval(value, replicates, len(units), is_clustered=is_clustered)
    bounded = None
    if interval.interval is not None:
        bounded = interval.interval[0], min(interval.interval[1], 1.0)
    return Estimate(value, stderr, bounded, "bootstrap", interval.method, interval.problem)


def _nominal_terms(rows: Sequence[Sequence[Any]], values: Sequence[Any]) -> NDArray[np.float64]:
    """Return the terms of each sample: its number of values, the disagreement within it, and the count of each value.
    Shape ``(n, 2 + k)``.
    """
    numbers = {value: number for number, value in enumerate(values)}
    terms = np.zeros((len(rows), 2 + len(values)))
    for place, row in enumerate(rows):
        counts = np.bincount([numbers[value] for value in row], minlength=len(values))
        m = len(row)
        terms[place] = [m, (m * m - float(counts @ counts)) / (m - 1), *counts]
    return terms


def _interval_terms(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the terms of each sample for squared differences: sums of values and of squares. Shape ``(n, 4)``."""
    centre = math.fsum(value for row in rows for value in row) / sum(map(len, rows))
    terms = np.zeros((len(rows), 4))
    for place, row in enumerate(rows):
        data = np.asarray(row, dtype=np.float64) - centre
        m = data.size
        within = 2 * m / (m - 1) * float(np.square(data - data.mean()).sum())
        terms[place] = [m, within, float(data.sum()), float(np.square(data).sum())]
    return terms


def _expected_nominal(totals: NDArray[np.float64]) -> float:
    """Return the disagreement among all pairs of values of all samples."""
    n, counts = float(totals[0]), totals[2:]
    return n * n - float(counts @ counts)


def _expected_interval(totals: NDArray[np.float64]) -> float:
    n, _, of_values, of_squares = totals.tolist()
    return 2 * float(n * of_squares - of_values**2)
