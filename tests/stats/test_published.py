"""Worked examples that others published, with where they stand."""

from __future__ import annotations

import numpy as np
import pytest

from polymeter.stats import (
    holm,
    mcnemar_test,
    needed_samples,
    paired_difference,
    paired_test,
    permutation_test,
    standard_error,
    unpaired_difference,
)


def test_mcnemar_of_agrestis_approval_ratings() -> None:
    # Agresti 2002, Categorical Data Analysis, table 10.1: 1,600 voters; 150 approved at first only, 86 later only. His
    # z² is 17.36, so p is 0.00003.
    first = [1.0] * (794 + 150) + [0.0] * (86 + 570)
    second = [1.0] * 794 + [0.0] * 150 + [1.0] * 86 + [0.0] * 570
    found = paired_test(first, second)
    assert found.p_value == pytest.approx(3.1e-5, abs=0.3e-5)
    assert found.odds_ratio == pytest.approx(150 / 86)
    assert found.method == "McNemar, mid-p"
    # Section 10.1.1: the approval fell from 0.59 to 0.55, with a 95 % interval of the change of (-0.06, -0.02).
    paired = paired_difference(second, first)
    assert paired.interval == pytest.approx((-0.06, -0.02), abs=0.005)


def test_mid_p_of_children_before_and_after_a_transplantation() -> None:
    # Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13, 91, table 1 (data of Bentur et al. 2009):
    # of 21 children one lost and seven gained hyper-responsive airways. The exact test has 0.070, the mid-p test 0.039.
    assert mcnemar_test(1, 7).p_value == pytest.approx(0.039, abs=5e-4)
    assert mcnemar_test(1, 7).p_value == mcnemar_test(7, 1).p_value


def test_five_pairs_in_one_direction_are_the_fewest_that_show_a_difference() -> None:
    """``docs/statistics.md`` says so; Tango's interval excludes 0 from four on."""
    assert [mcnemar_test(n, 0).p_value for n in (4, 5)] == [0.0625, 0.03125]
    intervals = [paired_difference([1.0] * n + [0.0] * (20 - n), [0.0] * 20).interval for n in (3, 4)]
    assert [interval is not None and interval[0] > 0 for interval in intervals] == [False, True]


def test_permutations_of_darwins_maize() -> None:
    # Fisher 1935, The Design of Experiments, section 21: heights of 15 pairs of plants, in eighths of an inch. Of the
    # 32,768 assignments of signs, 835 have a sum of more than 314, 28 of just 314, and as many the other way.
    eighths = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    found = permutation_test(np.array(eighths, dtype=float))
    assert found.p_value == pytest.approx((2 * 835 + 28) / 32_768, abs=1e-12)
    assert found.method == "permutation, mid-p"
    # Section 17: Student's t of the same pairs is 2.148.
    assert paired_difference(eighths, [0.0] * 15).t == pytest.approx(2.148, abs=5e-4)


def test_pairs_of_students_sleep() -> None:
    # Student 1908, Biometrika 6, p. 20: additional hours of sleep of ten patients by two drugs. The mean difference is
    # 1.58; t is 4.06 with today's deviation, and p 0.0028 (R, help page of the data set `sleep`).
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = paired_difference(second, first)
    assert (found.difference, found.df) == (pytest.approx(1.58), 9)
    assert found.t == pytest.approx(4.0621, abs=1e-4)
    assert found.p_value == pytest.approx(0.002833, abs=1e-6)
    # The same numbers taken for those of twenty patients: Welch's test has p 0.0794.
    unpaired = unpaired_difference(second[:9], first[:9])
    assert unpaired is not None
    assert unpaired.p_method == "Welch's t-test"


def test_holm_by_hand() -> None:
    # Wright 1992, Biometrics 48, 1005-1013: the step-down arithmetic for four ordered p-values, done by hand.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.04, None, 0.5]) == [None, 0.08, None, 0.5]
    assert holm([]) == []


def test_error_bars_of_miller() -> None:
    # Miller 2024, Adding Error Bars to Evals, table 1: two models on MATH (5,000 questions), with errors of 0.7 %.
    for share in (0.655, 0.63):
        n_right = round(5_000 * share)
        error = standard_error([1.0] * n_right + [0.0] * (5_000 - n_right))
        assert error == pytest.approx(0.007, abs=5e-4)
    # Section 5: about a thousand questions show a difference of 0.03 with a power of 80 %, if the difference of one
    # question has a variance of 1/9.
    assert needed_samples(0.03, std_a=1 / 3, std_b=0.0, correlation=0.0) == 969
