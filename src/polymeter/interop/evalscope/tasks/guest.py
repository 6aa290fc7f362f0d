"""Loading the file of a benchmark: what its code finds without importing it, and what it registers."""

from __future__ import annotations

import logging
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.task import TaskSpec
from polymeter.guests.authors import load_authors_file
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, Benchmark, BenchmarkMeta


def supplied_names() -> dict[str, Any]:
    """Names that a benchmark's file may use without importing them, because published listings do."""
    import typing

    from polymeter.interop.evalscope.tasks import constants, filters, named_metrics, parsers, report, scores
    from polymeter.interop.evalscope.tasks.base import DataAdapter
    from polymeter.judge import LLMJudge

    names: dict[str, Any] = {
        "Benchmark": Benchmark,
        "BenchmarkMeta": BenchmarkMeta,
        "DataAdapter": DataAdapter,
        "Filter": filters.Filter,
        "LLMJudge": LLMJudge,
        "Metric": named_metrics.Metric,
        "Report": report.Report,
        "ReportKey": report.ReportKey,
        "ResponseParser": parsers.ResponseParser,
        "exact_match": scores.exact_match,
        "get_logger": get_logger,
        "logger": get_logger(),
        "mean": scores.mean,
        "metric_registry": named_metrics.metric_registry,
        "weighted_mean": scores.weighted_mean,
    }
    for name in ("AnswerKeys", "EvalType", "HubType", "JudgeStrategy", "OutputType", "DEFAULT_DATASET_CACHE_DIR"):
        names[name] = getattr(constants, name)
    for name in ("Any", "Callable", "Dict", "Iterable", "List", "Optional", "Sequence", "Set", "Tuple", "Union"):
        names[name] = getattr(typing, name)
    return names


def get_logger(*args: Any, **kwargs: Any) -> logging.Logger:
    """The logger of benchmarks' own code. Arguments (files, levels) are the run's business and are not used."""
    return logging.getLogger("polymeter.benchmarks")


def load_meta(spec: TaskSpec) -> BenchmarkMeta:
    """What the file of a benchmark registers under its name. Runs the file, unless the user has run it himself.

    Raises:
        PlanError: The file fails to load, needs a package that is not installed, or registers no such name.
    """
    known = BENCHMARK_MAPPINGS.by_users().get(spec.name)
    if known is None or known != spec.file:
        load_authors_file(spec.file, supplied_names)
    meta = BENCHMARK_MAPPINGS.in_file(spec.name, spec.file)
    if meta is None:
        raise PlanError(
            f"{spec.file.name} does not register a benchmark {spec.name!r}.",
            where=str(spec.file),
            hint="Its Benchmark.register(...) is not reached when the file is loaded.",
        )
    return meta
