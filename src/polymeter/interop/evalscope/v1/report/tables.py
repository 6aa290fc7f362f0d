"""Tables of reports of schema 2: data frames, and the grid that is printed; and averages of subsets."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.interop.evalscope.tasks.scoring.report import ReportKey
from polymeter.interop.evalscope.tasks.scoring.report_tables import get_data_frame
from polymeter.interop.evalscope.v1.report.formatting import (
    format_metric_label,
    format_metric_labels,
    format_metric_value,
)
from polymeter.interop.evalscope.v1.report.tree import EvaluationReport, ReportMetric, ReportSubset

if TYPE_CHECKING:
    import pandas

_LOG = logging.getLogger("polymeter")
_NO_CATEGORY = frozenset({"", "-", "default"})
_COLLECTION_FILE = "collection_detailed_report.json"


def get_report_list(reports_path_list: Iterable[str | Path]) -> list[EvaluationReport]:
    """Return the reports in folders and all folders below, by model and benchmark. JSON that is no report is skipped,
    with a warning if it looks like one.
    """
    reports = []
    for folder in reports_path_list:
        for file in sorted(Path(folder).rglob("*.json")):
            if file.name == _COLLECTION_FILE:
                continue
            try:
                data = json.loads(file.read_text(encoding="utf-8"))
                if _is_report(data):
                    reports.append(EvaluationReport.from_dict(data))
            except (OSError, ValueError) as error:
                _LOG.warning("%s holds no report: %s", file, error)
    return sorted(reports, key=lambda report: (report.model_name, report.dataset_name))


def get_display_data_frame(
    report_list: Sequence[EvaluationReport],
    flatten_metrics: bool = True,
    flatten_categories: bool = True,
    add_overall_metric: bool = False,
) -> pandas.DataFrame:
    """Return the same table as readers see it: labels of metrics, values with units, names of benchmarks, and only
    categories that say something.

    Raises:
        PlanError: if there are no reports.
    """
    table = get_data_frame(report_list, flatten_metrics, flatten_categories, add_overall_metric)
    if ReportKey.metric_name in table.columns:
        titles = {(report.model_name, report.dataset_name): report.dataset_pretty_name for report in report_list}
        metrics = {
            (report.model_name, report.dataset_name, metric.name): (metric, label)
            for report in report_list
            for metric, label in _labels(report)
        }
        keys = list(
            zip(table[ReportKey.model_name], table[ReportKey.dataset_name], table[ReportKey.metric_name], strict=True)
        )
        table[ReportKey.metric_name] = [metrics[key][1] for key in keys]
        table[ReportKey.score] = [
            format_metric_value(float(score), metrics[key][0].semantics)
            for key, score in zip(keys, table[ReportKey.score], strict=True)
        ]
        table[ReportKey.dataset_name] = [titles[key[:2]] or key[1] for key in keys]
    return _with_telling_categories(table)


def gen_table(report_list: Sequence[EvaluationReport], **options: bool) -> str:
    """Return reports as one table in a grid of lines.

    Args:
        report_list: The reports.
        **options: As of ``get_display_data_frame``.

    Raises:
        PlanError: if there are no reports.
    """
    from tabulate import tabulate

    table = get_display_data_frame(report_list, **options)
    return str(tabulate(table, headers=table.columns, tablefmt="simple_grid", showindex=False))


def weighted_average_from_subsets(
    subset_names: Sequence[str], subset_dict: Mapping[str, ReportSubset], new_name: str = ""
) -> ReportSubset:
    """Return a subset with the mean over the samples of those subsets that there are; 0 of none."""
    own = [subset_dict[name] for name in subset_names if name in subset_dict]
    count = sum(subset.num for subset in own)
    total = sum(subset.score * subset.num for subset in own)
    return ReportSubset(name=new_name, score=total / count if count > 0 else 0, num=count)


def unweighted_average_from_subsets(
    subset_names: Sequence[str], subset_dict: Mapping[str, ReportSubset], new_name: str = ""
) -> ReportSubset:
    """Return a subset with the plain mean of those subsets that have samples; 0 of none."""
    own = [subset_dict[name] for name in subset_names if name in subset_dict and subset_dict[name].num > 0]
    score = sum(subset.score for subset in own) / len(own) if own else 0
    return ReportSubset(name=new_name, score=score, num=sum(subset.num for subset in own))


def percentage_weighted_average_from_subsets(
    subset_names: Sequence[str], subset_dict: Mapping[str, ReportSubset], weights: Sequence[float], new_name: str = ""
) -> ReportSubset:
    """Return a subset with the mean of those subsets that there are, by weights, which are made to add up to 1.

    Raises:
        AssertionError: if there are not as many weights as names, or they add up to nothing.
    """
    if len(subset_names) != len(weights):
        raise AssertionError(f"There are {len(subset_names)} subsets and {len(weights)} weights.")
    own = [
        (subset_dict[name], weight) for name, weight in zip(subset_names, weights, strict=True) if name in subset_dict
    ]
    if not own:
        return ReportSubset(name=new_name, score=0, num=0)
    total = sum(weight for _, weight in own)
    if total <= 0:
        raise AssertionError(f"The weights of {new_name!r} add up to {total}.")
    score = sum(subset.score * (weight / total) for subset, weight in own)
    return ReportSubset(name=new_name, score=score, num=sum(subset.num for subset, _ in own))


def _labels(report: EvaluationReport) -> list[tuple[ReportMetric, str]]:
    labels = format_metric_labels((metric.identity, metric.semantics) for metric in report.metrics)
    return [
        (
            metric,
            format_metric_label(metric.identity, metric.semantics, metric.legacy_name)
            if metric.legacy_name
            else labels[metric.identity.key],
        )
        for metric in report.metrics
    ]


def _with_telling_categories(table: pandas.DataFrame) -> pandas.DataFrame:
    columns = [column for column in table.columns if column.startswith(ReportKey.category_prefix)]
    telling = []
    for column in columns:
        shown = [_category(value) for value in table[column]]
        if all(value == "-" for value in shown):
            table = table.drop(columns=column)
        else:
            table[column] = shown
            telling.append(column)
    if len(telling) == 1:
        return table.rename(columns={telling[0]: ReportKey.category_name})
    return table.rename(columns={name: f"{ReportKey.category_name} {n}" for n, name in enumerate(telling, 1)})


def _category(value: Any) -> str:
    is_text = isinstance(value, str)
    return value if is_text and value.strip().casefold() not in _NO_CATEGORY else "-"


def _is_report(data: Any) -> bool:
    if not isinstance(data, Mapping) or not {"name", "dataset_name", "model_name"} <= data.keys():
        return False
    has_parts = any(isinstance(data.get(part), Mapping) for part in ("perf_metrics", "execution_summary"))
    return has_parts or (isinstance(data.get("metrics"), list) and bool(data["metrics"]))
