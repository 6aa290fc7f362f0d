"""How honest ``polymeter compare`` is, by simulation with fixed seeds: how often its tests find a difference between
equal models, and how often its intervals contain the true difference.

Usage: ``python -m benchmarks --only honesty``, which takes a quarter of an hour. Each line is one kind of comparison,
and says:

- **found**: the share of comparisons of two equal models in which p is at most 0.05; it should be 4 to 6 %;
- **covered**: the share of intervals that contain a difference of zero, and the true one of two unequal models; it
  should be 93 to 97 %. Comparisons that show no interval are not counted;
- **at odds**: the share in which test and interval of equal models contradict each other at 0.05;
- **told**: the share in which the output says so: that the test errs at another rate, since so few samples differ, or
  that test and interval contradict each other.

"Equal" means interchangeable on every sample. Models that are equal on average and differ in every sample are a table
of their own. What a line simulates is what ``compare`` computes of two run folders: the same functions, without the
folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.book import Book
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.stats import (
    MemberDifference,
    Partition,
    group_difference,
    holm,
    paired_difference,
    paired_test,
    unpaired_difference,
)
from polymeter.stats.intervals import Interval
from polymeter.stats.paired import difference_spread

Values = NDArray[np.float64]
Labels = list[int] | None
REPETITIONS = 2_000
"""A rate of 5 % has a standard error of 0.5 % then."""
ALPHA = 0.05
TEST_ERRS = 0.04, 0.06
INTERVAL_COVERS = 0.93, 0.97
_NOISE = 2.6
"""A rate is called off only where it is more than so many standard errors of the simulation beyond its range."""


@dataclass(frozen=True, slots=True)
class Found:
    """One simulated comparison.

    Attributes:
        p_value: Of the test.
        interval: Of the difference.
        rate: How often the test errs, as the output says.
    """

    p_value: float | None
    interval: Interval | None
    rate: float | None


class Scenario(Protocol):
    """Draws two models' values and compares them."""

    def __call__(self, rng: np.random.Generator, effect: float) -> tuple[Found, float]:
        """One comparison with the true difference it has; ``effect`` 0: equal models."""


@dataclass(slots=True)
class Tally:
    """What was counted of one line.

    Attributes:
        n: Comparisons of equal models.
        found: Those in which a difference was found.
        shown: Those with an interval.
        at_odds: Those whose test and interval contradict each other.
        told: Those that say so, or that the test does not err in 4 to 6 %.
        covered: Of equal models, the intervals that contain zero.
        shown_of_unequal: Intervals of unequal models.
        covered_of_unequal: Those that contain the true difference.
    """

    n: int = 0
    found: int = 0
    shown: int = 0
    at_odds: int = 0
    told: int = 0
    covered: int = 0
    shown_of_unequal: int = 0
    covered_of_unequal: int = 0

    def equal(self, one: Found) -> None:
        """Count a comparison of equal models."""
        self.n += 1
        is_found = one.p_value is not None and one.p_value <= ALPHA
        self.found += is_found
        is_told = one.rate is not None and not TEST_ERRS[0] <= one.rate <= TEST_ERRS[1]
        if one.interval is not None:
            holds_zero = one.interval[0] <= 1e-12 and one.interval[1] >= -1e-12
            self.shown += 1
            self.covered += holds_zero
            self.at_odds += is_found == holds_zero
            is_told = is_told or is_found == holds_zero
        self.told += is_told

    def unequal(self, one: Found, truth: float) -> None:
        """Count a comparison of unequal models."""
        if one.interval is not None:
            self.shown_of_unequal += 1
            self.covered_of_unequal += one.interval[0] - 1e-9 <= truth <= one.interval[1] + 1e-9


