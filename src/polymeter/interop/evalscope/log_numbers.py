"""The results of EvalScope's reports, and the names of their metrics.

In 0.17 a metric has one name, in reports and in samples. Version 1.x takes a name apart into metric, aggregation and
dimensions when it reports; here it has the name that it has in samples.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from polymeter.core.logs import StatedResult
from polymeter.interop.evalscope.v1.types.identities import PRODUCER_ALIASES, snake_case

_DECIMALS = 4
_STATISTICS = {"recall": "R", "precision": "P", "f1": "F"}
_RISING = ("Average", "WeightedAverage", "Pass@")


def stated_results(report: Mapping[str, Any], means: Mapping[str, float]) -> Iterator[StatedResult]:
    """The results of a report: each metric over all samples, then of each subset where there are several.

    Version 1.x takes the mean over all answers that have a score. Where some of a sample's repeats have none, that is
    no mean of samples: then the number of that name is, which can be compared, and the stated one stands beside it.

    Args:
        report: A report; empty: there is none.
        means: The mean of each metric over the samples, where that may differ from what is stated.
    """
    for metric in _metrics_in_order(report):
        name, rises = metric_name(metric), _direction(metric)
        subsets = [
            subset
            for category in metric.get("categories") or ()
            for subset in category.get("subsets") or ()
            if not subset.get("is_aggregate")
        ]
        if name in means and not _is_rounded(metric.get("score"), means[name]):
            yield StatedResult(name, "none", means[name], higher_is_better=rises)
            name = f"{name}/as_stated"
        for path, part in ((), metric), *(((str(one.get("name")),), one) for one in subsets if len(subsets) > 1):
            yield StatedResult(
                name,
                "none",
                part.get("score"),
                path,
                n=part.get("num"),
                higher_is_better=rises,
                decimals=_DECIMALS,
            )


def _metrics_in_order(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The metrics, the main one first."""
    main = report.get("primary_metric_identity")
    return sorted(report.get("metrics") or (), key=lambda metric: main is not None and metric.get("identity") != main)


def metric_name(metric: Mapping[str, Any]) -> str:
    """The name of a metric. Version 1.x takes a name apart into metric, aggregation and dimensions; BLEU and ROUGE have
    the names here that they have in samples.
    """
    identity = metric.get("identity")
    if not isinstance(identity, Mapping):
        return str(metric.get("name"))
    if metric.get("legacy_name"):
        return str(metric["legacy_name"])
    aggregation = str(identity.get("aggregation") or "mean")
    axes = identity.get("dimensions") or {}
    name = str(identity.get("name"))
    if aggregation == "mean" and name == "bleu" and axes.keys() == {"ngram"}:
        return f"bleu-{axes['ngram']}"
    if aggregation == "mean" and name == "rouge" and axes.get("statistic") in _STATISTICS and len(axes) == 2:
        return f"Rouge-{axes.get('ngram', 'L')}-{_STATISTICS[axes['statistic']]}"
    dimensions = [f"{key}={value}" for key, value in sorted(axes.items())]
    return "/".join([name, *([aggregation] if aggregation not in ("mean", "identity") else []), *dimensions])


def _direction(metric: Mapping[str, Any]) -> bool | None:
    direction = (metric.get("semantics") or {}).get("direction")
    if direction in ("higher_is_better", "lower_is_better"):
        return bool(direction == "higher_is_better")
    return True if str(metric.get("name")).startswith(_RISING) else None


def _is_rounded(stated: Any, mean: float) -> bool:
    return isinstance(stated, (int, float)) and math.isclose(stated, mean, abs_tol=0.6 * 10**-_DECIMALS)


def reported_name(name: str, reported: Collection[str]) -> str:
    """The name by which a report calls a number of samples.

    Args:
        name: Its name in samples.
        reported: The names of the report's metrics.
    """
    plain = snake_case(name)
    other = PRODUCER_ALIASES.get(plain, plain)
    return other if name not in reported and other in reported else name
