"""Agreement: known kappas, intervals that mean something, and what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from polymeter.judge.agreement import agreement, cohens_kappa, spearman


def pairs_of(table: list[list[int]]) -> tuple[list[int], list[int]]:
    first = [i for i, row in enumerate(table) for n in row for _ in range(n)]
    second = [j for row in table for j, n in enumerate(row) for _ in range(n)]
    return first, second


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),
        ([[45, 15], [25, 15]], 0.1304),
        ([[25, 35], [5, 35]], 0.2593),
        ([[10, 0], [0, 10]], 1.0),
        ([[0, 10], [10, 0]], -1.0),
        ([[25, 25], [25, 25]], 0.0),
        # Cohen 1960 by way of Fleiss, Cohen and Everitt 1969: three categories, 200 subjects.
        ([[106, 10, 4], [22, 28, 10], [2, 12, 6]], 0.4286),
    ],
)
def test_kappas_of_the_textbooks(table: list[list[int]], kappa: float) -> None:
    assert cohens_kappa(table)[0] == pytest.approx(kappa, abs=5e-5)
    first, second = pairs_of(table)
    assert agreement(first, second).kappa.value == pytest.approx(cohen_kappa_score(first, second))


def test_the_error_of_fleiss_cohen_and_everitt() -> None:
    _, stderr = cohens_kappa([[106, 10, 4], [22, 28, 10], [2, 12, 6]])
    assert stderr == pytest.approx(math.sqrt(0.002885), abs=5e-5)


def test_the_closed_form_is_what_resampling_finds() -> None:
    generator = np.random.default_rng(1)
    first = generator.integers(0, 3, 400)
    second = np.where(generator.random(400) < 0.6, first, generator.integers(0, 3, 400))
    drawn = [cohen_kappa_score(first[i], second[i]) for i in generator.integers(0, 400, (300, 400))]
    found = agreement(first.tolist(), second.tolist()).kappa
    assert found.stderr == pytest.approx(np.std(drawn), rel=0.15)
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]


def test_raw_agreement_has_wilson_s_interval() -> None:
    found = agreement([1, 1, 0, 0] * 5, [1, 1, 0, 0] * 5)
    assert (found.raw.value, found.n, found.categories) == (1.0, 20, ("0", "1"))
    assert found.raw.interval == pytest.approx((0.8389, 1.0), abs=1e-4)
    assert found.kappa.value == 1.0
    assert found.kappa.interval is None, "equal pairs show no spread"
    few = agreement([1, 1, 0, 0], [1, 1, 0, 1])
    assert {few.raw.no_interval, few.kappa.no_interval} == {"fewer than 20 samples"}


def test_one_verdict_for_everything_has_no_kappa() -> None:
    found = agreement(["A"] * 5, ["A"] * 5)
    assert (found.raw.value, found.kappa.value, found.spearman) == (1.0, None, None)


def test_samples_without_a_verdict_are_left_out_and_counted() -> None:
    found = agreement([1.0, math.nan, 0.0, 1.0], [1.0, 1.0, None, 0.0])
    assert (found.n, found.n_left_out, found.raw.value) == (2, 2, 0.5)
    nothing = agreement([None], [1.0])
    assert (nothing.n, nothing.n_left_out, nothing.raw.value, nothing.kappa.value) == (0, 1, None, None)


def test_numbers_are_put_into_bins_and_ranked() -> None:
    first = [number / 20 for number in range(21)]
    second = [min(1.0, value + 0.01) for value in first]
    found = agreement(first, second)
    assert found.is_binned
    assert len(found.categories) == 5
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(spearmanr(first, second).statistic)
    assert found.kappa.value > 0.9


def test_a_rank_correlation_with_ties() -> None:
    first, second = [1, 2, 2, 4, 5, 7, 7] * 3, [2, 1, 3, 3, 6, 5, 8] * 3
    found = spearman(first, second)
    assert found.value == pytest.approx(spearmanr(first, second).statistic)
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1] < 1
    assert spearman([1, 1, 1], [1, 2, 3]).value is None


def test_samples_of_one_cluster_make_it_less_sure() -> None:
    generator = np.random.default_rng(3)
    by_cluster = generator.integers(0, 2, 30)
    agrees = generator.random(30) < 0.7
    first = np.repeat(by_cluster, 10).tolist()
    second = np.repeat(np.where(agrees, by_cluster, 1 - by_cluster), 10).tolist()
    apart = agreement(first, second)
    together = agreement(first, second, clusters=[str(n // 10) for n in range(300)])
    assert together.kappa.value == apart.kappa.value
    assert together.kappa.stderr > 2 * apart.kappa.stderr
    assert together.raw.stderr > 2 * apart.raw.stderr
    again = agreement(first, second, clusters=[str(n // 10) for n in range(300)])
    assert again == together


def test_lists_of_different_length_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        agreement([1], [1, 0])
