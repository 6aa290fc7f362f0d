"""Rows to results."""

import math
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polymeter.core.errors import ScoreError
from polymeter.core.metric import Aggregation
from polymeter.core.names.registries import AGGREGATIONS
from polymeter.core.task import ReduceContext, Result, SampleStatus, Score, ScoredRow
from polymeter.stats import (
    MetricPlan,
    Partition,
    clustered_standard_error,
    reduce_rows,
    standard_error,
    wilson_interval,
)

CONTEXT = ReduceContext(Path("."))
FAILED = object()


def make_row(index: int, value: Any, *, subset: tuple[str, ...] = (), cluster: str | None = None) -> ScoredRow:
    if value is FAILED:
        return ScoredRow(f"s{index}", index, subset, cluster, SampleStatus.ERROR, None)
    values = (
        value if isinstance(value, dict) and all(isinstance(key, tuple) for key in value) else {("m", "none"): value}
    )
    return ScoredRow(f"s{index}", index, subset, cluster, SampleStatus.OK, Score(values))


def make_rows(
    values: Iterable[Any], subsets: Sequence[str] = (), clusters: Sequence[str | None] = ()
) -> list[ScoredRow]:
    return [
        make_row(i, value, subset=(subsets[i],) if subsets else (), cluster=clusters[i] if clusters else None)
        for i, value in enumerate(values)
    ]


def plan(aggregation: Aggregation | str = "mean", name: str = "m", filter_name: str = "none") -> MetricPlan:
    found = AGGREGATIONS.get(aggregation) if isinstance(aggregation, str) else aggregation
    return MetricPlan(name, filter_name, found, higher_is_better=True)


def reduce_one(
    rows: Iterable[ScoredRow], aggregation: Aggregation | str = "mean", context: ReduceContext = CONTEXT
) -> Result:
    (result,) = reduce_rows(rows, [plan(aggregation)], context)
    return result


def foreign(function: Any, name: str = "utils.aggregate") -> Aggregation:
    return Aggregation(name, function, uncertainty="none")


def test_mean_of_proportion() -> None:
    result = reduce_one(make_rows([1, 0, True, 1.0] * 5))
    assert (result.metric, result.filter, result.subset, result.value, result.n) == ("m", "none", (), 0.75, 20)
    assert result.stderr == pytest.approx(standard_error([1, 0, 1, 1] * 5))
    assert result.interval == pytest.approx(wilson_interval(0.75, 20))
    assert result.ci_method == "score"
    assert (result.stderr_method, result.higher_is_better) == ("mean", True)


def test_mean_of_numbers_has_students_interval() -> None:
    from scipy.stats import t

    result = reduce_one(make_rows([float(i) for i in range(-20, 21)]))
    assert result.stderr is not None
    assert result.interval == pytest.approx(t.interval(0.95, 40, loc=result.value, scale=result.stderr))
    assert result.ci_method == "hall"


def test_failures_missing_keys_and_nan_are_left_out() -> None:
    rows = make_rows([1.0, FAILED, math.nan, {("other", "none"): 1.0}, np.float32("nan"), 0.0])
    for aggregation in ("mean", "median"):
        result = reduce_one(rows, aggregation)
        assert (result.value, result.n) == (0.5, 2)


def test_nothing_scored() -> None:
    result = reduce_one(make_rows([FAILED, math.nan]))
    assert (result.value, result.n, result.stderr, result.interval) == (None, 0, None, None)
    assert reduce_one([]).value is None


def test_one_value_has_no_standard_error() -> None:
    result = reduce_one(make_rows([0.3]))
    assert (result.value, result.stderr, result.interval, result.stderr_method) == (0.3, None, None, None)
    assert result.no_interval == "fewer than 20 samples"


def test_certainty_is_not_claimed() -> None:
    result = reduce_one(make_rows([1.0] * 20))
    assert result.interval == pytest.approx(wilson_interval(1.0, 20))
    constant = reduce_one(make_rows([7.0] * 50))
    assert (constant.interval, constant.no_interval) == (None, "all values are equal and the metric declares no range")


