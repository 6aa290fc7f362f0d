"""One scale for many players from pairwise comparisons: the Bradley–Terry model.

The odds that one player is preferred to another are the ratio of their strengths (Bradley and Terry 1952, *Biometrika*
39). A tie counts as half a win for either. Strengths are natural logarithms with mean 0, so a difference of ``d`` means
that the stronger one is preferred in a share of ``1 / (1 + e^-d)``.

Errors come from the sandwich estimator of White (1982) and Liang and Zeger (1986) over clusters. So they hold even
though ties are not half wins, one sample is compared in several pairs, and no scale fits all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.intervals import LEVEL, Interval, t_quantile
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.moments import FEWEST_CLUSTERS, FEWEST_SAMPLES

_STEPS = 200
_PRECISION = 1e-12

Comparison = tuple[int, int, float]
"""Two players, and the points of the first: 1 for a win, 0.5 for a tie, 0 for a loss."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths of players, if the comparisons determine them.

    Attributes:
        values: The strengths; all ``None`` if the comparisons do not determine them.
        stderrs: Their standard errors.
        intervals: Their 95 % intervals.
        problem: Why the strengths are missing; empty otherwise.
        no_interval: Why strengths have no intervals; empty if they have.
        tiers: The players in groups, if the strengths are missing; otherwise one group. A group never lost to a later
            group that it was compared with. Within a group, there are wins in both directions.
        is_connected: Whether every player was compared with every other one, at least through third players.
    """

    values: tuple[float | None, ...]
    stderrs: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...]
    problem: str = ""
    no_interval: str = ""
    tiers: tuple[tuple[int, ...], ...] = ()
    is_connected: bool = True


def bradley_terry(
    comparisons: Sequence[Comparison], n_players: int, *, clusters: Sequence[Hashable | None] | None = None
) -> Strengths:
    """Compute the most likely strengths, with intervals.

    They exist if and only if in every division of the players into two groups, some player of each group has won
    against, or tied with, one of the other (Ford 1957, *American Mathematical Monthly* 64). Otherwise some strengths
    are infinite or not determined, and none is returned.

    Args:
        comparisons: The compared players, and the points of the first.
        n_players: The number of players, numbered from 0.
        clusters: The label that each comparison shares with others (the sample), ``None`` for one on its own.

    Raises:
        ValueError: if the lists differ in length, or a comparison has an unknown player or a value that is not between
            0 and 1.
    """
    if clusters is not None and len(clusters) != len(comparisons):
        raise ValueError("The lists of comparisons and clusters differ in length, so they cannot be paired.")
    if any(not (0 <= i < n_players and 0 <= j < n_players and i != j and 0 <= s <= 1) for i, j, s in comparisons):
        raise ValueError("A comparison needs two different players and a value from 0 to 1.")
    wins = np.zeros((n_players, n_players))
    for first, second, got in comparisons:
        wins[first, second] += got
        wins[second, first] += 1 - got
    tiers, is_connected = _tiers(wins)
    none = (None,) * n_players
    if not is_connected:
        problem = "not all were compared with one another, not even through others"
        return Strengths(none, none, none, problem, tiers=tiers, is_connected=False)
    if len(tiers) > 1:
        return Strengths(none, none, none, "some never lost to others, so their scores are infinite", tiers=tiers)
    values = _fitted(wins)
    pairs = np.array([comparison[:2] for comparison in comparisons], dtype=np.intp).reshape(-1, 2)
    gained = np.array([comparison[2] for comparison in comparisons], dtype=np.float64)
    partition = Partition.of(clusters if clusters is not None else [None] * len(comparisons))
    strengths = tuple(float(value) for value in values)
    if partition.count < 2:
        return Strengths(strengths, none, none, no_interval="a single sample", tiers=tiers)
    stderrs = tuple(math.sqrt(max(float(item), 0.0)) for item in np.diag(_covariance(values, pairs, gained, partition)))
    if not any(stderrs):
        return Strengths(strengths, stderrs, none, no_interval="the comparisons show no spread", tiers=tiers)
    is_clustered = partition.count < len(comparisons)
    fewest, unit = (FEWEST_CLUSTERS, "samples or clusters") if is_clustered else (FEWEST_SAMPLES, "samples")
    if partition.count < fewest:
        return Strengths(strengths, stderrs, none, no_interval=f"fewer than {fewest} {unit}", tiers=tiers)
    quantile = t_quantile((1 + LEVEL) / 2, partition.count - 1)
    intervals = tuple(
        (value - quantile * error, value + quantile * error) for value, error in zip(strengths, stderrs, strict=True)
    )
    return Strengths(strengths, stderrs, intervals, tiers=tiers)


def _fitted(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the most likely strengths by Newton's method with halved steps. The likelihood is concave."""
    values = np.zeros(len(wins))
    totals = wins + wins.T
    best = _loglikelihood(values, wins)
    for _ in range(_STEPS):
        expected = _expected(values)
        gradient = wins.sum(axis=1) - (totals * expected).sum(axis=1)
        step = _inverse(_information(totals, expected)) @ gradient
        while (found := _loglikelihood(values + step, wins)) < best and np.abs(step).max() > _PRECISION:
            step /= 2
        values, best = values + step, max(found, best)
        if np.abs(step).max() <= _PRECISION:
            break
    centred: NDArray[np.float64] = values - values.mean()
    return centred


