"""Krippendorff's alpha against published values and another implementation."""

import json
from pathlib import Path

import numpy as np
import pytest

from polymeter.judge.krippendorff import krippendorff_alpha

EXPECTED = Path(__file__).parent / "cases" / "krippendorff.json"
N = None
# Krippendorff 2011, section C: four observers and twelve units, of which the last has one value.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3),
    (N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N),
)


def test_is_that_of_the_published_example() -> None:
    units = [*zip(*OBSERVERS, strict=True)]
    assert krippendorff_alpha(units).value == pytest.approx(0.849, abs=5e-4)  # interval metric
    words = [[None if value is None else f"category {value}" for value in unit] for unit in units]
    assert krippendorff_alpha(words).value == pytest.approx(0.743, abs=5e-4)  # nominal metric


def test_a_thousand_cases_equal_those_of_another_implementation() -> None:
    """By the package krippendorff 0.8.2, in the order of these draws; ``null``: all values are equal."""
    rng = np.random.default_rng(2004)
    n_none = 0
    for number, expected in enumerate(json.loads(EXPECTED.read_text(encoding="utf-8"))):
        n, k = int(rng.integers(5, 60)), int(rng.integers(2, 6))
        if number % 2:
            data = rng.integers(0, 2, (n, k)).astype(float)
            data = np.where(rng.random((n, k)) < 0.6, data[:, :1], data)
        else:
            data = np.round(rng.normal(0, 1, (n, 1)) * 2 + rng.normal(0, 1, (n, k)), 1)
        data[rng.random((n, k)) < 0.15] = np.nan
        rows = [[None if np.isnan(value) else value for value in row] for row in data.tolist()]
        found = krippendorff_alpha(rows[:n]).value
        n_none += expected is None
        assert found is None if expected is None else found == pytest.approx(expected, abs=1e-7)
    assert n_none < 20


def test_where_there_is_nothing_to_tell_there_is_no_value() -> None:
    assert krippendorff_alpha([]).value is None
    assert krippendorff_alpha([[1.0, None], [None, 2.0]]).value is None
    assert krippendorff_alpha([[1.0, 1.0]] * 30).value is None
    full = krippendorff_alpha([[1.0, 1.0], [0.0, 0.0]] * 15)
    assert (full.value, full.interval) == (1.0, None)
    with pytest.raises(ValueError, match="differ in length"):
        krippendorff_alpha([[1.0, 0.0]], clusters=[])


def test_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat(rng.integers(0, 2, 40), 5)
    wrong = np.repeat(rng.random(40) < 0.2, 5)
    rows = [[float(a), float(a != b)] for a, b in zip(truth, wrong, strict=True)]
    alone = krippendorff_alpha(rows)
    together = krippendorff_alpha(rows, clusters=[i // 5 for i in range(200)])
    assert alone.value == together.value
    assert alone.stderr is not None
    assert together.stderr is not None
    assert together.stderr > 1.5 * alone.stderr
    few = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]] * 5
    assert krippendorff_alpha(few).no_interval == "fewer than 20 samples"
