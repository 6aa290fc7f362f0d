"""Scenarios for ``benchmarks.coverage --held-out``: nothing in the methods was chosen with them.

Sizes, probabilities, correlations, shapes, repeats and groups differ from those of ``coverage.py``, and so do seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import coverage as base
from benchmarks.coverage import Count, Line, Values, near
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.metrics.choice import F1_AGGREGATION, MCC_AGGREGATION
from polymeter.metrics.translation import BLEU_AGGREGATION, CHRF_AGGREGATION
from polymeter.stats import Partition

SEED = 30_000
PROBABILITIES = (0.6, 0.75, 0.85, 0.93, 0.97)

SIZES: dict[str, Callable[[int], NDArray[np.int64]]] = {
    "Zipf": lambda n: np.minimum(np.random.default_rng(SEED + n).zipf(1.8, n), 100).astype(np.int64),
    "log-normal 1.2": lambda n: np.ceil(np.random.default_rng(SEED + n).lognormal(1, 1.2, n)).astype(np.int64),
    "uniform 1 to 30": lambda n: np.random.default_rng(SEED + n).integers(1, 31, n),
    "one half in one": lambda n: np.where(np.arange(n) == 0, 3 * (n - 1), 3),
    "4 each": lambda n: np.full(n, 4),
    "half 3, half 1": lambda n: np.where(np.arange(n) < 0.5 * n, 3, 1),
}


def repeats(repetitions: int) -> Iterator[Line]:
    """Shares of repeats that succeed."""
    for n in (25, 60, 150):
        for n_repeats in (3, 5, 16):
            for strength in (1.0, 12.0):
                for p in PROBABILITIES:
                    yield (
                        f"n = {n}, {n_repeats} repeats, beta with strength {strength:g}, p = {p}",
                        base.mean_count(
                            lambda rng, q, n=n, k=n_repeats, s=strength: (
                                rng.binomial(k, rng.beta(q * s, (1 - q) * s, n)) / k
                            ),
                            near(p),
                            near(p),
                            repetitions,
                            n_failures=n * (1 - p),
                            seed=SEED,
                        ),
                    )


SHAPES: dict[str, tuple[float, Bounds, Callable[[np.random.Generator, int], Values]]] = {
    "log-normal 0.75": (math.exp(0.75**2 / 2), (0.0, None), lambda rng, n: rng.lognormal(0, 0.75, n)),
    "Weibull 0.8": (math.gamma(2.25), UNBOUNDED, lambda rng, n: rng.weibull(0.8, n)),
    "60 % zeros, else exponential": (0.4, (0.0, None), lambda rng, n: (rng.random(n) < 0.4) * rng.exponential(size=n)),
    "bimodal": (0.7, UNBOUNDED, lambda rng, n: np.where(rng.random(n) < 0.7, 2.0, -2.0) + rng.normal(-0.1, 0.5, n)),
    "Laplace": (0.0, UNBOUNDED, lambda rng, n: rng.laplace(size=n)),
    "Poisson 1.5": (1.5, (0.0, None), lambda rng, n: rng.poisson(1.5, n).astype(float)),
    "1 to 10": (7.3, (1.0, 10.0), lambda rng, n: 1 + rng.binomial(9, 0.7, n).astype(float)),
    "beta 2, 1": (2 / 3, (0.0, 1.0), lambda rng, n: rng.beta(2, 1, n)),
    "beta 0.3, 0.7": (0.3, (0.0, 1.0), lambda rng, n: rng.beta(0.3, 0.7, n)),
    "beta 4, 0.5": (8 / 9, (0.0, 1.0), lambda rng, n: rng.beta(4, 0.5, n)),
    "half 0, else beta 3, 1": (0.375, (0.0, 1.0), lambda rng, n: (rng.random(n) < 0.5) * rng.beta(3, 1, n)),
    "70 % 1, else uniform": (0.85, (0.0, 1.0), lambda rng, n: np.where(rng.random(n) < 0.7, 1.0, rng.random(n))),
    "0, 0.5 or 1": (0.65, (0.0, 1.0), lambda rng, n: rng.choice([0.0, 0.5, 1.0], n, p=[0.2, 0.3, 0.5])),
}


def means(repetitions: int) -> Iterator[Line]:
    """Means of independent values: skewed, zero-inflated, bimodal, discrete."""
    for n in (24, 40, 120):
        for name, (mean, bounds, draw) in SHAPES.items():
            yield (
                f"n = {n}, {name}",
                base.mean_count(
                    lambda rng, _, n=n, draw=draw: draw(rng, n),
                    [mean],
                    [mean],
                    repetitions,
                    bounds=bounds,
                    seed=SEED,
                ),
            )


def clusters(repetitions: int) -> Iterator[Line]:
    """0s and 1s in clusters."""
    for n_clusters in (12, 25, 40):
        for name, sizes_of in SIZES.items():
            sizes = sizes_of(n_clusters)
            partition = Partition.of_codes(np.repeat(np.arange(n_clusters), sizes))
            for correlation in (0.05, 0.2, 0.45, 0.75):
                for p in PROBABILITIES:
                    yield (
                        f"{n_clusters} clusters, {name}, correlation {correlation}, p = {p}",
                        base.mean_count(
                            lambda rng, q, s=sizes, c=correlation: base.clustered(rng, q, s, c),
                            near(p),
                            near(p),
                            repetitions,
                            clusters=partition,
                            n_failures=base.independent(sizes, correlation) * min(p, 1 - p),
                            seed=SEED,
                        ),
                    )


def _from_normal(z: Values, shape: str) -> Values:
    from scipy.special import log_ndtr, ndtr

    if shape == "exponential":
        return -log_ndtr(-z)
    if shape == "ANLS-like":
        share = ndtr(z)
        return np.where(share < 0.15, 0.0, np.where(share < 0.4, 0.5 + 2 * (share - 0.15), 1.0))
    return np.sign(z - 0.5) * 2 + z


_MEANS = {"exponential": 1.0, "ANLS-like": 0.7875, "bimodal": 2 * (1 - 2 * 0.6914624612740131)}


def clustered_numbers(repetitions: int) -> Iterator[Line]:
    """Numbers in clusters; those that are like ANLS lie between 0 and 1."""
    for n_clusters in (12, 30):
        for name, sizes_of in SIZES.items():
            sizes = sizes_of(n_clusters)
            partition = Partition.of_codes(np.repeat(np.arange(n_clusters), sizes))
            for correlation in (0.15, 0.5):
                for shape, mean in _MEANS.items():

                    def draw(
                        rng: np.random.Generator,
                        _: float,
                        s: NDArray[np.int64] = sizes,
                        c: float = correlation,
                        shape: str = shape,
                    ) -> Values:
                        shared = np.repeat(rng.normal(size=s.size), s)
                        mixed = math.sqrt(c) * shared + math.sqrt(1 - c) * rng.normal(size=int(s.sum()))
                        return _from_normal(mixed, shape)

                    yield (
                        f"{n_clusters} clusters, {name}, correlation {correlation}, {shape}",
                        base.mean_count(draw, [mean], [mean], repetitions, clusters=partition, seed=SEED),
                    )


GROUPS: dict[str, tuple[Sequence[int], Sequence[float] | None]] = {
    "30 and 3000": ((30, 3000), None),
    "30 and 3000 by size": ((30, 3000), (30, 3000)),
    "25, 50, 100, 200, 400, 800": ((25, 50, 100, 200, 400, 800), None),
    "25, 60 and 300 weighted 0.7, 0.2, 0.1": ((25, 60, 300), (0.7, 0.2, 0.1)),
    "4 of 35": ((35,) * 4, None),
    "13 of 8": ((8,) * 13, None),
    "100 of 3": ((3,) * 100, None),
    "30 of 40": ((40,) * 30, None),
}


def groups(repetitions: int) -> Iterator[Line]:
    """Means of members' proportions, all with probability p or one half of them with 0.4."""
    for name, (sizes, weighted) in GROUPS.items():
        weights = np.array(weighted or np.ones(len(sizes)), dtype=np.float64)
        for others in (None, 0.4):
            for p in PROBABILITIES:
                yield (
                    f"{name}, p = {p}{' and 0.4' if others else ''}",
                    base.group_count(sizes, weights / weights.sum(), p, others, repetitions, SEED),
                )


