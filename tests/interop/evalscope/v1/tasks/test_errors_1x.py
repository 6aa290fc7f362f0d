"""Errors of EvalScope 1.x's adapters: what is wrong, where and what to do; if possible before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError, PolymeterError
from polymeter.models.mock import MockBatch
from tests.helpers.adapters_1x import write_adapter

LEAN = """
def __init__(self, **kwargs):
    super().__init__(**kwargs)
    self.save_metadata = False
"""


def run(adapter: Path, **options: Any) -> list[str]:
    """Run an adapter and return what was asked."""
    asked: list[str] = []

    def compute(request: Any) -> str:
        asked.append(request.text)
        return "Paris"

    output = adapter.parent / "run"
    try:
        polymeter.evaluate(MockBatch(compute, identity={"backend": "mock"}), [str(adapter)], output=output, **options)
    except PolymeterError:
        assert not asked
        raise
    return asked


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"remove_untill": "x"}, "Filter 'remove_untill' is not registered. Did you mean 'remove_until'"),
        ({"regex": {"regex_patern": "x"}}, "Making the filters of benchmark 'capitals' raised TypeError"),
    ],
)
def test_a_filter_that_cannot_be_made_is_an_error_before_anything_is_sent(
    tmp_path: Path, filters: dict[str, Any], says: str
) -> None:
    with pytest.raises(PlanError, match=says):
        run(write_adapter(tmp_path, filters=filters))
    with pytest.raises(PlanError, match=says):
        run(
            write_adapter(tmp_path / "changed"),
            dialect_options={"adapter_1x": {"dataset_args": {"capitals": {"filters": filters}}}},
        )


def test_filters_of_an_adapter_that_does_not_filter_so_are_its_own(tmp_path: Path) -> None:
    body = "def filter_prediction(self, prediction, task_state):\n    return prediction"
    assert run(write_adapter(tmp_path, body, filters={"mine": 1}))


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (None, "Benchmark 'capitals' names no prompt_template, and its samples' inputs are texts"),
        ("{question} {hint}", r"The prompt_template of benchmark 'capitals' cannot be filled: no value for \{hint\}"),
        ("{question} {", "The prompt_template of benchmark 'capitals' cannot be filled: Single '{'"),
    ],
)
def test_a_template_that_cannot_be_filled_is_named(tmp_path: Path, template: str | None, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        run(write_adapter(tmp_path, prompt_template=template))


@pytest.mark.parametrize(
    ("made", "says"),
    [("dict(input='x')", "gave a dict"), ("[Sample(input='x'), 3]", "gave a list with a int"), ("None", "a NoneType")],
)
def test_something_else_than_a_sample_is_named(tmp_path: Path, made: str, says: str) -> None:
    with pytest.raises(DataError, match=f"record_to_sample gave|{says}") as raised:
        run(write_adapter(tmp_path, f"def record_to_sample(self, record):\n    return {made}"))
    assert says in str(raised.value)


def test_a_score_that_is_no_number_leaves_its_sample_without_a_score(tmp_path: Path) -> None:
    body = """
    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        score = Score()
        score.value = {"exact_match": "high" if reference == "Rome" else 1}
        return score
    """
    run(write_adapter(tmp_path, body))
    results = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["capitals"]
    (own,) = results["results"]
    assert (own["value"], own["n"]) == (1.0, 2)
    assert (
        "has 'high' as 'exact_match'" in json.dumps(results)
        or "has 'high' as 'exact_match'" in (tmp_path / "run" / "samples" / "capitals.jsonl").read_text()
    )


def test_an_error_of_code_that_was_made_is_at_the_line_that_called_it(tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path, metric_list=["acc", "f1"], primary_metric="bleu")
    with pytest.raises(PlanError, match="primary_metric='bleu' is not in metric_list") as raised:
        run(adapter)
    assert str(raised.value.where).startswith(f"{adapter}:")


def test_numbers_of_arrays_are_numbers(tmp_path: Path) -> None:
    body = """
    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        import numpy as np
        score = Score()
        score.value = {"exact_match": np.array(["Paris"])[0:1] == reference, "n": np.int64(2)}
        score.value["exact_match"] = score.value["exact_match"][0]
        return score
    """
    run(write_adapter(tmp_path, body))
    results = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["capitals"]["results"]
    assert {one["metric"]: one["value"] for one in results} == {"exact_match": pytest.approx(1 / 3), "n": 2}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"filters": "x"}, "'filters' must be a mapping, not 'x'"),
        ({"extra_params": [1]}, "'extra_params' must be a mapping"),
        ({"aggregation": 5}, "'aggregation' must be a text"),
        ({"prompt_template": 5}, "'prompt_template' must be a text"),
        ({"metric_list": [5]}, "'metric_list' must be a list of names, not one with 5"),
        ({"shuffle": "yes"}, "'shuffle' must be true or false"),
        ({"name": "x"}, "'name' is the author's"),
        ({"data_adapter": 1}, "'data_adapter' is the author's"),
        ({"primary_metric": {"nam": "exact_match"}}, "primary_metric.name: Field required"),
        ({"primary_metric": 5}, "'primary_metric' must be a name"),
    ],
)
def test_a_change_of_a_run_that_cannot_be_is_the_runs_error(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError, match=says) as raised:
        run(write_adapter(tmp_path), dialect_options={"adapter_1x": {"dataset_args": {"capitals": changes}}})
    assert raised.value.where == "dataset_args of 'capitals'"


def test_a_run_selects_the_primary_metric_by_a_mapping(tmp_path: Path) -> None:
    changes = {
        "aggregation": "mean_and_pass_at_k",
        "primary_metric": {"name": "exact_match", "aggregation": "pass_at_k", "dimensions": {"k": 1}},
    }
    run(write_adapter(tmp_path), dialect_options={"adapter_1x": {"dataset_args": {"capitals": changes}}})
    (report,) = (tmp_path / "run").glob("**/reports/*/capitals.json")
    assert json.loads(report.read_text())["primary_metric_identity"]["aggregation"] == "pass_at_k"


def test_samples_without_a_verdict_count_in_the_judges_coverage(tmp_path: Path) -> None:
    body = """
    scoring_policy = __import__("evalscope.constants", fromlist=["ScoringPolicy"]).ScoringPolicy.JUDGE_ONLY
    """

    def judge(request: Any) -> str:
        return '{"reasoning": "", "verdict": "A"}' if "Italy" in request.text else "I cannot tell."

    run(
        write_adapter(tmp_path, body, metric_list=["acc"]),
        roles={"judge": MockBatch(judge, identity={"backend": "judge"})},
        dialect_options={"adapter_1x": {"judge": {"repeats": 2}}},
    )
    (report,) = (tmp_path / "run").glob("**/reports/*/capitals.json")
    summary = json.loads(report.read_text())["judge_summary"]
    assert (summary["status"], summary["scored"], summary["total"]) == ("degraded", 1, 3)
    assert (summary["valid_observations"], summary["total_observations"]) == (2, 6)


def test_a_load_that_gives_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="The method load of benchmark 'capitals' gave a NoneType"):
        run(write_adapter(tmp_path, "def load(self):\n    return None"))


@pytest.mark.parametrize(("body", "held"), [("", {"river": "Seine"}), (LEAN, {})])
def test_files_of_a_run_hold_the_metadata_that_an_adapter_saves(tmp_path: Path, body: str, held: Any) -> None:
    rows = [{"question": "the capital of France", "answer": "Paris", "more": {"river": "Seine"}}]
    run(write_adapter(tmp_path, body, rows=rows))
    folder = polymeter.export(tmp_path / "run", "evalscope-1", output=tmp_path / "files").folder
    lines = [json.loads(file.read_text()) for file in sorted(Path(folder).glob("*/*/*.jsonl"))]
    assert [lines[0]["metadata"], lines[1]["sample_score"]["sample_metadata"]] == [held] * 2