def measured(scenario: Scenario, effect: float, repetitions: int, seed: int) -> Tally:
    """Simulate one line."""
    rng, tally = np.random.default_rng(seed), Tally()
    for _ in range(repetitions):
        tally.equal(scenario(rng, 0.0)[0])
    for _ in range(repetitions // 2 if effect else 0):
        tally.unequal(*scenario(rng, effect))
    return tally


# --- values of two models --------------------------------------------------------------------------------------------


Draw = Callable[[np.random.Generator, Values, float], Values]
"""The values of one model on samples of some easiness (standard normal), shifted by an effect."""


def right_or_wrong(p: float, alike: float) -> Draw:
    """0s and 1s, of which a share ``p`` is right; ``alike`` says how far easiness decides, from 0 to 1."""
    from scipy.special import ndtri

    def draw(rng: np.random.Generator, easiness: Values, effect: float) -> Values:
        skill = alike * easiness + np.sqrt(1 - alike**2) * rng.normal(size=easiness.size)
        return (skill < ndtri(min(max(p + effect, 0.0), 1.0))).astype(np.float64)

    return draw


def share_of_repeats(p: float, alike: float, repeats: int) -> Draw:
    """Means of several answers to each sample."""
    one = right_or_wrong(p, alike)

    def draw(rng: np.random.Generator, easiness: Values, effect: float) -> Values:
        return np.mean([one(rng, easiness, effect) for _ in range(repeats)], axis=0)

    return draw


def graded(rng: np.random.Generator, easiness: Values, effect: float) -> Values:
    """Similarities between 0 and 1, six of ten exactly 1, as ANLS has them."""
    skill = 0.8 * easiness + 0.6 * rng.normal(size=easiness.size)
    return np.where(skill < 0.25, 1.0, np.where(skill > 1.3, 0.0, 0.9 - 0.3 * skill)) - effect * (skill < 0.25)


def errors(rng: np.random.Generator, easiness: Values, effect: float) -> Values:
    """Errors without an upper bound, with a long tail, as error rates of words have."""
    return np.exp(0.9 * (0.7 * easiness + 0.7 * rng.normal(size=easiness.size))) * (1 + effect)


@cache
def gap(draw: Draw, effect: float) -> float:
    """The true difference that an effect makes."""
    return mean_of(draw, effect) - mean_of(draw, 0.0) if effect else 0.0


def mean_of(draw: Draw, effect: float, size: int = 400_000) -> float:
    """The mean of a model's values, from many."""
    rng = np.random.default_rng(0)
    return float(draw(rng, rng.normal(size=size), effect).mean())


SIZES: dict[str, Callable[[int], NDArray[np.int64]]] = {
    "of 4": lambda n: np.full(n, 4),
    "of 1 to 12": lambda n: np.random.default_rng(n).integers(1, 13, n),
    "60 / rank": lambda n: np.maximum(1, 60 // np.arange(1, n + 1)),
}


# --- comparisons -----------------------------------------------------------------------------------------------------


def pairs(draw: Draw, n: int, sizes: NDArray[np.int64] | None = None, own: float = 0.6) -> Scenario:
    """Samples that both models have; in clusters, both the easiness and what a model makes of it are shared in part."""

    def scenario(rng: np.random.Generator, asked: float) -> tuple[Found, float]:
        first, second, labels = _two(rng, draw, n, sizes, own, asked)
        test = paired_test(second.tolist(), first.tolist(), clusters=labels, seed=int(rng.integers(1 << 30)))
        interval = paired_difference(second.tolist(), first.tolist(), clusters=labels).interval
        return Found(test.p_value, interval, test.false_positive_rate), gap(draw, asked)

    return scenario


def group(members: Sequence[tuple[float, Draw, int, NDArray[np.int64] | None]]) -> Scenario:
    """A weighted mean of tasks."""

    def scenario(rng: np.random.Generator, asked: float) -> tuple[Found, float]:
        parts = []
        for weight, draw, n, sizes in members:
            first, second, labels = _two(rng, draw, n, sizes, 0.6, asked)
            partition = None if labels is None else Partition.of(labels)
            spread = difference_spread(second, first, partition)
            parts.append(MemberDifference(weight, second - first, spread, partition))
        found = group_difference(parts, seed=int(rng.integers(1 << 30)))
        truth = sum(weight * gap(draw, asked) for weight, draw, _, _ in members)
        return Found(found.p_value, found.interval, found.false_positive_rate), truth

    return scenario


def unpaired(draw: Draw, sizes: tuple[int, int], bounds: Bounds, clusters: NDArray[np.int64] | None = None) -> Scenario:
    """Other samples for each model."""

    def scenario(rng: np.random.Generator, asked: float) -> tuple[Found, float]:
        sides = [_two(rng, draw, n, clusters, 0.6, asked) for n in sizes]
        found = unpaired_difference(
            sides[1][1], sides[0][0], first_clusters=sides[1][2], second_clusters=sides[0][2], bounds=bounds
        )
        assert found is not None
        return Found(found.p_value, found.interval, found.false_positive_rate), gap(draw, asked)

    return scenario


def lopsided(n: int, often: float, loss: float) -> Scenario:
    """Models that are equal on average, not interchangeable: one gains a little on most samples, and loses much on
    few.
    """

    def scenario(rng: np.random.Generator, asked: float) -> tuple[Found, float]:
        is_lost = rng.random(n) < often
        gains = np.where(is_lost, -loss, loss * often / (1 - often)) * rng.uniform(0.5, 1.5, n)
        first = rng.uniform(0.3, 0.6, n)
        second = first + gains
        test = paired_test(second.tolist(), first.tolist(), seed=int(rng.integers(1 << 30)))
        interval = paired_difference(second.tolist(), first.tolist()).interval
        return Found(test.p_value, interval, test.false_positive_rate), 0.0

    return scenario


def _two(
    rng: np.random.Generator, draw: Draw, n: int, sizes: NDArray[np.int64] | None, own: float, effect: float
) -> tuple[Values, Values, Labels]:
    """The values of both models on the same samples; in clusters, ``n`` is not used."""
    if sizes is None:
        easiness = rng.normal(size=n)
        return draw(rng, easiness, 0.0), draw(rng, easiness, effect), None
    labels = np.repeat(np.arange(sizes.size), sizes)
    shared, total = rng.normal(size=sizes.size)[labels], labels.size
    sides = []
    for shift in (0.0, effect):
        liked = own * rng.normal(size=sizes.size)[labels]
        easiness = (0.7 * shared + 0.7 * rng.normal(size=total) + liked) / np.sqrt(0.98 + own**2)
        sides.append(draw(rng, easiness, shift))
    return sides[0], sides[1], labels.tolist()


# --- the tables ------------------------------------------------------------------------------------------------------

Line = tuple[str, Scenario, float]


def right_and_wrong() -> Iterator[Line]:
    """Right or wrong, independent samples."""
    for n in (20, 50, 200, 1_000):
        for p, alike in ((0.5, 0.0), (0.7, 0.8), (0.9, 0.8), (0.98, 0.8)):
            scenario = pairs(right_or_wrong(p, alike), n)
            yield f"n = {n}, {p:.0%} right, {'alike' if alike else 'unlike'}", scenario, -0.06 if p > 0.6 else 0.06


def repeats() -> Iterator[Line]:
    """Means of repeats."""
    for n in (20, 50, 200):
        for k in (3, 8):
            for p in (0.7, 0.95):
                yield f"n = {n}, {k} repeats, {p:.0%} right", pairs(share_of_repeats(p, 0.8, k), n), -0.05


def other_scores() -> Iterator[Line]:
    """Graded scores and errors with a long tail."""
    for n in (20, 50, 200):
        yield f"n = {n}, between 0 and 1, most 1", pairs(graded, n), 0.05
        yield f"n = {n}, errors with a long tail", pairs(errors, n), 0.1


def clusters() -> Iterator[Line]:
    """Samples in clusters."""
    for count in (12, 30, 100):
        for name, sizes_of in SIZES.items():
            sizes = sizes_of(count)
            for kind, draw, effect in (
                ("70 % right", right_or_wrong(0.7, 0.8), -0.05),
                ("95 % right", right_or_wrong(0.95, 0.8), -0.05),
                ("graded", graded, 0.05),
            ):
                yield f"{count} clusters {name}, {kind}", pairs(draw, 0, sizes), effect


def groups() -> Iterator[Line]:
    """Groups: weighted means of tasks."""
    base, easy = right_or_wrong(0.7, 0.8), right_or_wrong(0.95, 0.8)
    for name, members in {
        "2 tasks of 50": [(0.5, base, 50, None), (0.5, base, 50, None)],
        "2 tasks, 30 and 300": [(0.5, base, 30, None), (0.5, base, 300, None)],
        "5 tasks of 40, 95 % right": [(0.2, easy, 40, None)] * 5,
        "10 tasks of 100": [(0.1, base, 100, None)] * 10,
        "right or wrong, graded": [(0.5, base, 60, None), (0.5, graded, 60, None)],
        "2 tasks in 30 clusters of 4": [(0.5, base, 0, SIZES["of 4"](30))] * 2,
        "in clusters, and not": [(0.5, base, 0, SIZES["of 1 to 12"](20)), (0.5, easy, 100, None)],
    }.items():
        yield name, group(members), -0.05 if "graded" not in name else 0.0


def others() -> Iterator[Line]:
    """Unpaired: other samples for each model."""
    shares = (0.0, 1.0)
    for sizes in ((30, 30), (100, 100), (50, 400), (1_000, 1_000)):
        for p in (0.7, 0.95):
            draw = right_or_wrong(p, 0.0)
            yield f"n = {sizes[0]:,} and {sizes[1]:,}, {p:.0%} right", unpaired(draw, sizes, shares), -0.05
        yield f"n = {sizes[0]:,} and {sizes[1]:,}, graded", unpaired(graded, sizes, shares), 0.05
    yield "n = 50 and 400, errors with a long tail", unpaired(errors, (50, 400), UNBOUNDED), 0.1
    for count in (12, 40):
        of_clusters = unpaired(right_or_wrong(0.7, 0.0), (0, 0), shares, SIZES["of 4"](count))
        yield f"{count} clusters of 4 each, 70 % right", of_clusters, -0.05


def equal_on_average() -> Iterator[Line]:
    """Equal on average, not interchangeable: what the test is not made for."""
    for n in (20, 50, 200, 1_000):
        for often in (0.05, 0.2):
            yield f"n = {n}, much worse in {often:.0%}", lopsided(n, often, 0.4), 0.0


TABLES = (right_and_wrong, repeats, other_scores, clusters, groups, others, equal_on_average)


def honesty(book: Book, repetitions: int = REPETITIONS) -> None:
    """Print all tables, and last how often any of several tasks is shown to differ after Holm's correction."""
    for table in TABLES:
        print(f"\n  {(table.__doc__ or '').strip()}")
        tallies = []
        for seed, (name, scenario, effect) in enumerate(table()):
            tallies.append(measured(scenario, effect, repetitions, seed))
            book.line(name, told(tallies[-1]))
        book.line("all of these", in_short(tallies))
    print("\n  Holm's correction over tasks: any of equal ones shown")
    for n_tasks in (5, 20):
        for n in (100, 400):
            share = any_shown(n_tasks, n, max(1, repetitions // 2))
            book.line(f"{n_tasks} tasks of {n}, 70 % right", f"{share:.1%}", "at most 5 %")


def any_shown(n_tasks: int, n: int, repetitions: int) -> float:
    """How often any of some tasks on which two models are equal is shown to differ."""
    rng, count = np.random.default_rng(n_tasks), 0
    scenario = pairs(right_or_wrong(0.7, 0.8), n)
    for _ in range(repetitions):
        corrected = holm([scenario(rng, 0.0)[0].p_value for _ in range(n_tasks)])
        count += any(p is not None and p <= ALPHA for p in corrected)
    return count / repetitions


def in_short(tallies: Sequence[Tally]) -> str:
    """The last line of a table: the lowest and the highest of its lines."""
    found = [tally.found / tally.n for tally in tallies]
    covered = [tally.covered / tally.shown for tally in tallies if tally.shown > 0.1 * tally.n]
    covered += [
        tally.covered_of_unequal / tally.shown_of_unequal
        for tally in tallies
        if tally.shown_of_unequal > 0.1 * tally.n / 2
    ]
    odds = [tally.at_odds / tally.n for tally in tallies]
    parts = [f"found {min(found):.1%} to {max(found):.1%}", f"at odds at most {max(odds):.1%}"]
    if covered:
        parts.insert(1, f"covered {min(covered):.1%} to {max(covered):.1%}")
    return ", ".join(parts)


def told(tally: Tally) -> str:
    """One line of a table."""
    parts = [f"found {_rated(tally.found, tally.n, TEST_ERRS)}"]
    if tally.shown > 0.1 * tally.n:
        parts.append(f"covered {_rated(tally.covered, tally.shown, INTERVAL_COVERS)}")
        if tally.shown_of_unequal > 0.1 * tally.n / 2:
            parts[-1] += f" and {_rated(tally.covered_of_unequal, tally.shown_of_unequal, INTERVAL_COVERS)}"
        parts.append(f"at odds {tally.at_odds / tally.shown:.1%}")
    if tally.shown < 0.995 * tally.n:
        parts.append(f"interval in {tally.shown / tally.n:.0%}")
    if tally.told:
        parts.append(f"told in {tally.told / tally.n:.0%}")
    return ", ".join(parts)


def _rated(count: int, n: int, wanted: tuple[float, float]) -> str:
    """A rate, with a mark where it lies below or above what is wanted by more than the simulation's own error."""
    rate = count / n
    margin = _NOISE * (max(rate * (1 - rate), 1 / n) / n) ** 0.5
    mark = "-" if rate + margin < wanted[0] else "+" if rate - margin > wanted[1] else ""
    return f"{rate:.1%}{mark}"
