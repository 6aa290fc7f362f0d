"""Thresholds: which numbers a run must reach, and what is refused before anything is asked."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import polymeter
from polymeter.api.thresholds import missed_thresholds
from polymeter.core.errors import PlanError
from tests.report.synthetic import result, task

ROWS = "country,capital\nFrance,Paris\nJapan,Tokyo\nKenya,Nairobi\n"
YAML = """
task: capitals.v1
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
doc_to_text: "What is the capital of {{country}}?"
doc_to_target: capital
metric_list: [{metric: exact_match}]
"""
GROUP = """
group: places
task: [capitals.v1]
aggregate_metric_list: [{metric: exact_match, weight_by_size: true}]
"""


def results_of(*found: dict) -> dict:
    return {"tasks": {"a.b": task("A", [*found], 10)}, "groups": {"a": {"results": [result("f1", 0.25, 10)]}}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "capitals.csv").write_text(ROWS)
    (tmp_path / "capitals.yaml").write_text(YAML)
    (tmp_path / "places.yaml").write_text(GROUP)
    return tmp_path


def evaluate(place: Path, thresholds: dict, **options):
    arguments = {"model_args": {"answer": "Paris"}, "include_paths": [place], "output": place / "run", **options}
    return polymeter.evaluate("mock", "places", fail_under=thresholds, **arguments)


@pytest.mark.parametrize(
    ("name", "least", "said"),
    [
        ("a.b.acc", 0.5, None),
        ("a.b.acc", 0.51, "a.b.acc is 0.5000, below 0.51."),
        ("a.b.acc", 0.50001, "a.b.acc is 0.5, below 0.50001."),
        ("a.f1", 0.25, None),
        ("a.f1", 0.3, "a.f1 is 0.2500, below 0.3."),
        ("a.b.wer", 0.2, None),
        ("a.b.wer", 0.1, "a.b.wer is 0.2000, above 0.1; lower is better."),
        ("a.b.both/x", 0.9, None),
        ("a.b.both/y", 0.9, "a.b.both/y is 0.1000, below 0.9."),
        ("a.b.read", 0.5, "a.b.read (strict) is 0.4000, below 0.5."),
        ("a.b.read,loose", 0.5, None),
        ("a.b.lost", 0.0, "a.b.lost has no value."),
        ("a.b.psnr", 30, None),
        ("a.b.text", 30, "a.b.text has no value."),
        ("a.b.gone", 0.1, "a.b.gone is not among the results."),
        ("nobody.acc", 0.1, "nobody.acc is not among the results."),
    ],
)
def test_a_number_reaches_its_threshold_or_is_named(name: str, least: float, said: str | None) -> None:
    results = results_of(
        result("acc", 0.5, 10),
        {**result("acc", 0.0, 2), "subset": ["part"]},
        result("wer", 0.2, 10, higher_is_better=False),
        result("both", {"x": 1.0, "y": 0.1}, 10),
        {**result("read", 0.4, 10), "filter": "strict"},
        {**result("read", 0.9, 10), "filter": "loose"},
        result("lost", math.nan, 0),
        result("psnr", "Infinity", 10),
        result("text", "fine", 10),
    )
    assert missed_thresholds({name: least}, results) == ([] if said is None else [said])


def test_a_missed_threshold_is_exit_code_3(place: Path) -> None:
    reached = evaluate(place, {"capitals.v1.exact_match": 0.3, "places.exact_match": 0.3})
    assert (reached.exit_code, reached.missed) == (0, ())
    again = evaluate(place, {"capitals.v1.exact_match": 0.3, "places.exact_match": 0.4})
    assert (again.exit_code, again.missed) == (3, ("places.exact_match is 0.3333, below 0.4.",))
    resumed = polymeter.resume(place / "run", fail_under={"places.exact_match": 0.4})
    scored = polymeter.score(place / "run", fail_under={"places.exact_match": 0.4})
    assert (resumed.exit_code, scored.exit_code) == (3, 3)


def test_failed_samples_stay_exit_code_1(place: Path) -> None:
    failed = evaluate(place, {"places.exact_match": 0.9}, model_args={"failure": "permanent", "failure_rate": 1.0})
    assert failed.n_failed == 3
    assert failed.missed
    assert failed.exit_code == 1


@pytest.mark.parametrize(
    ("name", "least", "said"),
    [
        ("capital.exact_match", 0.5, "There is no task or group 'capital' in this run. Did you mean 'capitals.v1'?"),
        ("exact_match", 0.5, "There is no task or group 'exact_match' in this run. It has capitals.v1, places."),
        ("capitals.v1.exact_mach", 0.5, "'capitals.v1' has no metric 'exact_mach'. Did you mean 'exact_match'?"),
        ("places.f1", 0.5, "'places' has no metric 'f1'. It has exact_match."),
        ("places.exact_match", math.nan, "The threshold of 'places.exact_match' is nan, which is not a number."),
        ("places.exact_match", "0.5", "The threshold of 'places.exact_match' is '0.5', which is not a number."),
    ],
)
def test_what_the_run_cannot_have_is_refused_before_it_begins(place: Path, name: str, least: float, said: str) -> None:
    with pytest.raises(PlanError) as raised:
        evaluate(place, {name: least})
    assert f"{raised.value.what} {raised.value.hint}".startswith(said)
    assert not (place / "run").exists()
