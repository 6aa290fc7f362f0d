"""A training as a tracker sees it: a folder with checkpoints, each a file of answers for the mock model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.analysis.tracking.tracking import WaitClock

N = 60
MODEL_ARGS = {"answers": "{checkpoint}/answers.json"}
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}
test_split: test
doc_to_text: "What is {{{{question}}}}?"
doc_to_target: answer
metric_list: [{{metric: exact_match}}]
"""


def write_task(folder: Path, name: str = "sums") -> Path:
    """A task of ``N`` sums."""
    rows = [{"question": f"{i} + {i}", "answer": str(2 * i)} for i in range(N)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / f"{name}.yaml").write_text(TASK.format(name=name), encoding="utf-8")
    return folder / f"{name}.yaml"


def save(folder: Path, step: int, n_right: int, start: int = 0) -> Path:
    """A checkpoint that gets so many sums right, beginning with one of them."""
    checkpoint = folder / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True, exist_ok=True)
    right = {(start + i) % N for i in range(n_right)}
    answers = {str(i): str(2 * i) if i in right else "no" for i in range(N)}
    (checkpoint / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    return checkpoint


class Time:
    """A clock that only sleeping moves, and what happens while somebody sleeps.

    Args:
        happens: What to do at each sleep, the first one first. Later ones end the test.
    """

    def __init__(self, *happens: Any) -> None:
        self._happens = list(happens)
        self.slept: list[float] = []
        self._now = 0.0

    def waiting(self, **times: float) -> WaitClock:
        return WaitClock(sleep=self._sleep, clock=lambda: self._now, now=lambda: 4e9 + self._now, **times)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds
        if not self._happens:
            raise AssertionError("nothing is left to happen")
        happening = self._happens.pop(0)
        if isinstance(happening, BaseException):
            raise happening
        happening()


def values(document: Mapping[str, Any], name: str = "sums") -> dict[int, float]:
    """The values of a task's first metric, by step."""
    line = next(line for line in document["lines"] if line["name"] == name and line["is_main"])
    return {point["step"]: point["value"] for point in line["points"]}


def differences(document: Mapping[str, Any], name: str = "sums") -> dict[int, dict[str, Any]]:
    """The differences of a task's first metric, by step."""
    line = next(line for line in document["lines"] if line["name"] == name and line["is_main"])
    return {point["step"]: point["difference"] for point in line["points"] if point["difference"]}
