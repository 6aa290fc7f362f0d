"""Significance of a paired difference: mid-p and resampled tests, the size of an effect, and Holm's correction.

``polymeter.stats.paired`` estimates the difference and its interval. The tests here compute its probability if the two
models were equal.

All tests count half of the probability of an outcome as extreme as the observed one (mid-p, Lancaster 1961). If few
pairs differ, an exact test errs in 2 to 4 % of comparisons although it promises at most 5 %. The mid-p test comes close
to 5 % and is rarely above (Fagerland, Lydersen and Laake 2013, *BMC Medical Research Methodology* 13, 91).
``benchmarks/honesty.py`` measures both.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.means.clusters import Partition
from polymeter.stats.paired import pairs_of

ALPHA = 0.05
"""A difference counts as shown at or below this p-value."""
RESAMPLES = 9_999
"""With the observed outcome, these are ten thousand, so p-values come in steps of 0.0001."""
_MOST_LISTED = 16
"""The most units for which all assignments of signs are listed: 65,536."""
_MOST_STEPS = 20_000_000
"""The most additions for the exact distribution of whole numbers."""
_LOOKUPS = 500_000_000
"""The most draws of eight signs in a resampled test. With more units, there are fewer resamples."""
_FEWEST_RESAMPLES = 999
_BLOCK = 8
_BLOCKS_AT_ONCE = 256
_TOLERANCE = 1e-9
"""The tolerance for equal sums, as a share of the greatest possible sum: the order of additions may differ."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A two-sided test of the hypothesis that two models are interchangeable on each sample.

    Attributes:
        p_value: The probability of a larger difference than this one, plus half the probability of an equal one;
            ``None`` without a pair.
        method: How it was computed: ``McNemar, mid-p``; ``permutation, mid-p``; ``permutation, 9999 resamples``; with
            ``of clusters`` if whole clusters are exchanged.
        effect_size: Cohen's d for pairs (``d_z``, Cohen 1988, section 2.3.5): the mean difference over the standard
            deviation of the differences; ``None`` if these do not vary.
        odds_ratio: For values of 0 and 1: the number of samples that only the first model gets right, over the number
            that only the second gets right. It is infinite if the second number is 0, and ``None`` if both are.
        false_positive_rate: How often this test finds a difference (p at most 0.05) between equal models, given the
            pairs that differ: 0 if they are too few for any difference, ``None`` without a pair.
    """

    p_value: float | None
    method: str = ""
    effect_size: float | None = None
    odds_ratio: float | None = None
    false_positive_rate: float | None = None


class Permutation(NamedTuple):
    """The result of a permutation test, or of McNemar's test.

    Attributes:
        p_value: The two-sided mid-p value.
        false_positive_rate: The probability of a p-value of at most 0.05 if the models are equal.
        method: How the distribution of the sum was found.
    """

    p_value: float
    false_positive_rate: float
    method: str


def paired_test(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
) -> PairedTest:
    """Test whether two models differ on the same samples.

    Independent samples with the values 0 and 1 are compared by McNemar's test. All others are compared by the
    permutation test that exchanges the two models' values of a sample, or of all samples of a cluster.

    Args:
        first: Values of one model, shape ``(n,)``, NaN if unscored.
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
        found = mcnemar_test(only_first, only_second)
    else:
        found = permutation_test(differences, partition, seed=seed)
    return PairedTest(found.p_value, found.method, effect_size(differences), odds_ratio, found.false_positive_rate)


