"""A group that lacks a member says so everywhere, and ``--strict`` fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}
test_split: test
doc_to_text: "Say {{{{say}}}}"
doc_to_target: want
generation_kwargs: {{max_new_tokens: 8, temperature: 0}}
process_results: !function scores.scored
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
"""
SCORES = """\
def scored(doc, results):
    return {"acc": float("nan") if doc["value"] is None else doc["value"]}
"""


def polymeter(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def group(folder: Path, values: dict[str, float | None], *, is_weighted: bool = False) -> None:
    """A group of tasks of four samples that all have one value, or none."""
    (folder / "scores.py").write_text(SCORES)
    for name, value in values.items():
        rows = [{"say": str(i), "want": "x", "value": value} for i in range(4)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
        (folder / f"{name}.yaml").write_text(TASK.format(name=name))
    (folder / "all.yaml").write_text(
        f"group: all\ntask: [{', '.join(values)}]\naggregate_metric_list:\n"
        f"  - {{metric: acc, aggregation: mean, weight_by_size: {str(is_weighted).lower()}}}\n"
    )


def measure(folder: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run the group; what the command said, and its first result."""
    done = polymeter(
        folder, "run", "--model", "mock", "--tasks", "all", "--include-path", ".", "--output", "run", *more
    )
    assert (folder / "run" / "results.json").exists(), done.stderr
    results = json.loads((folder / "run" / "results.json").read_text())
    return done, results["groups"]["all"]["results"][0]


LOST = {"one": 0.2, "two": None, "three": 0.9}


def test_a_group_that_lacks_a_member_says_so_in_table_report_and_results(tmp_path: Path) -> None:
    group(tmp_path, LOST)
    done, found = measure(tmp_path)
    assert abs(found["value"] - 0.55) < 1e-9
    assert (found["n_members"], found["failed_members"]) == (3, ["two"])
    assert found["interval"] is None
    assert "INCOMPLETE" in done.stdout
    assert "two" in done.stdout.split("INCOMPLETE", 1)[1]
    assert "INCOMPLETE" in (tmp_path / "run" / "report.html").read_text()


def test_a_weighted_group_that_lacks_a_member_says_so(tmp_path: Path) -> None:
    group(tmp_path, LOST, is_weighted=True)
    done, found = measure(tmp_path)
    assert found["failed_members"] == ["two"]
    assert "INCOMPLETE" in done.stdout


def test_strict_fails_for_an_incomplete_group_on_run_resume_and_score(tmp_path: Path) -> None:
    group(tmp_path, LOST)
    done, _ = measure(tmp_path, "--strict")
    assert done.returncode == 1
    assert "--strict" in done.stderr
    assert polymeter(tmp_path, "resume", "run", "--strict").returncode == 1
    assert polymeter(tmp_path, "score", "run", "--output", "again", "--strict").returncode == 1
    assert polymeter(tmp_path, "resume", "run").returncode == 0


def test_strict_accepts_a_whole_group(tmp_path: Path) -> None:
    group(tmp_path, {"one": 0.2, "two": 0.4})
    done, found = measure(tmp_path, "--strict")
    assert done.returncode == 0, done.stderr
    assert (found["n_members"], found["failed_members"]) == (2, [])
    assert "INCOMPLETE" not in done.stdout


def test_a_task_that_lacks_a_subset_says_so() -> None:
    from polymeter.core.task import Result
    from polymeter.engine.groups import mark_lost_subsets

    results = [Result("acc", "none", 0.5, 4), Result("acc", "none", None, 0, ("hard",))]
    assert mark_lost_subsets(results, {("easy",): True, ("hard",): False})[0].failed_members == ("hard",)
