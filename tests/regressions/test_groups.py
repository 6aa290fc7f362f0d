"""A group that lacks a member says so everywhere, and ``--strict`` fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.regressions.scored_tasks import group, polymeter, run, task


def lost_group(folder: Path, values: dict[str, float | None], *, is_weighted: bool = False) -> None:
    """A group of tasks of four samples that all have one value, or none."""
    for name, value in values.items():
        task(folder, name, [value] * 4)
    group(folder, [*values], is_weighted=is_weighted)


def measure(folder: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run the group; what the command said, and its first result."""
    done, results = run(folder, "--tasks", "all", "--include-path", ".", *more)
    return done, results["groups"]["all"]["results"][0]


LOST = {"one": 0.2, "two": None, "three": 0.9}


def test_a_group_that_lacks_a_member_says_so_in_table_report_and_results(tmp_path: Path) -> None:
    lost_group(tmp_path, LOST)
    done, found = measure(tmp_path)
    assert abs(found["value"] - 0.55) < 1e-9
    assert (found["n_members"], found["failed_members"]) == (3, ["two"])
    assert found["interval"] is None
    assert "INCOMPLETE" in done.stdout
    assert "two" in done.stdout.split("INCOMPLETE", 1)[1]
    assert "INCOMPLETE" in (tmp_path / "run" / "report.html").read_text()


def test_a_weighted_group_that_lacks_a_member_says_so(tmp_path: Path) -> None:
    lost_group(tmp_path, LOST, is_weighted=True)
    done, found = measure(tmp_path)
    assert found["failed_members"] == ["two"]
    assert "INCOMPLETE" in done.stdout


def test_strict_fails_for_an_incomplete_group_on_run_resume_and_score(tmp_path: Path) -> None:
    lost_group(tmp_path, LOST)
    done, _ = measure(tmp_path, "--strict")
    assert done.returncode == 1
    assert "--strict" in done.stderr
    assert polymeter(tmp_path, "resume", "run", "--strict").returncode == 1
    assert polymeter(tmp_path, "score", "run", "--output", "again", "--strict").returncode == 1
    resumed = polymeter(tmp_path, "resume", "run")  # fails too, but because a task has nothing that is scored
    assert "--strict" not in resumed.stderr


def test_strict_accepts_a_whole_group(tmp_path: Path) -> None:
    lost_group(tmp_path, {"one": 0.2, "two": 0.4})
    done, found = measure(tmp_path, "--strict")
    assert done.returncode == 0, done.stderr
    assert (found["n_members"], found["failed_members"]) == (2, [])
    assert "INCOMPLETE" not in done.stdout


ADAPTER = """\
import json
import os

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import EvalType


@Benchmark.register(
    name="capitals",
    dataset_id="capitals",
    model_adapter="generation",
    subset_list=["near", "far"],
    metric_list=["AverageAccuracy"],
    few_shot_num=0,
    eval_split="test",
    prompt_template="{query}",
)
class Capitals(DataAdapter):
    def load_from_disk(self, dataset_path, subset_list, work_dir, **kwargs):
        rows = [{"question": str(i), "answer": "x"} for i in range(4)]
        return {subset: {"test": [{**row, "part": subset} for row in rows]} for subset in subset_list}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return input_d["answer"] + input_d["part"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result

    def match(self, gold, pred):
        if gold.endswith("far"):
            raise ValueError("no such answer")
        return 1.0
"""


def test_a_task_that_lacks_a_subset_says_so(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "capitals_adapter.py").write_text(ADAPTER)
    (tmp_path / "data").mkdir()
    done, results = run(tmp_path, "--tasks", "capitals", "--include-path", "benchmarks", "--data", "capitals=data")
    (found,) = (
        result
        for one in results["tasks"].values()
        for result in one["results"]
        if not result["subset"] and result["value"] is not None
    )
    assert found.get("failed_members") == ["far"], done.stderr
    assert found["interval"] is None
    assert "INCOMPLETE" in done.stdout
    assert "INCOMPLETE" in (tmp_path / "run" / "report.html").read_text()
