"""A small task as files and the command line as a user has it, for tests of endpoints that misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polymeter as polymeter_module

LIMIT_S = 60
_YAML = """\
task: said
dataset_path: json
dataset_kwargs: {{data_files: {{test: said.jsonl}}}}
test_split: test
output_type: {kind}
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
{more}
metric_list: [{{metric: {metric}, aggregation: mean, higher_is_better: true}}]
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what its run folder tells."""

    code: int
    said: str
    folder: Path

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.folder / "run.json").read_text())  # type: ignore[no-any-return]

    @property
    def task(self) -> dict[str, Any]:
        return json.loads((self.folder / "results.json").read_text())["tasks"]["said"]  # type: ignore[no-any-return]

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The samples by question."""
        (file,) = (self.folder / "samples").glob("*.jsonl")
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        return {row["doc"]["question"]: row for row in rows}


def where_known(option: str, *words: str, otherwise: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Words of the command line, or others where Polymeter does not have the option yet: what is red there is then what
    it does, and not that it does not know a flag.

    Args:
        option: A field of ``RunOptions``.
        words: The words that need it.
        otherwise: The words for a version without it.
    """
    return words if option in polymeter_module.RunOptions.model_fields else otherwise


def task_folder(folder: Path, questions: list[str], *, choices: bool = False) -> Path:
    """A task whose right answers are ``right``; with ``choices`` it compares log-probabilities."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"question": question, "answer": 0 if choices else "right"} for question in questions]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    more = 'doc_to_choice: ["A", "B"]' if choices else "generation_kwargs: {max_new_tokens: 8}"
    kind, metric = ("multiple_choice", "acc") if choices else ("generate_until", "exact_match")
    (folder / "said.yaml").write_text(_YAML.format(kind=kind, more=more, metric=metric))
    return folder


def polymeter(*arguments: str, folder: Path, **env: str) -> Ended:
    """Run ``python -m polymeter`` to its end; ``folder`` is the run folder."""
    child = _start(*arguments, **env)
    try:
        out, err = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    return Ended(child.returncode, out + err, folder)


def run(model: str, tasks: Path, output: Path, *more: str, **env: str) -> Ended:
    """Measure a model on the task."""
    return polymeter(*_measuring(model, tasks, output, *more), folder=output, **env)


def started(
    model: str, tasks: Path, output: Path, *more: str, stderr: int = subprocess.PIPE, **env: str
) -> subprocess.Popen[str]:
    """Begin to measure a model on the task."""
    return _start(*_measuring(model, tasks, output, *more), stderr=stderr, **env)


def first_line(child: subprocess.Popen[str], start: str) -> str:
    """The first line with this start that a command writes on standard error, which is then killed; else empty."""
    alarm = threading.Timer(LIMIT_S / 3, child.kill)
    alarm.start()
    try:
        return next((line for line in child.stderr or () if line.startswith(start)), "")
    finally:
        child.kill()
        child.communicate()
        alarm.cancel()


def _measuring(model: str, tasks: Path, output: Path, *more: str) -> list[str]:
    named = ["--tasks", "said", "--include-path", str(tasks), "--output", str(output)]
    return ["run", "--model", model, *named, *more]


def _start(*arguments: str, stderr: int = subprocess.PIPE, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "polymeter", *arguments]
    whole: Mapping[str, str] = {**os.environ, "HF_HUB_OFFLINE": "1", "NO_PROXY": "*", **env}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=whole)


def resume(ended: Ended, **env: str) -> Ended:
    """Go on with a run."""
    return polymeter("resume", str(ended.folder), folder=ended.folder, **env)
