"""The report tree: scores at every level, JSON, data frames, and the printed grid."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.interop.evalscope.shim.evalscope.reports import gen_table as gen_table_of
from polymeter.interop.evalscope.tasks.scoring.report import (
    Category,
    Metric,
    Report,
    ReportGenerator,
    ReportKey,
    Subset,
)
from polymeter.interop.evalscope.tasks.scoring.report_tables import gen_table, get_data_frame, get_report_list


def adapter(**category_map: Any) -> SimpleNamespace:
    return SimpleNamespace(name="quiz", pretty_name="Quiz", description="Questions.", category_map=category_map)


def entry(score: Any, num: int, name: str = "AverageAccuracy") -> dict[str, Any]:
    return {"metric_name": name, "score": score, "num": num}


@pytest.fixture
def report() -> Report:
    scores = {
        "history": [entry(1 / 3, 3), entry(0.9, 3, "Other")],
        "algebra": [entry(0.5, 4)],
        "geometry": [entry(1.0, 1)],
    }
    category_map = {"algebra": ["maths", "pure"], "geometry": ["maths", "pure"], "history": "arts"}
    return ReportGenerator.gen_report(scores, "model", adapter(**category_map))


def test_tree(report: Report) -> None:
    assert (report.name, report.dataset_name, report.dataset_pretty_name) == ("model@quiz", "quiz", "Quiz")
    assert [metric.name for metric in report.metrics] == ["AverageAccuracy", "Other"]
    first = report.metrics[0]
    assert [category.name for category in first.categories] == [("arts",), ("maths", "pure")]
    assert [subset.name for subset in first.categories[1].subsets] == ["algebra", "geometry"]


def test_every_level_is_rounded_before_it_is_averaged(report: Report) -> None:
    metric = report.metrics[0]
    arts, maths = metric.categories
    assert arts.subsets[0].score == 0.3333
    assert (maths.num, maths.score, maths.macro_score) == (5, 0.6, 0.75)
    assert (metric.num, metric.score) == (8, round((0.3333 * 3 + 0.6 * 5) / 8, 4))
    assert metric.macro_score == round((0.3333 + 0.6) / 2, 4), "the mean of categories, not of subsets"
    assert report.score == metric.score


def test_json_shape_and_way_back(report: Report, tmp_path: Path) -> None:
    file = tmp_path / "reports" / "model" / "quiz.json"
    report.to_json(file)
    data = json.loads(file.read_text(encoding="utf-8"))
    assert list(data) == [
        "name",
        "dataset_name",
        "dataset_pretty_name",
        "dataset_description",
        "model_name",
        "score",
        "metrics",
        "analysis",
    ]
    assert list(data["metrics"][0]) == ["name", "num", "score", "macro_score", "categories"]
    assert data["metrics"][0]["categories"][1] == {
        "name": ["maths", "pure"],
        "num": 5,
        "score": 0.6,
        "macro_score": 0.75,
        "subsets": [{"name": "algebra", "score": 0.5, "num": 4}, {"name": "geometry", "score": 1.0, "num": 1}],
    }
    assert data["analysis"] == "N/A"
    assert Report.from_json(file) == report
    assert report.to_json_str() == file.read_text(encoding="utf-8")


def test_scores_that_an_adapter_set_are_read_as_written(report: Report, tmp_path: Path) -> None:
    report.score = 0.77
    report.metrics[0].categories[1].macro_score = 0.5
    report.metrics[1].score = math.nan
    report.to_json(tmp_path / "quiz.json")
    assert Report.from_json(tmp_path / "quiz.json").score == report.metrics[0].score
    read = Report.as_written(tmp_path / "quiz.json")
    assert read.score == 0.77
    assert read.metrics[0].categories[1].macro_score == 0.5
    assert math.isnan(read.metrics[1].score)
    assert read.to_json_str() == report.to_json_str()


def test_a_subset_without_a_score_is_null_and_in_no_mean() -> None:
    found = ReportGenerator.gen_report({"a": [entry(math.nan, 0)], "b": [entry(0.5, 2)]}, "m", adapter())
    assert found.score == 0.5
    assert found.metrics[0].categories[0].macro_score == 0.5
    data = json.loads(found.to_json_str())
    assert data["metrics"][0]["categories"][0]["subsets"][0]["score"] is None
    assert math.isnan(Report.from_dict(data).metrics[0].categories[0].subsets[0].score)


def test_nodes_by_hand() -> None:
    category = Category(name="one", subsets=[Subset("a", 1, 1), Subset("b", 0.12345, 1)])  # type: ignore[arg-type]
    assert category.name == ("one",)
    assert category.subsets[1].score == 0.1235 or category.subsets[1].score == 0.1234
    assert Report(metrics=[Metric(name="m", categories=[category])]).name == "default_report"


def test_what_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="'default_report' has no metric"):
        Report()
    with pytest.raises(ScoreError, match=r"metric 'AverageAccuracy' is dict, not a number\. \[subset 'a'\]"):
        ReportGenerator.gen_report({"a": [entry({"x": 1}, 1)]}, "m", adapter())
    with pytest.raises(DataError, match="This is not a report: 'name'"):
        Report.from_dict({})
    (tmp_path / "x.json").write_text("[1")
    with pytest.raises(DataError, match=r"x\.json holds no report"):
        Report.from_json(tmp_path / "x.json")


GRID = """\
+-----------------------+-----------+-----------------+------------------+-------+---------+---------+
| Model                 | Dataset   | Metric          | Subset           |   Num |   Score | Cat.0   |
+=======================+===========+=================+==================+=======+=========+=========+
| Qwen2.5-0.5B-Instruct | mmlu_pro  | AverageAccuracy | computer science |    10 |     0.1 | default |
+-----------------------+-----------+-----------------+------------------+-------+---------+---------+
| Qwen2.5-0.5B-Instruct | mmlu_pro  | AverageAccuracy | math             |    10 |     0.1 | default |
+-----------------------+-----------+-----------------+------------------+-------+---------+---------+"""
OVERALL = """
| Qwen2.5-0.5B-Instruct | mmlu_pro  | AverageAccuracy | OVERALL          |    20 |     0.1 | -       |
+-----------------------+-----------+-----------------+------------------+-------+---------+---------+"""


def test_the_printed_grid() -> None:
    benchmark = SimpleNamespace(name="mmlu_pro", pretty_name="", description="", category_map={})
    scores = {"computer science": [entry(0.1, 10)], "math": [entry(0.1, 10)]}
    found = ReportGenerator.gen_report(scores, "Qwen2.5-0.5B-Instruct", benchmark)
    assert gen_table(report_list=[found]) == GRID
    assert gen_table(report_list=[found], add_overall_metric=True) == GRID + OVERALL


def test_data_frame(report: Report) -> None:
    frame = report.to_dataframe(add_overall_metric=True)
    assert list(frame.columns) == ["Model", "Dataset", "Metric", "Subset", "Num", "Score", "Cat.0", "Cat.1"]
    assert list(frame[ReportKey.subset_name]) == ["history", "algebra", "geometry", "OVERALL", "history"]
    assert list(frame["Cat.0"]) == ["arts", "maths", "maths", "-", "arts"]
    assert list(frame["Cat.1"]) == [None, "pure", "pure", None, None]
    overall = frame[frame["Subset"] == "OVERALL"].iloc[0]
    assert (overall["Num"], overall["Score"]) == (8, report.score)


def test_views_of_a_data_frame(report: Report) -> None:
    nested = report.to_dataframe(flatten_categories=False)
    assert list(nested.columns) == ["Model", "Dataset", "Metric", "Category", "Subset", "Num", "Score"]
    assert nested["Category"][1] == ("maths", "pure")
    assert set(report.to_dataframe(flatten_metrics=False)["Metric"]) == {"AverageAccuracy"}
    assert len(get_data_frame([report, report])) == 8


def test_reports_in_folders(report: Report, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for model in ("b", "a"):
        report.model_name = model
        report.to_json(tmp_path / "reports" / model / "quiz.json")
    (tmp_path / "other.json").write_text("{}")
    assert [found.model_name for found in get_report_list([tmp_path])] == ["a", "b"]
    assert "other.json holds no report" in caplog.text
    table = gen_table_of(reports_path_list=[tmp_path])
    assert table.index("| a ") < table.index("| b ")


def test_a_table_of_nothing(tmp_path: Path) -> None:
    for make in (
        lambda: gen_table_of(reports_path_list=[tmp_path]),
        lambda: gen_table_of(),
        lambda: get_data_frame([]),
    ):
        with pytest.raises(PlanError, match="There are no reports to make a table of"):
            make()
