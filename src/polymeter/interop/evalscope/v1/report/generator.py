"""From the numbers of subsets to a report, with the metric that stands for it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polymeter.interop.evalscope.tasks import constants
from polymeter.interop.evalscope.tasks.scoring import report as report_of_0_17
from polymeter.interop.evalscope.v1.report.primary import PrimarySelection, PrimarySelectionStatus, select_primary
from polymeter.interop.evalscope.v1.report.semantics import MetricSemantics, is_known, semantics_of
from polymeter.interop.evalscope.v1.report.tree import EvaluationReport, ReportCategory, ReportMetric, ReportSubset
from polymeter.interop.evalscope.v1.types.identities import (
    MetricIdentity,
    MetricSelector,
    canonicalize_producer_identity,
)
from polymeter.interop.evalscope.v1.types.scores import AggScore

_LOG = logging.getLogger("polymeter")
_BAYES = frozenset({"bayes_at_n", "bayes_at_n_sd"})
_DEFAULT_CATEGORY = ("default",)
Leaves = dict[tuple[str, ...], list[ReportSubset]]
"""Subsets by category."""


class ReportMaker(report_of_0_17.ReportGenerator):
    """Makes reports, also those of 0.17; authors know it as ``ReportGenerator``."""

    @staticmethod
    def generate_report(
        score_dict: Mapping[str, Sequence[AggScore]], model_name: str, data_adapter: Any
    ) -> EvaluationReport:
        """Make the report of a benchmark.

        Args:
            score_dict: Subset → its numbers.
            model_name: The model's name.
            data_adapter: Of it ``name``, ``pretty_name``, ``description``, ``category_map`` and ``primary_metric`` are
                read.

        Raises:
            ValueError: if there is no number; if the primary metric matches several metrics or one that grades nothing;
                if several metrics grade and none is primary; or for numbers of Bayes@N of several subsets.
        """
        name = data_adapter.name
        rows = [(subset, score) for subset, scores in score_dict.items() for score in scores]
        if len(score_dict) != 1 and any(score.aggregation in _BAYES for _, score in rows):
            raise ValueError("Bayes@N is of one subset: the deviations of several cannot be averaged.")
        if not rows:
            raise ValueError(f"Benchmark {name!r} has no scores: no sample was scored, or aggregation gives nothing.")
        tree: dict[str, Leaves] = {}
        identities: dict[str, MetricIdentity] = {}
        for subset, score in rows:
            identity = score.identity
            identities[identity.key] = identity
            levels = data_adapter.category_map.get(subset, _DEFAULT_CATEGORY)
            category = (levels,) if isinstance(levels, str) else tuple(levels)
            leaf = ReportSubset(name=subset, score=score.score, num=score.num, metadata=score.metadata)
            tree.setdefault(identity.key, {}).setdefault(category, []).append(leaf)
        meanings = _meanings(name, list(identities.values()))
        selection = _checked(select_primary(list(identities.values()), meanings, data_adapter.primary_metric))
        return EvaluationReport(
            name=f"{model_name}@{name}",
            metrics=[_metric(identities[key], leaves, meanings[key]) for key, leaves in tree.items()],
            dataset_name=name,
            model_name=model_name,
            dataset_description=data_adapter.description or "",
            dataset_pretty_name=data_adapter.pretty_name or "",
            primary_metric_identity=selection.identity,
            primary_metric_unavailable_reason=selection.unavailable_reason,
        )

    @staticmethod
    def gen_collection_report(df: Any, all_dataset_name: str, model_name: str) -> EvaluationReport:
        """Make the report of a collection of benchmarks.

        Args:
            df: A data frame of samples: ``metric``, ``categories``, ``dataset_name``, ``subset_name``, ``score``.
            all_dataset_name: The collection's name.
            model_name: The model's name.
        """
        columns = ("metric", "categories", "dataset_name", "subset_name", "score")
        rows = (tuple(row[name] for name in columns) for row in df.to_dict("records"))
        return ReportMaker.collection_report(rows, all_dataset_name, model_name)

    @staticmethod
    def collection_report(rows: Iterable[tuple[Any, ...]], all_dataset_name: str, model_name: str) -> EvaluationReport:
        """Make the report of a collection of benchmarks.

        Args:
            rows: Of each sample the metric that leads its score, its categories, benchmark, subset and number.
            all_dataset_name: The collection's name.
            model_name: The model's name.
        """
        scores: dict[str, dict[tuple[str, ...], dict[tuple[str, str], list[float]]]] = {}
        for metric, categories, dataset, subset, score in rows:
            own = scores.setdefault(metric, {}).setdefault(tuple(categories), {})
            own.setdefault((dataset, subset), []).append(score)
        metrics = []
        for metric, by_category in scores.items():
            identity = canonicalize_producer_identity(metric, "mean")
            leaves: Leaves = {
                category: [
                    ReportSubset(name="/".join(member), score=sum(values) / len(values), num=len(values))
                    for member, values in sorted(members.items())
                ]
                for category, members in by_category.items()
            }
            metrics.append(_metric(identity, leaves, semantics_of(all_dataset_name, identity)))
        meanings = {metric.identity.key: metric.semantics for metric in metrics}
        selection: PrimarySelection = select_primary([metric.identity for metric in metrics], meanings, None)
        return EvaluationReport(
            name=constants.DataCollection.NAME,
            metrics=metrics,
            dataset_name=all_dataset_name,
            model_name=model_name,
            primary_metric_identity=selection.identity,
            primary_metric_unavailable_reason=selection.unavailable_reason,
        )


ReportGenerator = ReportMaker
"""The name by which authors know it."""


def check_primary(name: str, identities: Sequence[MetricIdentity], selector: MetricSelector | None) -> None:
    """Check that one of the metrics that a benchmark will report stands for the report, before anything is asked.

    Args:
        name: The benchmark's name.
        identities: The metrics, as far as they are known.
        selector: The benchmark's choice.

    Raises:
        ValueError: if the choice matches several or one that grades nothing, or several grade and none is chosen.
    """
    meanings = {identity.key: semantics_of(name, identity) for identity in identities}
    _refuse(select_primary(identities, meanings, selector))


def _metric(identity: MetricIdentity, leaves: Leaves, semantics: MetricSemantics) -> ReportMetric:
    categories = [ReportCategory(name=category, subsets=leaves[category]) for category in sorted(leaves)]
    return ReportMetric(identity=identity, categories=categories, semantics=semantics)


def _meanings(benchmark: str, identities: Sequence[MetricIdentity]) -> dict[str, MetricSemantics]:
    for identity in identities:
        if not is_known(benchmark, identity):
            _LOG.warning("The metric %s of %s is shown and grades nothing.", identity.key, benchmark)
    return {identity.key: semantics_of(benchmark, identity) for identity in identities}


def _checked(selection: PrimarySelection) -> PrimarySelection:
    _refuse(selection)
    if selection.unavailable_reason is not None:
        _LOG.warning("%s", selection.unavailable_reason)
    return selection


def _refuse(selection: PrimarySelection) -> None:
    if selection.status in (PrimarySelectionStatus.AMBIGUOUS, PrimarySelectionStatus.DIAGNOSTIC):
        raise ValueError(f"{selection.unavailable_reason} Set primary_metric of BenchmarkMeta.")
