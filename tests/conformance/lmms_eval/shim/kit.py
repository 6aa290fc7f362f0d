"""Helpers: a task folder whose scoring is somebody's ``utils.py``, run as a whole."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polymeter
from polymeter.api.result import RunResult
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.tasks.yaml.kit import write, write_rows

ROWS = [{"q": f"question {i}", "a": f"answer {i}"} for i in range(4)]
YAML = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: rows.jsonl}}
test_split: train
doc_to_text: q
doc_to_target: a
process_results: !function utils.process_results
metric_list:
  - metric: {metric}
    aggregation: {aggregation}
    higher_is_better: true
"""


def folder_of(
    folder: Path,
    code: str,
    *,
    name: str = "judged",
    metric: str = "score",
    aggregation: str = "mean",
    rows: Sequence[Mapping[str, Any]] = ROWS,
) -> Path:
    """Write a task folder."""
    write_rows(folder, rows)
    return write(
        folder,
        {
            "utils.py": textwrap.dedent(code),
            f"{name}.yaml": YAML.format(name=name, metric=metric, aggregation=aggregation),
        },
    )


def run(
    folder: Path,
    output: Path,
    *,
    tasks: Sequence[str] = ("judged",),
    answer: Callable[[Request], str] = lambda request: request.text.replace("question", "answer"),
    judge: Callable[[Request], Any] | None = None,
    **options: Any,
) -> RunResult:
    """Evaluate tasks of a folder on a mock, with another mock as the judge."""
    roles = {"judge": MockBatch(judge, identity={"backend": "mock", "compute": "judge"})} if judge else {}
    return polymeter.evaluate(
        MockBatch(answer, identity={"backend": "mock", "compute": "answers"}),
        list(tasks),
        include_paths=(folder,),
        output=output,
        roles=roles,
        cache_dir=output.parent / "cache",
        **options,
    )
