"""Prints how often the 95 % intervals contain the truth, by simulation with fixed seeds.

Usage: ``python -m benchmarks.coverage [--quick] [--held-out] [NAME …]``; the names are those of the tables, all by
default. The tables of ``--held-out`` are scenarios with which nothing was chosen (``coverage_held_out.py``); constants
of the methods were chosen with the others. Each table gives the mean, lowest and highest coverage of its lines, and the
lines themselves. Independent proportions are enumerated, not simulated. Where a probability is given, the coverage is
averaged over probabilities close to it, since that of any interval for counts jumps from one probability to the next.
Lines with fewer than five failures to be expected (of independent samples with the same variance; of pairs, those that
differ) are counted apart: with so few, the share of samples without any decides the coverage.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation
from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread
from polymeter.metrics.choice import F1_AGGREGATION, MCC_AGGREGATION
from polymeter.metrics.perplexity import PERPLEXITY_AGGREGATION
from polymeter.metrics.translation import BLEU_AGGREGATION, CHRF_AGGREGATION
from polymeter.stats import Additive, Partition, estimate, paired_difference
from polymeter.stats.intervals import Interval
from polymeter.stats.means.mean_intervals import mean_interval, sum_interval
from polymeter.stats.means.moments import known_bounds
from polymeter.stats.means.moments import mean_spread as spread_within

Values = NDArray[np.float64]
FEW_FAILURES = 5
NEAR = (-0.02, -0.01, 0.0, 0.01, 0.02)


@dataclass(slots=True)
class Count:
    """How many intervals there were, and how many contained the truth.

    Attributes:
        n: Samples drawn.
        n_shown: Those with an interval.
        n_right: Those whose interval contains the truth.
        n_failures: How many independent failures a sample is expected to have.
        lowest: The lowest coverage at a single probability.
    """

    n: int = 0
    n_shown: int = 0
    n_right: float = 0.0
    n_failures: float = math.inf
    lowest: float = math.inf

    def add(self, interval: Interval | None, truth: float) -> None:
        """Count one sample."""
        self.n += 1
        if interval is not None:
            self.n_shown += 1
            self.n_right += interval[0] - 1e-9 <= truth <= interval[1] + 1e-9

    def at_one_probability(self, simulate: Callable[[int, Count], None], repetitions: int) -> None:
        """Add the samples of one probability.

        A coverage that looks low is simulated again before it counts as the lowest, since the least of many is too low.
        """
        single, again = Count(), Count()
        simulate(repetitions, single)
        if (single.coverage or 1) < 0.92:
            simulate(4 * repetitions, again)
        self.n += single.n
        self.n_shown += single.n_shown
        self.n_right += single.n_right
        coverage = again.coverage or single.coverage
        self.lowest = min(self.lowest, math.inf if coverage is None else coverage)

    @property
    def coverage(self) -> float | None:
        """The share of the intervals shown that contain the truth; ``None`` if few were shown."""
        return self.n_right / self.n_shown if self.n_shown > 0.1 * self.n else None


Line = tuple[str, Count]


def mean_spread(data: Values, clusters: Partition | None = None, bounds: Bounds = UNBOUNDED) -> Spread:
    """The moments, with the range that an estimate would take for known."""
    return spread_within(data, clusters, known_bounds(data, bounds))


def near(p: float) -> list[float]:
    """Probabilities close to one, none of them certain."""
    return [min(max(p + offset, 0.001), 0.999) for offset in NEAR]


def proportions(repetitions: int) -> Iterator[Line]:
    """Independent 0s and 1s, enumerated: the mean over probabilities up to 0.01 away, and the lowest of all."""
    yield from enumerated((20, 25, 50, 100, 400), (0.5, 0.7, 0.8, 0.9, 0.95, 0.98))


def enumerated(sizes: Sequence[int], probabilities: Sequence[float]) -> Iterator[Line]:
    """Every number of successes with its probability."""
    from scipy.stats import binom

    for n in sizes:
        intervals = [
            mean_interval(mean_spread(np.repeat([1.0, 0.0], [k, n - k]))).interval or (0, 0) for k in range(n + 1)
        ]
        lows, highs = np.array(intervals).T
        every = np.linspace(0.0005, 0.5, 1000)
        coverages = np.array([binom.pmf(np.arange(n + 1), n, p)[(lows <= p) & (p <= highs)].sum() for p in every])
        for p in probabilities:
            close = np.abs(every - (1 - p)) <= 0.01
            yield f"n = {n}, p = {p}", Count(1, 1, float(coverages[close].mean()), n * (1 - p), float(coverages.min()))


def repeats(repetitions: int) -> Iterator[Line]:
    """Shares of repeats that succeed; the probability of a sample is drawn around p (``alike`` says how closely)."""
    for n in (20, 50, 200):
        for n_repeats in (4, 8):
            for alike, strength in (("different", 0.5), ("similar", 5.0), ("equal", 1e9)):
                for p in (0.5, 0.8, 0.9, 0.96):
                    yield (
                        f"n = {n}, {n_repeats} repeats, {alike} samples, p = {p}",
                        mean_count(
                            lambda rng, q, n=n, k=n_repeats, s=strength: (
                                rng.binomial(k, rng.beta(q * s, (1 - q) * s, n)) / k
                            ),
                            near(p),
                            near(p),
                            repetitions,
                            n_failures=n * (1 - p),
                        ),
                    )


SHAPES: dict[str, tuple[float, Bounds, Callable[[np.random.Generator, int], Values]]] = {
    "normal": (0.0, UNBOUNDED, lambda rng, n: rng.normal(size=n)),
    "t, 5 df": (0.0, UNBOUNDED, lambda rng, n: rng.standard_t(5, n)),
    "exponential": (1.0, (0.0, None), lambda rng, n: rng.exponential(size=n)),
    "gamma 0.5": (0.5, (0.0, None), lambda rng, n: rng.gamma(0.5, size=n)),
    "log-normal 0.5": (math.exp(0.125), (0.0, None), lambda rng, n: rng.lognormal(0, 0.5, n)),
    "log-normal 1": (math.exp(0.5), (0.0, None), lambda rng, n: rng.lognormal(0, 1, n)),
    "ratings 1 to 5": (3.4, UNBOUNDED, lambda rng, n: rng.choice(5, n, p=[0.1, 0.15, 0.25, 0.25, 0.25]) + 1.0),
    "uniform, 0 to 1": (0.5, (0.0, 1.0), lambda rng, n: rng.random(n)),
    "beta 5, 5": (0.5, (0.0, 1.0), lambda rng, n: rng.beta(5, 5, n)),
    "beta 0.5, 0.5": (0.5, (0.0, 1.0), lambda rng, n: rng.beta(0.5, 0.5, n)),
    "beta 8, 1": (8 / 9, (0.0, 1.0), lambda rng, n: rng.beta(8, 1, n)),
    "beta 0.5, 5": (1 / 11, (0.0, 1.0), lambda rng, n: rng.beta(0.5, 5, n)),
    "beta 0.2, 4": (1 / 21, (0.0, 1.0), lambda rng, n: rng.beta(0.2, 4, n)),
    "60 % 1, 30 % 0": (0.675, (0.0, 1.0), lambda rng, n: _similarities(rng, n, 0.6, 0.3)),
    "80 % 1, 10 % 0": (0.875, (0.0, 1.0), lambda rng, n: _similarities(rng, n, 0.8, 0.1)),
    "90 % 1": (0.975, (0.0, 1.0), lambda rng, n: _similarities(rng, n, 0.9, 0.0)),
}
"""Mean, declared range and values of single samples; the last three are like ANLS."""


def skewed(repetitions: int) -> Iterator[Line]:
    """Means of independent values of many shapes."""
    for n in (20, 50, 200):
        for name, (mean, bounds, draw) in SHAPES.items():
            yield (
                f"n = {n}, {name}",
                mean_count(lambda rng, _, n=n, draw=draw: draw(rng, n), [mean], [mean], repetitions, bounds=bounds),
            )


SIZES: dict[str, Callable[[int], NDArray[np.int64]]] = {
    "5 each": lambda n: np.full(n, 5),
    "3 each": lambda n: np.full(n, 3),
    "20 each": lambda n: np.full(n, 20),
    "log-normal": lambda n: np.maximum(1, np.round(np.random.default_rng(n).lognormal(1.5, 0.8, n))).astype(np.int64),
    "geometric": lambda n: np.random.default_rng(n).geometric(0.2, n),
    "60 / rank": lambda n: np.maximum(1, 60 // np.arange(1, n + 1)),
    "a third of 12, else 1": lambda n: np.where(np.arange(n) < n // 3, 12, 1),
}


def independent(sizes: NDArray[np.int64], correlation: float) -> float:
    """How many independent samples clusters with this intraclass correlation are worth."""
    total = float(sizes.sum())
    return total / (1 + (float(np.square(sizes).sum()) / total - 1) * correlation)


def clusters(repetitions: int) -> Iterator[Line]:
    """0s and 1s in clusters with an intraclass correlation."""
    for n_clusters in (10, 20, 50):
        for name, sizes_of in SIZES.items():
            sizes = sizes_of(n_clusters)
            partition = Partition.of_codes(np.repeat(np.arange(n_clusters), sizes))
            for correlation in (0.0, 0.1, 0.3, 0.6, 0.9):
                for p in (0.5, 0.8, 0.9, 0.96):
                    yield (
                        f"{n_clusters} clusters, {name}, correlation {correlation}, p = {p}",
                        mean_count(
                            lambda rng, q, s=sizes, c=correlation: clustered(rng, q, s, c),
                            near(p),
                            near(p),
                            repetitions,
                            clusters=partition,
                            n_failures=independent(sizes, correlation) * min(p, 1 - p),
                        ),
                    )


def clustered_numbers(repetitions: int) -> Iterator[Line]:
    """Normal and log-normal values in clusters, without a range."""
    for n_clusters in (10, 20, 50):
        for name, sizes_of in SIZES.items():
            sizes = sizes_of(n_clusters)
            partition = Partition.of_codes(np.repeat(np.arange(n_clusters), sizes))
            for correlation in (0.0, 0.3, 0.6):
                for shape, transform, mean in (("normal", np.asarray, 0.0), ("skewed", np.exp, math.exp(0.5))):

                    def draw(
                        rng: np.random.Generator,
                        _: float,
                        s: NDArray[np.int64] = sizes,
                        c: float = correlation,
                        f: Callable[[Values], Values] = transform,
                    ) -> Values:
                        shared = np.repeat(rng.normal(size=s.size), s)
                        return f(math.sqrt(c) * shared + math.sqrt(1 - c) * rng.normal(size=int(s.sum())))

                    yield (
                        f"{n_clusters} clusters, {name}, correlation {correlation}, {shape}",
                        mean_count(draw, [0.0], [mean], repetitions, clusters=partition),
                    )


GROUPS: dict[str, tuple[Sequence[int], bool]] = {
    "3 of 20": ((20,) * 3, False),
    "2 of 20": ((20,) * 2, False),
    "10 of 20": ((20,) * 10, False),
    "57 of 20": ((20,) * 57, False),
    "20 of 5": ((5,) * 20, False),
    "20, 200, 2000": ((20, 200, 2000), False),
    "20, 200, 2000 by size": ((20, 200, 2000), True),
    "20 and 10000": ((20, 10000), False),
    "10 of 50 to 500": (tuple(range(50, 550, 50)), False),
}


def groups(repetitions: int) -> Iterator[Line]:
    """Means of members' proportions, all with probability p or one half of them with 0.6."""
    for name, (sizes, is_by_size) in GROUPS.items():
        weights = np.array(sizes, dtype=np.float64) if is_by_size else np.ones(len(sizes))
        for mixed in (False, True):
            for p in (0.5, 0.8, 0.9, 0.95, 0.98):
                others = 0.6 if mixed else None
                yield (
                    f"{name}, p = {p}{' and 0.6' if mixed else ''}",
                    group_count(sizes, weights / weights.sum(), p, others, repetitions),
                )


