"""Tasks whose samples have given values, for tests that look at numbers from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
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
  - {{metric: {metric}, aggregation: mean, higher_is_better: true}}
"""
SCORES = """\
def scored(doc, results):
    return {doc["metric"]: float("nan") if doc["value"] is None else doc["value"]}
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


def run(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run tasks of a folder; what the command said, and the content of ``results.json``."""
    done = polymeter(folder, "run", "--model", "mock", "--output", "run", *words)
    assert (folder / "run" / "results.json").exists(), done.stderr
    found: dict[str, Any] = json.loads((folder / "run" / "results.json").read_text())
    return done, found


def task(
    folder: Path,
    name: str,
    values: Sequence[float | None],
    metric: str = "acc",
    *,
    more: str = "",
    columns: Sequence[dict[str, Any]] = (),
) -> None:
    """A task whose samples have the given values (``None``: no score), and further lines and columns."""
    rows = [{"say": str(i), "want": "x", "value": value, "metric": metric} for i, value in enumerate(values)]
    for row, own in zip(rows, columns, strict=False):
        row.update(own)
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / f"{name}.yaml").write_text(TASK.format(name=name, metric=metric) + more)
    (folder / "scores.py").write_text(SCORES)


def group(folder: Path, members: Sequence[str], *, name: str = "all", is_weighted: bool = False) -> None:
    """A group of tasks."""
    (folder / f"{name}.yaml").write_text(
        f"group: {name}\ntask: [{', '.join(members)}]\naggregate_metric_list:\n"
        f"  - {{metric: acc, aggregation: mean, weight_by_size: {str(is_weighted).lower()}}}\n"
    )


def result_of(results: dict[str, Any], name: str) -> dict[str, Any]:
    """The first result of a task or group."""
    holder = results["tasks"].get(name) or results["groups"][name]
    found: dict[str, Any] = holder["results"][0]
    return found
