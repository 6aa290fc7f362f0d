"""Reports of EvalScope 1.x: trees, meanings, primary metrics, tables and older names. The JSON files hold what
EvalScope 1.14.1 gives for the same scores.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.shim.evalscope.reports import gen_table as gen_table_of
from polymeter.interop.evalscope.v1.report.formatting import (
    format_metric_label,
    format_metric_labels,
    format_metric_value,
)
from polymeter.interop.evalscope.v1.report.generator import ReportGenerator, check_primary
from polymeter.interop.evalscope.v1.report.semantics import (
    MetricDirection,
    MetricKind,
    MetricSemantics,
    ValueRange,
    get_semantics_resolver,
    semantics_of,
)
from polymeter.interop.evalscope.v1.report.tables import (
    gen_table,
    get_report_list,
    percentage_weighted_average_from_subsets,
    unweighted_average_from_subsets,
    weighted_average_from_subsets,
)
from polymeter.interop.evalscope.v1.report.tree import EvaluationReport, ReportCategory, ReportMetric, ReportSubset
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, MetricSelector
from polymeter.interop.evalscope.v1.types.scores import AggScore

HERE = Path(__file__).parent
VALUES = [0, 1, 0.5, 0.12345, -0.00004, 12.3456, 1.005, None]


def _seen(name: str) -> list[Any]:
    found: list[Any] = json.loads((HERE / name).read_text("utf-8"))
    return found


def _report(case: dict[str, Any]) -> EvaluationReport:
    primary = case["primary"]
    adapter = SimpleNamespace(
        name=case["name"],
        pretty_name=case["title"],
        description="d",
        category_map=case["categories"],
        primary_metric=None if primary is None else MetricSelector(**primary),
    )
    scores = {subset: [AggScore(**own) for own in scores] for subset, scores in case["scores"].items()}
    return ReportGenerator.generate_report(score_dict=scores, model_name="m", data_adapter=adapter)


@pytest.mark.parametrize("case", _seen("reports.json"), ids=lambda case: case["name"])
def test_a_report_and_its_table_are_as_there(case: dict[str, Any]) -> None:
    if case["report"] is None:
        with pytest.raises(ValueError, match="primary"):
            _report(case)
        return
    report = _report(case)
    found = json.loads(report.to_json_str())
    found["primary_metric_unavailable_reason"] = found["primary_metric_unavailable_reason"] is not None
    for metric, seen in zip(found["metrics"], case["report"]["metrics"], strict=True):
        metric["semantics"] = {key: metric["semantics"][key] for key in seen["semantics"]}
    assert found == case["report"]
    assert list(found) == list(case["report"]), "the order of the fields"
    assert gen_table(report_list=[report], add_overall_metric=True) == case["table"]
    assert EvaluationReport.from_dict(json.loads(report.to_json_str())) == report


@pytest.mark.parametrize("case", _seen("meanings.json"), ids=lambda case: f"{case[0]}:{case[1]}")
def test_a_meaning_and_its_texts_are_as_there(case: list[Any]) -> None:
    name, aggregation, dimensions, meaning, title, label, values = case
    identity = MetricIdentity(name=name, aggregation=aggregation, dimensions=dimensions)
    found = semantics_of("x", identity)
    assert (found.semantic_id, found.metric_name, format_metric_label(identity, found)) == (meaning, title, label)
    assert [format_metric_value(value, found) for value in VALUES] == values


@pytest.mark.parametrize("case", _seen("older_names.json"), ids=lambda case: f"{case[1]}-{case[0]}")
def test_an_older_name_is_read_as_there(case: list[Any]) -> None:
    name, benchmark, key, meaning, kept = case
    data = {"name": "m@b", "dataset_name": benchmark, "model_name": "m", "metrics": [{"name": name, "categories": []}]}
    metric = EvaluationReport.from_dict(data).metrics[0]
    assert (metric.identity.key, metric.semantics.semantic_id, metric.legacy_name) == (key, meaning, kept)


def test_an_older_report_keeps_its_scores_and_finds_its_primary_metric() -> None:
    subset = {"name": "s", "score": 0.25, "num": 4}
    data = {
        "name": "m@b",
        "dataset_name": "b",
        "model_name": "m",
        "score": 0.25,
        "metrics": [
            {"name": "AverageAccuracy", "categories": [{"name": "c", "subsets": [subset]}]},
            {"name": "note", "categories": []},
        ],
    }
    report = EvaluationReport.from_dict(data)
    assert (report.score, report.num, report.schema_version) == (0.25, 4, 2)
    assert report.primary_metric is report.metrics[0]


def test_equal_labels_have_their_key_behind_them() -> None:
    pairs = [
        (own, semantics_of("x", own))
        for own in (
            MetricIdentity(name="accuracy", aggregation="mean"),
            MetricIdentity(name="fact_acc", aggregation="mean"),
        )
    ]
    labels = format_metric_labels(pairs)
    assert labels == {"accuracy:mean": "Accuracy ↑ (accuracy:mean)", "fact_acc:mean": "Accuracy ↑ (fact_acc:mean)"}


def test_a_meaning_that_contradicts_itself_is_refused() -> None:
    own = {"semantic_id": "x", "metric_name": "x", "kind": MetricKind.QUALITY}
    for fields in (
        {"direction": MetricDirection.NONE},
        {"direction": "higher_is_better", "display_name": "x"},
        {"direction": "higher_is_better", "display_kind": "percent"},
        {"direction": "higher_is_better", "display_multiplier": 0.0},
        {"direction": "higher_is_better", "display_precision": -1},
    ):
        with pytest.raises(ValueError, match=r"x|greater"):
            MetricSemantics(**own, **fields)
    with pytest.raises(ValueError, match="min less than max"):
        ValueRange(min=1, max=1)


def test_an_author_asks_the_table() -> None:
    found = get_semantics_resolver().resolve("poly_math", MetricIdentity(name="accuracy", aggregation="weighted_mean"))
    assert found.semantics.semantic_id == "quality.accuracy.ratio"
    assert not found.degraded
    assert get_semantics_resolver().resolve("x", MetricIdentity(name="unheard", aggregation="mean")).degraded


def test_several_metrics_that_grade_need_a_primary_one() -> None:
    identities = [MetricIdentity(name=name, aggregation="mean") for name in ("accuracy", "f1")]
    with pytest.raises(ValueError, match=r"2 metrics grade.*accuracy:mean, f1:mean.*Set primary_metric"):
        check_primary("b", identities, None)
    check_primary("b", identities, MetricSelector(name="f1"))
    with pytest.raises(ValueError, match=r"matches notes:mean, which grades nothing"):
        check_primary("b", [MetricIdentity(name="notes", aggregation="mean")], MetricSelector(name="notes"))


def test_bayes_is_of_one_subset_and_no_scores_are_an_error() -> None:
    number = {"metric_name": "acc", "aggregation": "bayes_at_n", "score": 0.5, "num": 2}
    case = {"name": "b", "title": "", "categories": {}, "primary": None}
    with pytest.raises(ValueError, match="Bayes@N is of one subset"):
        _report({**case, "scores": {"a": [number], "b": [number]}})
    with pytest.raises(ValueError, match="no scores"):
        _report({**case, "scores": {"a": []}})


def test_a_report_checks_its_primary_metric() -> None:
    meaning = semantics_of("b", MetricIdentity(name="accuracy", aggregation="mean"))
    metric = ReportMetric(identity=MetricIdentity(name="accuracy", aggregation="mean"), semantics=meaning)
    with pytest.raises(ValueError, match="is in the report 0 times"):
        EvaluationReport(metrics=[metric], primary_metric_identity=MetricIdentity(name="f1", aggregation="mean"))
    with pytest.raises(ValueError, match="a reason why it has none"):
        EvaluationReport(
            metrics=[metric], primary_metric_identity=metric.identity, primary_metric_unavailable_reason="why"
        )


def test_a_given_score_stays_and_summaries_count_nowhere() -> None:
    identity = MetricIdentity(name="accuracy", aggregation="mean")
    subsets = [
        ReportSubset(name="a", score=0.123456, num=1),
        ReportSubset(name="ALL", score=1, num=9, is_aggregate=True),
    ]
    category = ReportCategory(name="c", subsets=subsets)
    assert (category.name, category.num, category.score) == (("c",), 1, 0.1235)
    given = ReportMetric(identity=identity, semantics=semantics_of("b", identity), categories=[category], score=0.7)
    assert (given.score, given.macro_score, given.num) == (0.7, 0.1235, 1)
    only = ReportCategory(name="c", subsets=subsets[1:])
    metric = ReportMetric(identity=identity, semantics=semantics_of("b", identity), categories=[only, category])
    assert metric.macro_score == 0.1235, "a category without samples is no part of the mean"


def test_averages_of_subsets() -> None:
    subsets = {"a": ReportSubset(score=1, num=1), "b": ReportSubset(score=0.5, num=3), "c": ReportSubset(num=0)}
    names = ["a", "b", "c", "missing"]
    weighted = weighted_average_from_subsets(names, subsets, "w")
    assert (weighted.name, weighted.score, weighted.num) == ("w", 0.625, 4)
    assert unweighted_average_from_subsets(names, subsets).score == 0.75
    assert percentage_weighted_average_from_subsets(names, subsets, [10, 30, 0, 60]).score == 0.625
    assert weighted_average_from_subsets(["missing"], subsets).score == 0
    with pytest.raises(AssertionError, match="4 subsets and 1 weights"):
        percentage_weighted_average_from_subsets(names, subsets, [1])


def test_reports_are_read_from_folders(tmp_path: Path) -> None:
    case = next(case for case in _seen("reports.json") if case["report"] is not None)
    report = _report(case)
    report.to_json(tmp_path / "reports" / "m" / "b.json")
    (tmp_path / "reports" / "other.json").write_text("{}")
    (tmp_path / "broken.json").write_text("{")
    assert get_report_list([tmp_path]) == [report]
    assert gen_table_of([str(tmp_path)]) == gen_table(report_list=[report])
    with pytest.raises(PlanError, match="no reports"):
        gen_table_of([tmp_path / "reports" / "nowhere"])


def test_a_score_that_is_missing_is_null() -> None:
    identity = MetricIdentity(name="accuracy", aggregation="mean")
    subsets = [ReportSubset(name="a", score=float("nan"), num=1), ReportSubset(name="b", score=1.0, num=1)]
    metric = ReportMetric(
        identity=identity, semantics=semantics_of("b", identity), categories=[ReportCategory(name="c", subsets=subsets)]
    )
    assert metric.score == 1.0, "it is left out of the mean"
    written = json.loads(EvaluationReport(metrics=[metric]).to_json_str())
    assert written["metrics"][0]["categories"][0]["subsets"][0]["score"] is None
