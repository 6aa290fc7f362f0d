"""A mean corrected by a labelled subset: its numbers, and whether its interval holds what it promises."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from polymeter.stats import corrected_mean, normal_quantile

EXPECTED = Path(__file__).parent / "cases" / "prediction_powered.json"
Floats = NDArray[np.float64]


def random_cases() -> list[tuple[Floats, Floats, int]]:
    """The cases whose 95 % intervals by ``ppi_mean_ci`` of ppi-python 0.2.3 are in the file, in its order: labels and
    scores of all samples, and how many of them are labelled.
    """
    rng = np.random.default_rng(2311)
    cases = []
    for i in range(1000):
        n, n_others = int(rng.integers(5, 80)), int(rng.integers(5, 400))
        if i % 2:
            y = (rng.random(n + n_others) < rng.uniform(0.1, 0.9)).astype(float)
            error = rng.uniform(0, 0.6)
            f = np.where(rng.random(n + n_others) < error, 1 - y, y)
        else:
            y = rng.normal(2, 3, n + n_others)
            f = rng.uniform(-0.5, 1.2) * y + rng.normal(rng.uniform(-1, 1), rng.uniform(0.1, 4), n + n_others)
        cases.append((y, f, n))
    return cases


def test_a_thousand_cases_equal_those_of_its_authors() -> None:
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    for (y, f, n), (low, high) in zip(random_cases(), expected, strict=True):
        found = corrected_mean(y[:n].tolist(), f[:n].tolist(), f[n:].tolist())
        # Theirs divides each sum of squares by n, ours by n - 1.
        of_labelled = (y[:n] - found.weight * f[:n]).var() / n
        of_others = (found.weight * f[n:]).var() / (len(f) - n)
        half = normal_quantile(0.975) * math.sqrt(of_labelled + of_others)
        assert (found.value - half, found.value + half) == pytest.approx((low, high), abs=1e-8)
        ours = of_labelled * n / (n - 1) + of_others * (len(f) - n) / (len(f) - n - 1)
        assert found.stderr == pytest.approx(math.sqrt(ours))


def test_a_judge_that_says_nothing_leaves_the_mean_of_the_labels() -> None:
    found = corrected_mean([1.0, 0.0] * 20, [1.0] * 40, [1.0] * 300)
    assert (found.value, found.weight, found.bias) == (0.5, 0.0, 0.5)
    assert found.stderr == pytest.approx(math.sqrt(0.25 * 40 / 39 / 40))
    opposite = corrected_mean([1.0, 0.0] * 20, [0.0, 1.0] * 20, [1.0] * 300)
    assert opposite.weight == 0.0


def test_a_judge_that_is_always_off_by_as_much_is_corrected_whole() -> None:
    labels = [0.0, 1.0, 2.0, 3.0] * 10
    found = corrected_mean(labels, [label + 5 for label in labels], [6.0] * 1000 + [8.0] * 1000)
    assert found.bias == 5.0
    whole = 2.0  # the others' mean of 7 less the judge's error
    assert found.value == pytest.approx(found.weight * whole + (1 - found.weight) * 1.5)
    assert found.n_labelled == 40
    assert found.n_unlabelled == 2000


def test_a_perfect_judge_is_not_certain() -> None:
    """Twenty labels without a disagreement do not show that the judge is never wrong."""
    found = corrected_mean([1.0, 0.0] * 10, [1.0, 0.0] * 10, [1.0, 0.0] * 5000)
    assert found.stderr is not None
    assert found.stderr < 0.01
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] > 0.1


def test_few_labels_have_no_interval() -> None:
    found = corrected_mean([1.0, 0.0] * 9, [1.0, 1.0] * 9, [1.0, 0.0] * 100)
    assert (found.interval, found.no_interval) == (None, "fewer than 20 labels")
    assert found.stderr is not None
    single = corrected_mean([1.0], [0.0], [1.0, 0.0])
    assert (single.stderr, single.no_interval) == (None, "a single label")
    with pytest.raises(ValueError, match="no labels"):
        corrected_mean([], [], [1.0])
    with pytest.raises(ValueError, match="differ in length"):
        corrected_mean([1.0], [], [1.0])


def test_clusters_widen() -> None:
    rng = np.random.default_rng(5)
    y = np.repeat((rng.random(60) < 0.5).astype(float), 5)
    f = np.where(rng.random(300) < 0.2, 1 - y, y)
    alone = corrected_mean(y[:100].tolist(), f[:100].tolist(), f[100:].tolist())
    labels = [str(i // 5) for i in range(300)]
    together = corrected_mean(y[:100].tolist(), f[:100].tolist(), f[100:].tolist(), clusters=labels)
    assert together.value == alone.value
    assert together.stderr is not None
    assert alone.stderr is not None
    assert together.stderr > 1.3 * alone.stderr
    single = [str(i) for i in range(300)]
    same = corrected_mean(y[:100].tolist(), f[:100].tolist(), f[100:].tolist(), clusters=single)
    assert same == alone
    few = corrected_mean(y[:25].tolist(), f[:25].tolist(), f[100:].tolist(), clusters=[*labels[:25], *labels[100:]])
    assert few.no_interval == "fewer than 10 clusters with labels"


@pytest.mark.parametrize("error", [0.05, 0.25])
@pytest.mark.parametrize("is_lenient", [False, True])
@pytest.mark.parametrize("size", [1, 4])
def test_the_interval_covers(error: float, size: int, is_lenient: bool) -> None:
    """In 500 repetitions it holds the truth in 93 % or more: an honest 95 % would fall below that in 2 % of such tests;
    here the seed is fixed. Of clusters, all members share the label and the judge's mistake.
    """
    rng = np.random.default_rng(17)
    hits, repetitions, share = 0, 500, 0.7
    widths, plain = 0.0, 0.0
    for _ in range(repetitions):
        y = np.repeat((rng.random(600 // size) < share).astype(float), size)
        wrong = np.repeat(rng.random(600 // size) < error, size)
        f = np.where(wrong, 1.0 if is_lenient else 1 - y, y)
        clusters = None if size == 1 else np.repeat(np.arange(600 // size), size).tolist()
        found = corrected_mean(y[:120].tolist(), f[:120].tolist(), f[120:].tolist(), clusters=clusters)
        assert found.interval is not None
        hits += found.interval[0] <= share <= found.interval[1]
        widths += found.interval[1] - found.interval[0]
        plain += 2 * 1.96 * math.sqrt(share * (1 - share) * size / 120)
    assert 0.93 <= hits / repetitions <= 0.99
    assert widths < plain  # what the judge is for
