"""Is a paired difference more than noise? Exact and resampled tests, the size of an effect, and Holm's correction.

``polymeter.stats.paired`` estimates the difference and its interval; this says how surprising it would be if the two
models were equal.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.clusters import Partition
from polymeter.stats.paired import pairs_of

RESAMPLES = 9_999
"""With the observed one, ten thousand: p-values come in steps of 0.0001."""
_MOST_LISTED = 16
"""Up to so many units, all assignments of signs are listed: 65,536."""
_MOST_STEPS = 20_000_000
"""Additions that the exact distribution of whole numbers may take."""
_LOOKUPS = 500_000_000
"""Draws of eight signs that a resampled test may take; with more units there are fewer resamples."""
_FEWEST_RESAMPLES = 999
_BLOCK = 8
_BLOCKS_AT_ONCE = 256
_TOLERANCE = 1e-9
"""Sums that differ by less, in shares of the greatest possible sum, are equal: the order of additions may differ."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A two-sided test of the hypothesis that two models are interchangeable on each sample.

    Attributes:
        p_value: The probability of a difference as large as this one or larger; ``None`` without a pair.
        method: How it was computed: ``McNemar, exact``; ``permutation, exact``; ``permutation, 9999 resamples``; with
            ``of clusters`` where whole clusters are exchanged.
        effect_size: Cohen's d for pairs (``d_z``, Cohen 1988, section 2.3.5): the mean difference over the standard
            deviation of the differences; ``None`` where these do not vary.
        odds_ratio: Of samples with the values 0 and 1, how many only the first model gets right for each that only the
            second gets right; infinite if there is none of the latter, ``None`` if there is none of either.
    """

    p_value: float | None
    method: str = ""
    effect_size: float | None = None
    odds_ratio: float | None = None


def paired_test(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
) -> PairedTest:
    """Test whether two models differ on the same samples.

    Independent samples with the values 0 and 1: McNemar's test. Any other: the permutation test that exchanges the two
    models' values of a sample, or of all samples of a cluster.

    Args:
        first: Values of one model, shape ``(n,)``, NaN where unscored.
        second: Values of the other on the same samples in the same order, shape ``(n,)``.
        clusters: The label that each sample shares with others, ``None`` for a sample on its own.
        seed: For resampling.

    Raises:
        ValueError: if the lists differ in length.
    """
    a, b, partition = pairs_of(first, second, clusters)
    differences = a - b
    if differences.size == 0:
        return PairedTest(None)
    odds_ratio = None
    is_right_or_wrong = bool(np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all())
    only_first, only_second = int((differences > 0).sum()), int((differences < 0).sum())
    if is_right_or_wrong and only_first + only_second:
        odds_ratio = only_first / only_second if only_second else math.inf
    if is_right_or_wrong and partition is None:
        p_value, method = mcnemar_test(only_first, only_second), "McNemar, exact"
    else:
        p_value, method = permutation_test(differences, partition, seed=seed)
    return PairedTest(p_value, method, effect_size(differences), odds_ratio)


def mcnemar_test(only_first: int, only_second: int) -> float:
    """The two-sided p-value of McNemar's test (1947) in its exact form, the binomial test of the discordant pairs.

    Args:
        only_first: Pairs in which only the first model succeeds.
        only_second: Pairs in which only the second one does.
    """
    from scipy.special import bdtr

    n = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0


def permutation_test(
    differences: NDArray[np.float64], clusters: Partition | None = None, *, seed: int = 0
) -> tuple[float, str]:
    """The two-sided p-value of the permutation test of paired values (Fisher 1935, section 21), and its method.

    Under the hypothesis each difference could as well have the other sign; those of a cluster change theirs together.
    The distribution of their sum is listed for few units, computed for small whole numbers, and otherwise drawn: then
    the observed sum counts as one of the draws, so that the p-value is never too small (Phipson and Smyth 2010).

    Args:
        differences: One difference for each pair, shape ``(n,)``, all finite.
        clusters: Which of them belong together; ``None``: none do.
        seed: For the draws.
    """
    kind = "permutation"
    units = differences
    if clusters is not None and clusters.count < differences.size:
        kind, units = "permutation of clusters", clusters.sums(differences[:, None])[:, 0]
    sizes = np.abs(units)
    reach = float(sizes.sum())
    observed = abs(math.fsum(units.tolist()))
    sizes = sizes[sizes > _TOLERANCE * reach]  # what does not differ is the same under either sign
    if not sizes.size:
        return 1.0, f"{kind}, exact"
    whole = _whole_numbers(sizes)
    if whole is not None and whole.size * int(whole.sum()) <= _MOST_STEPS:
        return _of_whole_numbers(whole, observed / float(sizes.max()) * float(whole.max())), f"{kind}, exact"
    least = observed - _TOLERANCE * reach
    if sizes.size <= _MOST_LISTED:
        return float((np.abs(_signed_sums(sizes)) >= least).mean()), f"{kind}, exact"
    sums = _drawn_sums(sizes, np.random.default_rng(seed))
    n_extreme = int((np.abs(sums) >= least).sum())
    return (1 + n_extreme) / (1 + sums.size), f"{kind}, {sums.size} resamples"


def effect_size(differences: NDArray[np.float64]) -> float | None:
    """Cohen's ``d_z`` of differences of pairs, shape ``(n,)``; ``None`` for fewer than two or equal ones."""
    if differences.size < 2:
        return None
    deviation = float(differences.std(ddof=1))
    return float(differences.mean()) / deviation if deviation > 0 else None


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for their number by Holm's step-down procedure (1979, *Scandinavian Journal of Statistics* 6).

    One at or below 0.05 is then shown, and the probability that any of those shown is false is at most 0.05. ``None``
    is no test, and counts for nothing.
    """
    tested = [(p, place) for place, p in enumerate(p_values) if p is not None]
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(sorted(tested)):
        least = max(least, min(1.0, (len(tested) - rank) * p))
        corrected[place] = least
    return corrected


def _whole_numbers(sizes: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """The sizes in units of the smallest, if all are whole then."""
    in_units = sizes / sizes.min()
    whole = np.rint(in_units)
    return whole.astype(np.int64) if bool((np.abs(in_units - whole) <= _TOLERANCE * whole).all()) else None


def _of_whole_numbers(sizes: NDArray[np.int64], observed: float) -> float:
    """The share of all assignments of signs whose sum is as far from zero, from the exact distribution of the sum."""
    total = int(sizes.sum())
    shares = np.zeros(total + 1)  # of the sum of the positive ones
    shares[0] = 1.0
    reached = 0
    for size in sizes.tolist():
        shares[size : reached + size + 1] += shares[: reached + 1].copy()
        shares[: reached + size + 1] /= 2
        reached += size
    sums = np.abs(2 * np.arange(total + 1) - total)
    return min(1.0, math.fsum(shares[sums >= round(observed)].tolist()))


def _signed_sums(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums under all assignments of signs."""
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _drawn_sums(sizes: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Sums under signs drawn at random, shape ``(resamples,)``.

    The signed sums of eight units are listed once, so that one random byte draws the signs of eight.
    """
    n_blocks = -(-sizes.size // _BLOCK)
    padded = np.zeros(n_blocks * _BLOCK)
    padded[: sizes.size] = sizes
    bits = (np.arange(1 << _BLOCK)[:, None] >> np.arange(_BLOCK)) & 1
    listed = padded.reshape(n_blocks, _BLOCK) @ (2.0 * bits.T - 1.0)
    count = max(_FEWEST_RESAMPLES, min(RESAMPLES, _LOOKUPS // n_blocks))
    sums = np.zeros(count)
    for start in range(0, n_blocks, _BLOCKS_AT_ONCE):
        some = listed[start : start + _BLOCKS_AT_ONCE]
        for block, drawn in zip(some, generator.integers(256, size=(len(some), count), dtype=np.uint8), strict=True):
            sums += block[drawn]
    return sums