def paired(repetitions: int) -> Iterator[Line]:
    """Differences of two models on the same samples."""
    for n in (30, 80, 300):
        for p, q, correlation in ((0.6, 0.4, 0.3), (0.75, 0.7, 0.6), (0.85, 0.8, 0.2), (0.93, 0.9, 0.4)):
            yield (
                f"n = {n}, p = {p} and {q}, correlation {correlation}",
                base.pair_count(n, p, q, correlation, repetitions, SEED),
            )
    for n_clusters in (12, 25):
        for name in ("uniform 1 to 30", "4 each", "log-normal 1.2"):
            for p, q in ((0.7, 0.55), (0.85, 0.8)):
                yield (
                    f"{n_clusters} clusters, {name}, p = {p} and {q}",
                    base.clustered_pair_count(SIZES[name](n_clusters), p, q, 0.2, repetitions, SEED),
                )


def resampled(repetitions: int) -> Iterator[Line]:
    """Aggregations that are not means."""
    for n in (60, 120):
        for p in (0.8, 0.92):
            for share in (0.2, 0.6):
                for choice in (F1_AGGREGATION, MCC_AGGREGATION):
                    count = base.choice_count(n, p, share, choice, repetitions // 2, SEED)
                    yield f"n = {n}, {choice.name}, {p} right, {share} are 1", count
        for translation in (BLEU_AGGREGATION, CHRF_AGGREGATION):
            yield (
                f"n = {n}, {translation.name}, 0.5 of words right",
                base.translation_count(n, 0.5, translation, repetitions // 2, SEED),
            )


def proportions(repetitions: int) -> Iterator[Line]:
    """Independent 0s and 1s, enumerated."""
    yield from base.enumerated((22, 35, 75, 150, 1000), PROBABILITIES)


HELD_OUT: dict[str, Callable[[int], Iterator[tuple[str, Count]]]] = {
    "proportions": proportions,
    "repeats": repeats,
    "means": means,
    "clusters": clusters,
    "clustered-numbers": clustered_numbers,
    "groups": groups,
    "paired": paired,
    "resampled": resampled,
}
