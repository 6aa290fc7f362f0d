"""A list that a template prints is one answer, shown and compared as it is written, unless all its items are texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.yaml.kit import ask, open_in, score, text_of

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases/printed_lists.json").read_text(encoding="utf-8")
)["cases"]


def task_of(folder: Path, case: dict[str, Any], *more: str) -> Any:
    """The opened task of a case."""
    (folder / case["file"]).write_text(case["text"], encoding="utf-8")
    builder = "csv" if case["file"].endswith(".csv") else "json"
    lines = [
        "task: t",
        f"dataset_path: {builder}",
        f"dataset_kwargs: {{data_files: {{train: {case['file']}}}}}",
        "test_split: train",
        'doc_to_text: "{{a}}"',
        f"doc_to_target: {json.dumps(case['target'])}",
        "metric_list: [{metric: exact_match}]",
        *more,
    ]
    (folder / "t.yaml").write_text("\n".join(lines) + "\n")
    return open_in(folder)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_printed_list(tmp_path: Path, case: dict[str, Any]) -> None:
    task = task_of(tmp_path, case)
    for answer, right in case["answers"].items():
        scored = score(task, 0, answer)
        assert [*scored.values.values()] == [right], (answer, case["why"])
        assert scored.target == case["shown"], case["why"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_printed_list_in_an_example(tmp_path: Path, case: dict[str, Any]) -> None:
    first, _, row = case["text"].strip().rpartition("\n")
    again = row.replace("1", "8", 1)
    case = {**case, "text": f"{first}\n{row}\n{again}\n".lstrip()}
    task = task_of(tmp_path, case, "fewshot_split: train", "num_fewshot: 1")
    assert text_of(ask(task, 0)).startswith(f"8 {case['example']}\n")
