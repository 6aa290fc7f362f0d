"""Strengths from pairwise comparisons: their values, their errors, and when there are none."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from polymeter.stats import bradley_terry
from polymeter.stats.ranking.bradley_terry import Comparison

EXPECTED = Path(__file__).parent / "cases" / "bradley_terry.json"
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
"""The American League, Eastern Division, 1987: Agresti 2002, *Categorical Data Analysis*, table 10.10."""


def test_is_agrestis_baseball() -> None:
    games = [(i, j, 1.0) for i, row in enumerate(WINS) for j, n in enumerate(row) for _ in range(n)]
    found = bradley_terry(games, len(TEAMS))
    values = [value for value in found.values if value is not None]
    # Agresti's estimates, Baltimore being 0; also in the vignette of the R package BradleyTerry2.
    published = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)
    assert [value - values[-1] for value in values] == pytest.approx(published, abs=5e-5)
    assert sum(values) == pytest.approx(0, abs=1e-12)
    assert found.tiers == ((0, 1, 2, 3, 4, 5, 6),)


def test_a_thousand_cases_equal_those_of_choix() -> None:
    """The strengths by ``opt_pairwise`` of choix 0.4.1, in the order of these draws; ``null``: there are none."""
    rng = np.random.default_rng(1952)
    n_without = 0
    for expected in json.loads(EXPECTED.read_text(encoding="utf-8")):
        k, n = int(rng.integers(2, 7)), int(rng.integers(30, 200))
        true = rng.normal(0, 0.8, k)
        games: list[Comparison] = []
        for _ in range(n):
            i, j = (int(player) for player in rng.choice(k, 2, replace=False))
            games.append((i, j, float(rng.random() < 1 / (1 + np.exp(true[j] - true[i])))))
        found = bradley_terry(games, k)
        if expected is None:
            assert found.values == (None,) * k
            assert found.problem
            n_without += 1
        else:
            assert found.values == pytest.approx(expected, abs=2e-5)
    assert n_without == 8


def test_values_and_errors_are_those_of_a_logistic_regression() -> None:
    """With ties as half wins, and errors clustered by sample, as statsmodels has them."""
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    for _ in range(20):
        k = int(rng.integers(2, 5))
        games: list[Comparison] = []
        clusters: list[int] = []
        for sample in range(60):
            shift = rng.normal()
            for i in range(k):
                for j in range(i):
                    share = 1 / (1 + math.exp(-(i - j) * 0.4 - shift))
                    games.append((i, j, float(rng.choice([0.0, 0.5, 1.0], p=[0.8 * (1 - share), 0.2, 0.8 * share]))))
                    clusters.append(sample)
        design = np.zeros((len(games), k))
        for row, (i, j, _) in enumerate(games):
            design[row, i], design[row, j] = 1.0, -1.0
        fitted = sm.GLM([got for *_, got in games], design[:, 1:], family=sm.families.Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": np.array(clusters), "use_correction": False}, tol=1e-12
        )
        centre = np.eye(k) - 1 / k
        covariance = centre[:, 1:] @ fitted.cov_params() @ centre[:, 1:].T
        found = bradley_terry(games, k, clusters=clusters)
        assert found.values == pytest.approx(centre[:, 1:] @ fitted.params, abs=1e-8)
        corrected = np.sqrt(np.diag(covariance) * 60 / 59)
        assert found.stderrs == pytest.approx(corrected, rel=1e-6)


def test_two_players_have_the_logit_of_the_share() -> None:
    found = bradley_terry([(0, 1, 1.0)] * 60 + [(1, 0, 1.0)] * 20 + [(0, 1, 0.5)] * 20, 2)
    assert found.values == pytest.approx((math.log(7 / 3) / 2, -math.log(7 / 3) / 2))


def test_a_player_that_never_lost_has_no_score() -> None:
    found = bradley_terry([(0, 1, 1.0)] * 30 + [(1, 2, 1.0), (2, 1, 1.0)] * 15 + [(0, 2, 1.0)] * 30, 3)
    assert found.values == (None, None, None)
    assert found.tiers == ((0,), (1, 2))
    assert "infinite" in found.problem
    one_tie = bradley_terry([(0, 1, 1.0)] * 30 + [(0, 1, 0.5)], 2)
    assert one_tie.tiers == ((0, 1),)
    assert one_tie.values[0] == pytest.approx(math.log(30.5 / 0.5) / 2)


def test_players_that_were_never_compared_have_no_scale() -> None:
    found = bradley_terry([(0, 1, 1.0), (1, 0, 1.0), (2, 3, 0.5)] * 10, 4)
    assert not found.is_connected
    assert found.values == (None,) * 4
    assert "not even through others" in found.problem


def test_few_samples_have_no_intervals() -> None:
    games: list[Comparison] = [(0, 1, 1.0), (1, 0, 1.0)]
    assert bradley_terry(games * 9, 2).no_interval == "fewer than 20 samples"
    assert bradley_terry(games * 10, 2).intervals[0] is not None
    clustered = bradley_terry(games * 20, 2, clusters=[i // 5 for i in range(40)])
    assert clustered.no_interval == "fewer than 10 samples or clusters"
    assert bradley_terry(games, 2, clusters=["a", "a"]).no_interval == "a single sample"


def test_what_is_no_comparison_is_refused() -> None:
    for wrong in ([(0, 0, 1.0)], [(0, 2, 1.0)], [(0, 1, 1.5)]):
        with pytest.raises(ValueError, match="two different players"):
            bradley_terry(wrong, 2)
    with pytest.raises(ValueError, match="differ in length"):
        bradley_terry([(0, 1, 1.0)], 2, clusters=[])


def test_the_intervals_cover() -> None:
    """Of three players, compared in all pairs on each of 60 samples that favour one of them by chance, the interval of
    each strength holds the truth in 92 % or more of 300 repetitions.
    """
    rng = np.random.default_rng(29)
    true = np.array([0.5, 0.0, -0.5])
    hits = 0

    # The truth on this scale: the strengths that fit the probabilities of the simulation itself.
    def probability(i: int, j: int, shifts: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(true[j] - true[i] - shifts[:, i] + shifts[:, j]))

    many = np.random.default_rng(0).normal(0, 1.0, (400_000, 3))
    pairs = [(0, 1), (0, 2), (1, 2)]
    limit = bradley_terry([(i, j, float(probability(i, j, many).mean())) for i, j in pairs], 3).values
    for _ in range(300):
        shifts = rng.normal(0, 1.0, (60, 3))
        games: list[Comparison] = []
        for i, j in pairs:
            chances = probability(i, j, shifts)
            games += [(i, j, float(draw)) for draw in rng.random(60) < chances]
        found = bradley_terry(games, 3, clusters=[*range(60)] * 3)
        for interval, truth in zip(found.intervals, limit, strict=True):
            assert interval is not None
            assert truth is not None
            hits += interval[0] <= truth <= interval[1]
    assert 0.92 <= hits / 900 <= 0.985
