"""No interval leaves the range that a metric declares, and none is cut where no range is known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.metric import Aggregation
from polymeter.core.names.registries import METRICS
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.core.task import GroupSpec, ReduceContext, Result, SampleStatus, Score, ScoredRow
from polymeter.metrics.basic import MEAN
from polymeter.run.finish.groups import reduce_group
from polymeter.stats import MetricPlan, Partition, estimate, paired_difference, reduce_rows
from polymeter.stats.additive import Additive
from polymeter.stats.comparisons import MemberDifference, group_difference
from polymeter.stats.intervals import within
from polymeter.stats.paired import difference_spread
from polymeter.tasks.table.classes.images.datasets import GeneratedImages
from polymeter.tasks.table.classes.results import sorted_results

CONTEXT = ReduceContext(Path("."))
SSIM = (-1.0, 1.0)
SIMILAR = [0.995] * 12 + [0.97, 0.6, 0.99, 0.85, 0.93, 0.4, -0.02] + [0.999] * 6
"""Similarities of images, most nearly 1 and one below 0: without a known range their interval ends above 1."""


def rows_of(values: list[float], metric: str = "m", cluster_size: int = 1) -> list[ScoredRow]:
    return [
        ScoredRow(
            str(place),
            place,
            (),
            str(place // cluster_size) if cluster_size > 1 else None,
            SampleStatus.OK,
            Score({(metric, "none"): value}),
        )
        for place, value in enumerate(values)
    ]


def reduced(values: list[float], bounds: Bounds, cluster_size: int = 1) -> Result:
    (found,) = reduce_rows(
        rows_of(values, cluster_size=cluster_size), [MetricPlan("m", "none", MEAN, True, bounds)], CONTEXT
    )
    return found


def test_the_similarity_of_generated_images_stays_within_its_range() -> None:
    table = pd.DataFrame({"index": [str(place) for place in range(len(SIMILAR))]})
    metrics = GeneratedImages.METRICS
    (found,) = sorted_results(rows_of(SIMILAR, "ssim"), table, metrics, CONTEXT, GeneratedImages.RANGES)
    assert found.bounds == SSIM
    assert found.interval is not None
    assert found.interval[1] <= 1


def test_the_ranges_of_generated_images_are_those_of_the_metrics() -> None:
    assert set(GeneratedImages.RANGES) == set(GeneratedImages.METRICS)
    for name in ("psnr", "ssim", "lpips"):
        assert GeneratedImages.RANGES[name] == METRICS.get(name).bounds


@given(
    st.lists(st.floats(-1, 1), min_size=20, max_size=60),
    st.sampled_from([SSIM, (None, 1.0), (-1.0, None), (-1.0, 3.0)]),
    st.sampled_from([1, 2]),
)
def test_no_interval_of_a_mean_leaves_its_range(values: list[float], bounds: Bounds, cluster_size: int) -> None:
    found = reduced(values, bounds, cluster_size)
    if found.interval is not None:
        assert within(found.interval, bounds) == found.interval
        assert found.interval[0] <= found.value <= found.interval[1]


@given(st.lists(st.floats(-1, 1), min_size=40, max_size=60))
def test_no_interval_of_a_group_leaves_its_range(values: list[float]) -> None:
    results = {"one": [reduced(values[:20], SSIM)], "two": [reduced(values[20:], SSIM)]}
    group = GroupSpec("g", "g", ("one", "two"), aggregates=({"metric": "m"},))
    (found,) = reduce_group(group, results)
    assert found.bounds == SSIM
    if found.interval is not None:
        assert within(found.interval, SSIM) == found.interval


def test_a_range_that_a_value_contradicts_is_not_told() -> None:
    assert reduced([*SIMILAR, 1.2], SSIM).bounds == UNBOUNDED
    assert reduced(SIMILAR, SSIM).bounds == SSIM
    assert reduced([0.5], SSIM).bounds == SSIM


def test_a_function_of_a_ratio_stays_within_its_range() -> None:
    def terms(values: Any) -> Any:
        return np.array([[value, 1.0] for value in values])

    aggregation = Aggregation("r", Additive(terms, lambda t: t[0] / t[1], lambda share: share), bounds=(0.0, 1.0))
    found = estimate([1.0] * 54 + [0.95] * 5 + [0.0], aggregation)
    assert found.interval is not None
    beyond = estimate([1.0] * 54 + [0.95] * 5 + [0.0], replace(aggregation, bounds=UNBOUNDED))
    assert beyond.interval is not None
    assert beyond.interval[1] > 1 >= found.interval[1]
    assert found.interval[0] == beyond.interval[0]


FAR = ([1.0] * 30, [-1.0] * 18 + [-0.9, -0.5, 0.4, -0.3, 0.1, -0.8, -1.0, -1.0, 0.8, -0.7, -0.6, -1.0])


def test_a_difference_is_no_larger_than_the_range_allows() -> None:
    free, cut = (paired_difference(*FAR, bounds=bounds) for bounds in (UNBOUNDED, SSIM))
    assert free.limit == math.inf
    assert cut.limit == 2
    assert cut.interval == within(free.interval or (0, 0), (-2, 2))


@pytest.mark.parametrize("labels", [None, [place // 2 for place in range(24)]])
def test_a_difference_without_a_range_is_not_cut(labels: list[int] | None) -> None:
    """Of decibels, say: that none of the differences is above 1 does not mean that the mean cannot be."""
    second = np.full(24, 30.0)
    first = second + np.array([1.0] * 18 + [0.5, 0.7, 0.9, 0.3, 0.8, -0.9])
    alone = paired_difference(first.tolist(), second.tolist(), clusters=labels)
    partition = None if labels is None else Partition.of(labels)
    spread = difference_spread(first, second, partition)
    group = group_difference([MemberDifference(1.0, first - second, spread, partition, alone.limit)])
    assert alone.interval is not None
    assert alone.interval[1] > 1
    assert group.interval == pytest.approx(alone.interval)


def test_a_group_of_shares_differs_by_one_at_most() -> None:
    first = np.array([1.0] * 20 + [0.95, 0.9, 0.8, 0.99, 0.7])
    second = np.array([0.0] * 20 + [0.3, 0.0, 0.1, 0.05, 0.2])
    alone = paired_difference(first.tolist(), second.tolist())
    group = group_difference(
        [MemberDifference(1.0, first - second, difference_spread(first, second, None), None, alone.limit)]
    )
    assert alone.limit == 1
    assert group.interval is not None
    assert group.interval[1] <= 1
