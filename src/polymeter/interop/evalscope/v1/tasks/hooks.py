"""The hooks that an adapter's author has written, and the checks of its metrics before its data is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from polymeter.core.errors import PlanError, boundary
from polymeter.interop.evalscope.v1.adapters.data_adapter import metric_of, names_of
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.constants import JudgeStrategy
from polymeter.interop.evalscope.v1.registries import AGGREGATION_REGISTRY, FILTER_REGISTRY, METRIC_REGISTRY, Registry
from polymeter.interop.evalscope.v1.report.generator import check_primary
from polymeter.interop.evalscope.v1.report.legacy_names import migrate_legacy_identity
from polymeter.interop.evalscope.v1.scoring.metric_base import SingletonMetric
from polymeter.interop.evalscope.v1.types.identities import METRIC_LIST_ALIASES

_SEVERAL = 2
_AGGREGATES = ("aggregate_scores", "aggregate_subset")
_REPORTS = ("generate_report", "_on_generate_report")
_SCORES = ("match_score", "calculate_metrics")
_ALL_METRICS = ("metric_list", "metric_names")
"""Names by which code uses all metrics of a registration."""


def writes(adapter: Any, *names: str) -> bool:
    """Return whether an author has written one of these hooks."""
    cls = type(adapter)
    return any(getattr(cls, name, None) is not getattr(DefaultDataAdapter, name) for name in names)


def aggregates_itself(adapter: Any) -> bool:
    """Return whether scores are aggregated by code of an author's."""
    hooks = (getattr(type(adapter), name) for name in _AGGREGATES)
    return any(not hook.__module__.startswith("polymeter.") for hook in hooks)


def is_judged(adapter: Any) -> bool:
    """Return whether a judge may be asked."""
    return bool(adapter.use_llm_judge or adapter.judge_strategy == JudgeStrategy.LLM_RECALL)


def has_rounds(adapter: Any) -> bool:
    """Return whether the author leads a conversation, whose later questions answer what the model said."""
    return writes(adapter, "run_inference", "_on_inference")


def compares_with_targets(adapter: Any) -> bool:
    """Return whether only registered metrics, which compare with the reference, score it."""
    return not (is_judged(adapter) or adapter.use_batch_scoring or writes(adapter, *_SCORES))


def check_metrics(adapter: Any) -> None:
    """Check that the filters, the metrics and the aggregation of a benchmark exist, and that one metric matters most.

    Raises:
        PlanError: if they do not, or several would be reported and none is primary.
    """
    names = names_of(adapter.metric_list)
    if not writes(adapter, "filter_prediction"):
        _make_filters(adapter)
    if not writes(adapter, *_SCORES) and not (is_judged(adapter) and not adapter.scoring_policy.rule_supported):
        if not names:
            raise PlanError(
                f"Benchmark {adapter.name!r} has no metric_list.", hint="Name a metric, or write match_score."
            )
        for entry in adapter.metric_list:
            _make_metric(adapter.name, *metric_of(entry))
    if writes(adapter, *_AGGREGATES):
        return
    _look_up(AGGREGATION_REGISTRY, adapter.aggregation, adapter.name)
    if adapter.primary_metric is not None or adapter.aggregation != "mean" or writes(adapter, *_REPORTS):
        return
    names = [name for name in names if not writes(adapter, *_SCORES) or _gives(adapter, name)]
    if len(names) < _SEVERAL:
        return
    identities = [migrate_legacy_identity(name, "mean", benchmark_name=adapter.name) for name in names]
    try:
        check_primary(adapter.name, list(dict.fromkeys(identities)), None)
    except ValueError as error:
        raise PlanError(
            f"Benchmark {adapter.name!r} has several metrics and no primary one. {error}",
            hint=f"Set primary_metric={names[0]!r} in its BenchmarkMeta, or in dataset_args.",
        ) from error


def _gives(adapter: Any, metric: str) -> bool:
    """Return whether the code by which an author scores names a metric, or all of the registration's."""
    codes = [getattr(getattr(type(adapter), hook, None), "__code__", None) for hook in _SCORES if writes(adapter, hook)]
    words = {word for code in codes if code is not None for word in _words_of(code)}
    spellings = {name for name, canonical in METRIC_LIST_ALIASES.items() if canonical == metric}
    return bool(words & {metric, *spellings, *_ALL_METRICS})


def _words_of(code: CodeType) -> Iterator[str]:
    """The names and the texts in compiled code, and in the functions within."""
    yield from code.co_names
    waiting = list(code.co_consts)
    while waiting:
        constant = waiting.pop()
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            waiting.extend(constant)
        elif isinstance(constant, CodeType):
            yield from _words_of(constant)


def _make_filters(adapter: Any) -> None:
    """Make the filters of answers once, so that a name or an argument that they do not know is found at once.

    Raises:
        PlanError: if one does not exist, or cannot be made.
    """
    for name in adapter.filters or ():
        _look_up(FILTER_REGISTRY, name, adapter.name)
    with boundary(PlanError, f"Making the filters of benchmark {adapter.name!r}"):
        _ = adapter.filter_ensemble


def _make_metric(benchmark: str, name: str, arguments: Mapping[str, Any]) -> None:
    """Make a metric once, so that a package that it needs is missed at once; one that loads a model is only looked up.

    Raises:
        PlanError: if it does not exist, or cannot be made.
    """
    metric = _look_up(METRIC_REGISTRY, name, benchmark)
    if not (isinstance(metric, type) and issubclass(metric, SingletonMetric)):
        with boundary(PlanError, f"Metric {name!r} of benchmark {benchmark!r}"):
            metric(**arguments)


def _look_up(registry: Registry, name: str, benchmark: str) -> Any:
    try:
        return registry.lookup(name)
    except ValueError as error:
        raise PlanError(str(error), where=f"BenchmarkMeta of {benchmark!r}") from error