def group_count(
    sizes: Sequence[int], weights: Values, p: float, others: float | None, repetitions: int, seed: int = 0
) -> Count:
    """Groups of proportions close to ``p``; every second member has the probability ``others``."""
    effective = 1 / float(np.square(weights) @ (1 / np.array(sizes)))
    count, rng = Count(n_failures=effective * (1 - p)), np.random.default_rng(seed)
    for q in near(p):
        is_other = (np.arange(len(sizes)) % 2 == 1) & (others is not None)
        shares = np.where(is_other, others or q, q)

        def simulate(repetitions: int, single: Count, shares: Values = shares) -> None:
            for _ in range(repetitions):
                spreads = [_proportion(int(k), n) for k, n in zip(rng.binomial(sizes, shares), sizes, strict=True)]
                interval = sum_interval(tuple(zip(weights.tolist(), spreads, strict=True))).interval
                single.add(interval, float(weights @ shares))

        count.at_one_probability(simulate, repetitions // len(NEAR))
    return count


def groups_of_means(repetitions: int) -> Iterator[Line]:
    """Macro means of three members that are not proportions, and of clustered ones."""
    for n in (20, 100):
        for name in ("log-normal 1", "exponential", "normal", "90 % 1", "80 % 1, 10 % 0", "beta 8, 1"):
            mean, bounds, draw = SHAPES[name]
            rng, count = np.random.default_rng(0), Count()
            for _ in range(repetitions):
                spreads = [mean_spread(draw(rng, n), None, bounds) for _ in range(3)]
                count.add(sum_interval(tuple((1 / 3, spread) for spread in spreads)).interval, mean)
            yield f"3 of {n}, {name}", count
    for n_clusters in (10, 30):
        sizes = SIZES["geometric"](n_clusters)
        partition = Partition.of_codes(np.repeat(np.arange(n_clusters), sizes))
        for p in (0.5, 0.8, 0.95):
            rng = np.random.default_rng(0)
            count = Count(n_failures=3 * independent(sizes, 0.3) * min(p, 1 - p))
            for q in near(p):
                for _ in range(repetitions // len(NEAR)):
                    spreads = [mean_spread(clustered(rng, q, sizes, 0.3), partition) for _ in range(3)]
                    count.add(sum_interval(tuple((1 / 3, spread) for spread in spreads)).interval, q)
            yield f"3 of {n_clusters} clusters, correlation 0.3, p = {p}", count


def paired(repetitions: int) -> Iterator[Line]:
    """Differences of two models on the same samples."""
    for n in (20, 50, 200):
        for p, q, correlation in (
            (0.5, 0.5, 0.5),
            (0.8, 0.7, 0.5),
            (0.9, 0.9, 0.5),
            (0.96, 0.94, 0.3),
            (0.97, 0.97, 0.8),
        ):
            yield f"n = {n}, p = {p} and {q}, correlation {correlation}", pair_count(n, p, q, correlation, repetitions)
    for n_clusters in (10, 30):
        for name in ("5 each", "geometric"):
            sizes = SIZES[name](n_clusters)
            for p, q in ((0.6, 0.5), (0.9, 0.85)):
                yield (
                    f"{n_clusters} clusters, {name}, p = {p} and {q}",
                    clustered_pair_count(sizes, p, q, 0.3, repetitions),
                )


def pair_count(n: int, p: float, q: float, correlation: float, repetitions: int, seed: int = 0) -> Count:
    """Independent pairs of 0s and 1s, both probabilities moved by the same."""
    count, rng = Count(), np.random.default_rng(seed)
    for offset in NEAR:
        first, second = (min(max(one + offset, 0.001), 0.999) for one in (p, q))
        spread = math.sqrt(first * (1 - first) * second * (1 - second))
        both = min(max(first * second + correlation * spread, first + second - 1), first, second)
        cells = np.clip([both, first - both, second - both, 1 - first - second + both], 0, 1)
        cells /= cells.sum()

        def simulate(repetitions: int, single: Count, cells: Values = cells, truth: float = first - second) -> None:
            for _ in range(repetitions):
                drawn = rng.choice(4, n, p=cells)
                a, b = (drawn <= 1).astype(float), (drawn % 2 == 0).astype(float)
                single.add(paired_difference(a.tolist(), b.tolist()).interval, truth)

        count.at_one_probability(simulate, repetitions // len(NEAR))
        count.n_failures = min(count.n_failures, n * float(cells[1] + cells[2])) if offset <= 0 else count.n_failures
    return count


def clustered_pair_count(
    sizes: NDArray[np.int64], p: float, q: float, correlation: float, repetitions: int, seed: int = 0
) -> Count:
    """Pairs in clusters; the two models' clusters are hard independently of each other."""
    labels = np.repeat(np.arange(sizes.size), sizes).tolist()
    differing = p * (1 - q) + q * (1 - p)
    count, rng = Count(n_failures=independent(sizes, correlation) * differing), np.random.default_rng(seed)
    for _ in range(repetitions):
        first, second = clustered(rng, p, sizes, correlation), clustered(rng, q, sizes, correlation)
        count.add(paired_difference(first.tolist(), second.tolist(), clusters=labels).interval, p - q)
    return count


def resampled(repetitions: int) -> Iterator[Line]:
    """Aggregations that are not means."""
    for n in (50, 200):
        for p in (0.7, 0.9, 0.95):
            for aggregation in (F1_AGGREGATION, MCC_AGGREGATION):
                yield f"n = {n}, {aggregation.name}, {p} right", choice_count(n, p, 0.5, aggregation, repetitions // 2)
        for name, draw, truth in (
            ("normal", lambda rng, n=n: rng.normal(-2, 0.7, n).tolist(), math.exp(2)),
            ("skewed", lambda rng, n=n: (-rng.exponential(1, n)).tolist(), math.e),
        ):
            yield (
                f"n = {n}, perplexity, {name}",
                _aggregate_count(draw, PERPLEXITY_AGGREGATION, truth, repetitions // 2),
            )
        for aggregation in (BLEU_AGGREGATION, CHRF_AGGREGATION):
            for share in (0.3, 0.7):
                yield (
                    f"n = {n}, {aggregation.name}, {share} of words right",
                    translation_count(n, share, aggregation, repetitions // 2),
                )


def choice_count(n: int, p: float, share: float, aggregation: Aggregation, repetitions: int, seed: int = 0) -> Count:
    """F1 or MCC, where a share of the references is 1 and answers are right with probability ``p``.

    The aggregation is computed from counts in place of scikit-learn, which takes a millisecond for each resample.
    """
    cells = np.array([share * p, (1 - share) * (1 - p), share * (1 - p), (1 - share) * p])
    score = _f1 if aggregation is F1_AGGREGATION else _mcc

    def draw(rng: np.random.Generator) -> list[int]:
        found: list[int] = rng.choice(4, n, p=cells).tolist()
        return found

    same = replace(aggregation, aggregate=Additive(lambda values: np.eye(4)[values], score))
    return _aggregate_count(draw, same, score(cells.tolist()), repetitions, seed)


def _f1(cells: Sequence[float]) -> float:
    right, wrong, missed, _ = cells
    return 2 * right / (2 * right + wrong + missed) if right else 0.0


def _mcc(cells: Sequence[float]) -> float:
    tp, fp, fn, tn = cells
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(product) if product > 0 else 0.0


def translation_count(n: int, share: float, aggregation: Aggregation, repetitions: int, seed: int = 0) -> Count:
    """A corpus score of short texts, whose sentences are drawn from 2,000; how hard a sentence is varies."""
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(list("aeioulnrst"), rng.integers(2, 9))) for _ in range(500)])
    pairs = []
    for right in rng.beta(4 * share, 4 * (1 - share), 2000):
        reference = rng.choice(words, rng.integers(6, 25))
        kept = rng.random(reference.size) < right
        pairs.append((" ".join(reference), " ".join(np.where(kept, reference, rng.choice(words, reference.size)))))
    corpus = aggregation.aggregate
    assert isinstance(corpus, Additive)
    terms = corpus.terms(pairs)
    same = replace(aggregation, aggregate=Additive(lambda rows: terms[np.asarray(rows)], corpus.value))
    return _aggregate_count(
        lambda rng: rng.integers(len(pairs), size=n).tolist(), same, corpus.total(terms), repetitions, seed
    )


TABLES: dict[str, Callable[[int], Iterator[Line]]] = {
    "proportions": proportions,
    "repeats": repeats,
    "skewed": skewed,
    "clusters": clusters,
    "clustered-numbers": clustered_numbers,
    "groups": groups,
    "groups-of-means": groups_of_means,
    "paired": paired,
    "resampled": resampled,
}


def main() -> None:
    """Print the tables that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a table; by default all")
    parser.add_argument("--quick", action="store_true", help="half of the repetitions")
    parser.add_argument("--held-out", action="store_true", help="the scenarios with which nothing was chosen")
    arguments = parser.parse_args()
    tables = TABLES
    if arguments.held_out:
        from benchmarks.coverage_held_out import HELD_OUT as tables
    unknown = [name for name in arguments.names if name not in tables]
    if unknown:
        parser.error(f"there is no table {unknown[0]}; there are {', '.join(tables)}")
    repetitions = 500 if arguments.quick else 1000
    for name in arguments.names or tables:
        lines = [*tables[name](repetitions)]
        print(f"\n## {name}: {(tables[name].__doc__ or '').strip()}")
        usual = [count for _, count in lines if count.n_failures >= FEW_FAILURES]
        rare = [count for _, count in lines if count.n_failures < FEW_FAILURES]
        for kind, counts in (("", usual), (f"fewer than {FEW_FAILURES} failures: ", rare)):
            known = [coverage for count in counts if (coverage := count.coverage) is not None]
            if known:
                print(
                    f"{kind}mean {sum(known) / len(known):.3f}, lowest {min(known):.3f}, highest {max(known):.3f}, "
                    f"below 0.93: {sum(one < 0.93 for one in known)}, above 0.97: {sum(one > 0.97 for one in known)}, "
                    f"lines {len(counts)}, of them without intervals {len(counts) - len(known)}"
                )
        points = [count.lowest for _, count in lines if count.lowest < 1]
        if points:
            print(f"lowest at a single probability: {min(points):.3f}")
        for label, count in lines:
            shown = "no interval" if count.coverage is None else f"{count.coverage:.3f}"
            hidden = f"  (shown for {count.n_shown / count.n:.0%})" if 0 < count.n_shown < count.n else ""
            few = f"  ({count.n_failures:.1f} failures)" if count.n_failures < FEW_FAILURES else ""
            print(f"  {label:<70} {shown}{hidden}{few}", flush=True)


def mean_count(
    draw: Callable[[np.random.Generator, float], Values],
    parameters: Sequence[float],
    truths: Sequence[float],
    repetitions: int,
    *,
    clusters: Partition | None = None,
    bounds: Bounds = UNBOUNDED,
    n_failures: float = math.inf,
    seed: int = 0,
) -> Count:
    rng, count = np.random.default_rng(seed), Count(n_failures=n_failures)
    for parameter, truth in zip(parameters, truths, strict=True):

        def simulate(repetitions: int, single: Count, parameter: float = parameter, truth: float = truth) -> None:
            for _ in range(repetitions):
                single.add(mean_interval(mean_spread(draw(rng, parameter), clusters, bounds)).interval, truth)

        count.at_one_probability(simulate, repetitions // len(parameters))
    return count


def _aggregate_count(
    draw: Callable[[np.random.Generator], Sequence[object]],
    aggregation: Aggregation,
    truth: float,
    repetitions: int,
    seed: int = 0,
) -> Count:
    rng, count = np.random.default_rng(seed), Count()
    for resampling in range(repetitions):
        count.add(estimate(draw(rng), aggregation, seed=resampling).interval, truth)
    return count


def _proportion(successes: int, n: int) -> Spread:
    share = successes / n
    return (
        mean_spread(np.repeat([1.0, 0.0], [successes, n - successes]))
        if n < 100
        else Spread(share, n, share * (1 - share) / n, 0.0, math.inf, n, bounds=(0.0, 1.0))
    )


def _similarities(rng: np.random.Generator, n: int, ones: float, zeros: float) -> Values:
    """Shares of ones and zeros; the others lie between 0.5 and 1."""
    which = rng.random(n)
    return np.where(which < ones, 1.0, np.where(which < ones + zeros, 0.0, 0.5 + rng.random(n) / 2))


def clustered(rng: np.random.Generator, p: float, sizes: NDArray[np.int64], correlation: float) -> Values:
    """0s and 1s whose probability differs from cluster to cluster, so that members correlate."""
    shares = np.full(sizes.size, p)
    if correlation > 0:
        strength = 1 / correlation - 1
        shares = rng.beta(p * strength, (1 - p) * strength, sizes.size)
    return (rng.random(int(sizes.sum())) < np.repeat(shares, sizes)).astype(np.float64)


if __name__ == "__main__":
    main()