def mcnemar_test(only_first: int, only_second: int) -> Permutation:
    """Apply McNemar's test (1947), two-sided, in its mid-p form. This is the binomial test of the discordant pairs, in
    which an outcome as extreme as the observed one counts by half.

    Args:
        only_first: Pairs in which only the first model succeeds.
        only_second: Pairs in which only the second one does.
    """
    from scipy.special import bdtr

    n = only_first + only_second
    if not n:
        return Permutation(1.0, 0.0, "McNemar, mid-p")
    # For the smaller count alone, from 0 on. Both sides have it, unless it is half of all.
    up_to = bdtr(np.arange(n // 2 + 1), n, 0.5)
    mid = up_to + np.concatenate([[0.0], up_to[:-1]])
    if n % 2 == 0:
        mid[-1] = 0.5 + up_to[-2] if n > 1 else 1.0  # 1 minus half of the middle one, which has no other side
    shown = np.flatnonzero(mid <= ALPHA)
    rate = 2 * float(up_to[shown[-1]]) if shown.size else 0.0
    return Permutation(float(mid[min(only_first, only_second)]), rate, "McNemar, mid-p")


def permutation_test(
    differences: NDArray[np.float64], clusters: Partition | None = None, *, seed: int = 0
) -> Permutation:
    """Apply the permutation test of paired values (Fisher 1935, section 21), two-sided, in its mid-p form.

    Under the hypothesis, each difference is as likely to have the other sign, and those of a cluster change theirs
    together. The distribution of their sum is listed for few units, computed for small whole numbers, and otherwise
    drawn. In the last case, the observed sum counts as one of the draws, so that the p-value is never 0 (Phipson and
    Smyth 2010).

    Args:
        differences: One difference for each pair, shape ``(n,)``, all finite.
        clusters: The differences that belong together; ``None``: none do.
        seed: For the draws.
    """
    kind = "permutation"
    units = differences
    if clusters is not None and clusters.count < differences.size:
        kind, units = "permutation of clusters", clusters.sums(differences[:, None])[:, 0]
    sizes = np.abs(units)
    reach = float(sizes.sum())
    observed = abs(math.fsum(units.tolist()))
    sizes = sizes[sizes > _TOLERANCE * reach]  # a zero difference is the same under either sign
    if not sizes.size:
        return Permutation(1.0, 0.0, f"{kind}, mid-p")
    whole = _whole_numbers(sizes)
    if whole is not None and whole.size * int(whole.sum()) <= _MOST_STEPS:
        total = int(whole.sum())
        in_units = observed / float(sizes.max()) * float(whole.max())
        sums = np.abs(2 * np.arange(total + 1) - total).astype(np.float64)
        return Permutation(*_mid_p(sums, _shares_of_whole_numbers(whole), in_units, 0.5), f"{kind}, mid-p")
    if sizes.size <= _MOST_LISTED:
        sums = np.abs(_signed_sums(sizes))
        method = f"{kind}, mid-p"
    else:
        drawn = np.abs(_drawn_sums(sizes, np.random.default_rng(seed)))
        sums, method = np.append(drawn, observed), f"{kind}, {drawn.size} resamples"
    return Permutation(*_mid_p(sums, np.full(sums.size, 1 / sums.size), observed, _TOLERANCE * reach), method)


def effect_size(differences: NDArray[np.float64]) -> float | None:
    """Compute Cohen's ``d_z`` of differences of pairs, shape ``(n,)``, or ``None`` for fewer than two or equal ones."""
    if differences.size < 2:
        return None
    deviation = float(differences.std(ddof=1))
    return float(differences.mean()) / deviation if deviation > 0 else None


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values for their number by Holm's step-down procedure (1979, *Scandinavian Journal of Statistics* 6).

    A corrected p-value at or below 0.05 counts as shown. The probability that any of the shown differences is false is
    at most 0.05. ``None`` means no test, and does not count.
    """
    tested = [(p, place) for place, p in enumerate(p_values) if p is not None]
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(sorted(tested)):
        least = max(least, min(1.0, (len(tested) - rank) * p))
        corrected[place] = least
    return corrected


def _whole_numbers(sizes: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the sizes in units of the smallest, if all of them are then whole numbers."""
    in_units = sizes / sizes.min()
    whole = np.rint(in_units)
    return whole.astype(np.int64) if bool((np.abs(in_units - whole) <= _TOLERANCE * whole).all()) else None


def _shares_of_whole_numbers(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of all assignments of signs for each sum of the positive ones, from 0 to the sum of all."""
    shares = np.zeros(int(sizes.sum()) + 1)
    shares[0] = 1.0
    reached = 0
    for size in sizes.tolist():
        shares[size : reached + size + 1] += shares[: reached + 1].copy()
        shares[: reached + size + 1] /= 2
        reached += size
    return shares


def _mid_p(
    sums: NDArray[np.float64], shares: NDArray[np.float64], observed: float, tolerance: float
) -> tuple[float, float]:
    """Return the mid-p value of an observed sum, and the probability of a value of at most 0.05.

    Args:
        sums: The distance of each sum from zero.
        shares: The probability of each.
        observed: The distance of the observed sum from zero.
        tolerance: The tolerance for equal sums.
    """
    order = np.argsort(-sums, kind="stable")
    sums, shares = sums[order], shares[order]
    is_next = np.concatenate([[False], sums[:-1] - sums[1:] > tolerance])
    masses = np.bincount(np.cumsum(is_next), weights=shares)
    mids = np.cumsum(masses) - masses / 2
    rate = float(masses[mids <= ALPHA].sum())
    more, as_far = sums > observed + tolerance, np.abs(sums - observed) <= tolerance
    return min(1.0, math.fsum(shares[more].tolist()) + math.fsum(shares[as_far].tolist()) / 2), rate


def _signed_sums(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums under all assignments of signs."""
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _drawn_sums(sizes: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Return sums under signs drawn at random, shape ``(resamples,)``.

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