def test_few_clusters_have_no_interval() -> None:
    result = reduce_one(make_rows([i % 3 for i in range(90)], clusters=[str(i // 10) for i in range(90)]))
    assert (result.interval, result.no_interval) == (None, "fewer than 10 clusters")
    sizes = [100, *[1] * 20]
    labels = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    result = reduce_one(make_rows([i % 2 for i in range(120)], clusters=labels))
    assert (result.interval, result.no_interval) == (None, "a few clusters hold most samples")


def test_clusters() -> None:
    values, clusters = [0.2, 0.3, 0.9, 0.8, 0.1], ["a", "a", "b", "b", None]
    result = reduce_one(make_rows(values, clusters=clusters))
    assert result.stderr_method == "clustered"
    assert result.stderr == pytest.approx(clustered_standard_error(values, Partition.of(clusters)))


def test_one_cluster_says_nothing_of_others() -> None:
    result = reduce_one(make_rows([0.2, 0.3, 0.9], clusters=["a"] * 3))
    assert result.stderr_method == "mean"


def test_clustered_proportion_counts_effective_trials() -> None:
    values = [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1] * 4
    wide = reduce_one(make_rows(values, clusters=[str(i // 4) for i in range(48)])).interval
    narrow = reduce_one(make_rows(values)).interval
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > narrow[1] - narrow[0]
    perfect = reduce_one(make_rows([1] * 48, clusters=[str(i // 4) for i in range(48)])).interval
    assert perfect == pytest.approx(wilson_interval(1, 15))  # nothing tells how alike a cluster's members are


def test_subsets_follow_the_whole_in_order_of_appearance() -> None:
    rows = make_rows([1.0, 0.0, 1.0, FAILED], subsets=["b", "a", "b", "c"])
    results = reduce_rows(rows, [plan()], CONTEXT)
    assert [(r.subset, r.value, r.n) for r in results] == [
        ((), 2 / 3, 3),
        (("b",), 1.0, 2),
        (("a",), 0.0, 1),
        (("c",), None, 0),
    ]


def test_a_single_subset_is_the_whole() -> None:
    assert [r.subset for r in reduce_rows(make_rows([1.0, 0.0], subsets=["a", "a"]), [plan()], CONTEXT)] == [()]


def test_rows_are_read_once_and_may_be_an_iterator() -> None:
    passes = 0

    def stream() -> Iterator[ScoredRow]:
        nonlocal passes
        passes += 1
        yield from make_rows([{("m", "none"): 1.0, ("m", "strict"): 0.0}, {("m", "none"): 0.0, ("m", "strict"): 0.0}])

    results = reduce_rows(stream(), [plan(), plan(filter_name="strict"), plan("median")], CONTEXT)
    assert [r.value for r in results] == [0.5, 0.0, 0.5]
    assert passes == 1


def test_dictionaries_of_numbers_become_a_dictionary_of_means() -> None:
    result = reduce_one(make_rows([{"a": 1, "b": 0.5}, {"a": 0, "b": math.nan}, {"a": math.nan}]))
    assert result.value == {"a": 0.5, "b": 0.5}
    assert (result.n, result.stderr) == (2, None)


def test_dictionaries_by_subset() -> None:
    results = reduce_rows(make_rows([{"a": 1}, {"a": 0}, {"b": 1}], subsets=["x", "y", "y"]), [plan()], CONTEXT)
    assert [(r.value, r.n) for r in results] == [
        ({"a": 0.5, "b": 1.0}, 3),
        ({"a": 1.0, "b": None}, 1),
        ({"a": 0.0, "b": 1.0}, 2),
    ]


@pytest.mark.parametrize(
    "value",
    ["yes", None, [1.0], (0, 1), np.array([1.0, 2.0]), {"a": "x"}, {"a": {"b": 1}}],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_not_a_number_has_no_mean(value: Any) -> None:
    with pytest.raises(ScoreError, match=r"Metric 'm' of sample 's1' is .*no mean"):
        reduce_one([make_row(0, math.nan), make_row(1, value)])


def test_numbers_and_dictionaries_do_not_mix() -> None:
    with pytest.raises(ScoreError, match=r"sample 's1' is 1.0"):
        reduce_one(make_rows([{"a": 1}, 1.0]))
    with pytest.raises(ScoreError, match=r"sample 's1' is {'a': 1}"):
        reduce_one(make_rows([1.0, {"a": 1}]))


def test_numpy_scalars_are_numbers() -> None:
    assert reduce_one(make_rows([np.float32(1), np.int64(0), np.bool_(True), np.array(0)])).value == 0.5


def test_a_foreign_aggregation_is_called_once_with_all_values_in_order() -> None:
    calls: list[list[Any]] = []

    def submit(items: list[Any]) -> dict[str, Any]:
        calls.append(list(items))
        items.clear()
        return {"n": np.int64(3), "path": ("a", "b")}

    values = [{"id": 2}, "text", (1, 2)]
    result = reduce_one(make_rows([values[0], FAILED, *values[1:]]), foreign(submit))
    assert calls == [values]
    assert (result.value, result.n, result.stderr) == ({"n": 3, "path": ["a", "b"]}, 3, None)


def test_a_foreign_aggregation_is_called_once_per_subset_too() -> None:
    sizes: list[int] = []
    rows = make_rows([1, 2, 3], subsets=["a", "b", "b"])
    reduce_rows(rows, [plan(foreign(lambda items: sizes.append(len(items))))], CONTEXT)
    assert sizes == [3, 1, 2]


def test_a_foreign_aggregation_is_not_called_on_nothing() -> None:
    assert reduce_one(make_rows([FAILED]), foreign(lambda items: 1 / 0)).value is None


def test_a_foreign_aggregation_that_raises_is_named() -> None:
    def broken(items: list[Any]) -> float:
        raise KeyError("score")

    with pytest.raises(ScoreError, match=r"Aggregation 'utils.broken' of metric 'm'.*raised KeyError") as caught:
        reduce_one(make_rows([1.0]), foreign(broken, "utils.broken"))
    assert Path(__file__).name in caught.value.where


def test_a_nan_of_an_aggregation_is_no_value() -> None:
    result = reduce_one(make_rows([1.0, 2.0]), foreign(lambda items: math.nan))
    assert (result.value, result.n) == (None, 2)


def test_a_mean_that_is_not_the_mean_gets_no_error() -> None:
    percent = Aggregation("percent", lambda items: 100 * sum(items) / len(items), uncertainty="mean")
    result = reduce_one(make_rows([1, 0, 1]), percent)
    assert (result.value, result.stderr, result.interval) == (pytest.approx(200 / 3), None, None)


def test_infinite_values_have_no_error() -> None:
    result = reduce_one(make_rows([math.inf, 1.0]))
    assert (result.value, result.stderr, result.interval) == (math.inf, None, None)


def test_bootstrap_is_seeded_by_what_it_is_for() -> None:
    rows = make_rows(np.random.default_rng(0).normal(size=60).tolist())
    first, again = reduce_one(rows, "median"), reduce_one(rows, "median")
    assert first == again
    assert first.stderr_method == "bootstrap"
    assert first.interval is not None
    assert first.interval[0] < first.value < first.interval[1]
    assert reduce_one(rows, "median", ReduceContext(Path("."), seed=1)).stderr != first.stderr
    both = reduce_rows(rows, [plan("perplexity"), plan("median")], CONTEXT)
    assert both[1] == first


def test_an_aggregation_that_fails_on_a_resample_keeps_its_value() -> None:
    def fragile(items: list[float]) -> float:
        if len(set(items)) < len(items):
            raise ZeroDivisionError
        return max(items)

    result = reduce_one(make_rows([1.0, 2.0, 3.0]), Aggregation("fragile", fragile))
    assert (result.value, result.stderr) == (3.0, None)


@pytest.mark.parametrize(
    ("aggregation", "values"),
    [
        ("f1", [(i % 2, i % 3 % 2) for i in range(60)]),
        ("matthews_corrcoef", [(i % 3, i % 4 % 3) for i in range(60)]),
        ("brier_score", [(i % 2, (i / 80, 1 - i / 80)) for i in range(60)]),
        ("weighted_perplexity", [(-float(i), i + 1) for i in range(60)]),
        ("bits_per_byte", [(-float(i), i + 1) for i in range(60)]),
        ("bleu", [("the cat sat on the mat", f"the cat sat on mat {i % 3}") for i in range(60)]),
        ("acc_all", [(i % 9 > 0, {"idx": {"paragraph": i // 4, "question": 0}, "label": 1}) for i in range(200)]),
    ],
)
@pytest.mark.parametrize("is_clustered", [False, True])
def test_every_resampled_aggregation_has_an_error(aggregation: str, values: list[Any], is_clustered: bool) -> None:
    rows = make_rows(values, clusters=[str(i // 2) for i in range(len(values))] if is_clustered else ())
    result = reduce_one(rows, aggregation)
    assert result.stderr is not None
    assert result.stderr > 0
    assert result.interval is not None
    assert result.interval[0] <= result.value <= result.interval[1]


def test_the_common_path_needs_no_scipy() -> None:
    code = (
        "import sys; from pathlib import Path; from polymeter.core.names.registries import AGGREGATIONS;"
        "from polymeter.core.task import SampleStatus; from polymeter.core.task import ReduceContext, ScoredRow, Score;"
        "from polymeter.stats import MetricPlan, reduce_rows;"
        "rows = [ScoredRow(str(i), i, (), None, SampleStatus.OK, Score({('m', 'none'): i / 50})) for i in range(50)];"
        "reduce_rows(rows, [MetricPlan('m', 'none', AGGREGATIONS.get('mean'), True)], ReduceContext(Path('.')));"
        "print([m for m in ('scipy', 'sklearn', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