def _expected(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected share of wins of each player against each other one."""
    from scipy.special import expit

    found: NDArray[np.float64] = expit(values[:, None] - values[None, :])
    return found


def _loglikelihood(values: NDArray[np.float64], wins: NDArray[np.float64]) -> float:
    return -float((wins * np.logaddexp(0.0, values[None, :] - values[:, None])).sum())


def _information(totals: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the negative second derivative: the Laplacian of the graph of comparisons, weighted by their variances."""
    weights = totals * expected * (1 - expected)
    information: NDArray[np.float64] = np.diag(weights.sum(axis=1)) - weights
    return information


def _inverse(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of the information among strengths with the sum 0. Only there it has one, if all players are
    connected.
    """
    mean = np.full_like(information, 1 / len(information))
    inverse: NDArray[np.float64] = np.linalg.inv(information + mean) - mean
    return inverse


def _covariance(
    values: NDArray[np.float64], pairs: NDArray[np.intp], gained: NDArray[np.float64], partition: Partition
) -> NDArray[np.float64]:
    """Return the sandwich: the terms of each cluster in the gradient, between two inverses of the information."""
    expected = _expected(values)
    residuals = gained - expected[pairs[:, 0], pairs[:, 1]]
    scores = np.zeros((partition.count, len(values)))
    np.add.at(scores, (partition.codes, pairs[:, 0]), residuals)
    np.add.at(scores, (partition.codes, pairs[:, 1]), -residuals)
    totals = np.zeros((len(values), len(values)))
    np.add.at(totals, (pairs[:, 0], pairs[:, 1]), 1.0)
    bread = _inverse(_information(totals + totals.T, expected))
    meat = partition.count / (partition.count - 1) * (scores.T @ scores)
    covariance: NDArray[np.float64] = bread @ meat @ bread
    return covariance


def _tiers(wins: NDArray[np.float64]) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """Return the groups of players with wins in both directions, the strongest first, and whether all are connected."""
    from scipy.sparse.csgraph import connected_components

    n_groups, groups = connected_components(wins > 0, directed=True, connection="strong")
    n_parts, _ = connected_components(wins > 0, directed=True, connection="weak")
    members = [tuple(int(player) for player in np.flatnonzero(groups == number)) for number in range(n_groups)]
    beaten: list[set[int]] = [set() for _ in range(n_groups)]
    for winner, loser in zip(*np.nonzero(wins), strict=True):
        if groups[winner] != groups[loser]:
            beaten[groups[winner]].add(int(groups[loser]))
    ordered: list[tuple[int, ...]] = []
    left = set(range(n_groups))
    while left:
        top = min(number for number in left if not any(number in beaten[other] for other in left - {number}))
        ordered.append(members[top])
        left.remove(top)
    return tuple(ordered), n_parts <= 1
