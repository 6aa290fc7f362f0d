"""Resampling: agrees with closed forms, is seeded, respects clusters, and is bounded."""

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest

from polymeter.core.names.registries import AGGREGATIONS
from polymeter.stats import (
    Additive,
    Partition,
    bootstrap,
    bootstrap_additive,
    bootstrap_error,
    bootstrap_interval,
    clustered_standard_error,
    standard_error,
)
from polymeter.stats.bootstrap import affordable_resamples

VALUES = np.random.default_rng(5).gamma(2.0, size=300)
CLUSTERS = Partition.of([i // 6 for i in range(300)])


def _terms(values: Sequence[float]) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    return np.stack([np.asarray(values, dtype=float), np.ones(len(values))], axis=1)


MEAN = Additive(_terms, lambda totals: totals[0] / totals[1])


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_agrees_with_the_closed_form() -> None:
    expected = standard_error(VALUES)
    fast = bootstrap_additive(MEAN, _terms(VALUES), generator=generator(), resamples=3000)
    slow = bootstrap(statistics.fmean, VALUES.tolist(), generator=generator(), resamples=3000)
    assert fast.std(ddof=1) == pytest.approx(expected, rel=0.05)
    assert fast == pytest.approx(slow)


def test_agrees_with_the_closed_form_under_clusters() -> None:
    values = VALUES + np.repeat(generator(9).normal(0, 2, size=50), 6)
    expected = clustered_standard_error(values, CLUSTERS)
    fast = bootstrap_additive(MEAN, _terms(values), generator=generator(), resamples=3000, clusters=CLUSTERS)
    slow = bootstrap(statistics.fmean, values.tolist(), generator=generator(), resamples=3000, clusters=CLUSTERS)
    assert fast.std(ddof=1) == pytest.approx(expected, rel=0.06)
    assert fast == pytest.approx(slow)


def test_the_seed_decides() -> None:
    first, again, other = (bootstrap_additive(MEAN, _terms(VALUES), generator=generator(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert not (first == other).all()


def test_median_agrees_with_its_asymptotic_error() -> None:
    values = generator(3).normal(size=2000)
    replicates = bootstrap(AGGREGATIONS.get("median").aggregate, values.tolist(), generator=generator(), resamples=500)
    assert replicates.std(ddof=1) == pytest.approx(math.sqrt(math.pi / 2 / 2000), rel=0.15)


def test_perplexity_agrees_with_the_delta_method() -> None:
    aggregation = AGGREGATIONS.get("perplexity")
    values = -VALUES
    assert isinstance(aggregation.aggregate, Additive)
    replicates = bootstrap_additive(aggregation.aggregate, aggregation.aggregate.terms(values), generator=generator())
    error = standard_error(values)
    assert error is not None
    assert replicates.std(ddof=1) == pytest.approx(aggregation.aggregate(values) * error, rel=0.1)


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_sentence_statistics_give_the_corpus_score_of_a_resample(name: str) -> None:
    """The shortcut through sums is the score of the resampled corpus itself."""
    aggregate = AGGREGATIONS.get(name).aggregate
    assert isinstance(aggregate, Additive)
    pairs = [(f"the cat {i} sat on the mat", f"the dog {i % 3} sat on a mat") for i in range(12)]
    fast = bootstrap_additive(aggregate, aggregate.terms(pairs), generator=generator(), resamples=20)
    slow = bootstrap(aggregate, pairs, generator=generator(), resamples=20)
    assert fast == pytest.approx(slow)


def test_questions_and_not_answers_are_resampled() -> None:
    aggregate = AGGREGATIONS.get("acc_all").aggregate
    assert isinstance(aggregate, Additive)
    values = [(i % 5 > 0, {"idx": {"paragraph": 0, "question": i // 2}, "label": 1}) for i in range(40)]
    assert aggregate.terms(values).shape == (20, 2)


def test_an_interval_stays_in_the_range_of_the_aggregate() -> None:
    replicates = np.clip(generator().normal(0.97, 0.03, size=400), 0, 1)
    found = bootstrap_interval(0.98, replicates, 60, bounds=(0.0, 1.0))
    assert found.interval is not None
    assert 0.8 < found.interval[0] < 0.98 < found.interval[1] <= 1.0
    assert found.method == "bootstrap score"
    skewed = np.exp(generator().normal(0, 0.5, size=400))
    wide = bootstrap_interval(1.0, skewed, 60, bounds=(0.0, None))
    assert wide.interval is not None
    assert wide.interval[0] >= 0
    assert wide.interval[1] - 1 > 1 - wide.interval[0]


def test_no_interval_from_few_samples_or_equal_resamples() -> None:
    replicates = np.linspace(0.0, 1.0, 100)
    assert bootstrap_interval(0.5, replicates, 49, bounds=(0.0, 1.0)).problem == "fewer than 50 samples"
    assert bootstrap_interval(0.5, replicates, 9, is_clustered=True).problem == "fewer than 10 clusters"
    assert bootstrap_interval(1.0, np.ones(100), 60, bounds=(0.0, 1.0)).interval is None


def test_what_is_not_finite_has_no_error() -> None:
    assert bootstrap_error(1.0, np.array([1.0, math.inf])) is None
    assert bootstrap_error(math.inf, np.array([1.0, 2.0])) is None
    assert bootstrap_error(1.0, np.array([1.0])) is None


def test_resamples_are_bounded() -> None:
    assert affordable_resamples(1000, 100, 5_000_000) == 1000
    assert affordable_resamples(1000, 20_000, 5_000_000) == 250
    assert affordable_resamples(1000, 1_000_000, 5_000_000) == 50
    assert affordable_resamples(10, 1_000_000, 5_000_000) == 10
