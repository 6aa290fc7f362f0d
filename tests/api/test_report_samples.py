"""How many samples the HTML report of a run shows, in every way to ask for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate, open_run, resume, score
from polymeter.core.errors import PlanError

TASK = """
task: counted
dataset_path: json
dataset_kwargs: {data_files: {test: rows.json}}
test_split: test
doc_to_text: question
doc_to_target: answer
"""
N = 8


@pytest.fixture
def task(tmp_path: Path) -> str:
    rows = [{"question": f"What follows {number}?", "answer": str(number + 1)} for number in range(N)]
    (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    file = tmp_path / "counted.yaml"
    file.write_text(TASK)
    return str(file)


def n_shown(run: Any) -> int:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', run.report.read_text(), re.S)
    assert found is not None
    return len(json.loads(found[1])["samples"])


def test_a_run_and_what_goes_on_with_it_take_a_number_or_all(task: str, tmp_path: Path) -> None:
    run = evaluate("mock", task, output=tmp_path / "run", report_samples=3)
    assert n_shown(run) == 3
    assert "3 of 8 samples are in this report: first the worst" in run.report.read_text()
    resume(tmp_path / "run", report_samples="all")
    assert n_shown(run) == N
    assert n_shown(score(tmp_path / "run", output=tmp_path / "again", report_samples=2)) == 2
    opened = open_run(tmp_path / "again")
    opened.write_report(samples=5)
    assert n_shown(opened) == 5
    opened.write_report()
    assert n_shown(opened) == 2


def test_as_many_as_fit_are_shown_where_nobody_names_a_number(task: str, tmp_path: Path) -> None:
    assert n_shown(evaluate("mock", task, output=tmp_path / "run")) == N


def test_a_number_of_samples_that_is_none_is_refused(task: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="report_samples"):
        evaluate("mock", task, output=tmp_path / "run", report_samples=0)
    run = evaluate("mock", task, output=tmp_path / "run")
    with pytest.raises(PlanError, match="report_samples"):
        run.write_report(samples=0)


def test_a_run_that_ended_early_shows_as_many_as_it_was_told(task: str, tmp_path: Path) -> None:
    failing = {"failure": "permanent", "failure_rate": 1.0, "batch_size": 1}
    run = evaluate("mock", task, model_args=failing, output=tmp_path / "run", max_errors=4, report_samples=2)
    assert run.status == "stopped"
    assert n_shown(run) == 2
    assert "All are in journal.db of the run folder" in run.report.read_text()
