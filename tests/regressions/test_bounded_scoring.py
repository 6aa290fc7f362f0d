"""No answer hangs a run: what scoring may compute is bounded, and a sample beyond it is unscored with the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

YAML = """\
task: hostile
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
generation_kwargs: {max_new_tokens: 8}
"""
HUGE_POWER = "(x+y+z)^{9999}"
"""Expanding it takes hours and more memory than there is."""


def run(folder: Path, *limits: str, seconds: float = 60) -> subprocess.CompletedProcess[str] | None:
    """``polymeter run`` on the task of a folder, with limits where it knows any; ``None`` if it hangs."""
    done = attempted(folder, *limits, seconds=seconds)
    return attempted(folder, seconds=6) if done is not None and "No such option" in done.stderr else done


def attempted(folder: Path, *more: str, seconds: float) -> subprocess.CompletedProcess[str] | None:
    command = [sys.executable, "-m", "polymeter", "run", "--model", "mock", "-a", "mode=echo"]
    try:
        return subprocess.run(
            [*command, "--tasks", "task.yaml", "-o", "out", *more],
            cwd=folder,
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / "samples" / "hostile.jsonl").read_text().splitlines()]


def write(folder: Path, answers: list[tuple[str, str]], yaml: str, code: str = "") -> None:
    rows = [{"q": f"q{i}", "a": reference, "said": said} for i, (said, reference) in enumerate(answers)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "task.yaml").write_text(YAML + yaml)
    if code:
        (folder / "utils.py").write_text(code)


MATHS_YAML = "process_results: !function utils.process_results\nmetric_list: [{metric: right}]\n"
MATHS_CODE = """\
from evalscope.metrics.math_parser import math_equal

def process_results(doc, results):
    try:
        right = math_equal(doc["said"], doc["a"])
    except Exception:
        right = False
    return {"right": float(right)}
"""


@pytest.mark.needs_system("evalscope")
def test_an_answer_that_algebra_never_ends_on_is_unscored_and_so_it_is_on_resume(tmp_path: Path) -> None:
    answers = [("2*(x+1)", "2x+2"), (HUGE_POWER, "42"), ("42", "43")]
    write(tmp_path, answers, MATHS_YAML, MATHS_CODE)
    limit = ("--score-timeout", "2")
    for _ in range(2):  # a run, and the same command again, which resumes it
        done = run(tmp_path, *limit)
        assert done is not None, "the run hangs"
        assert done.returncode == 1, done.stderr
        first, second, third = rows_of(tmp_path)
        assert first["scores"][0]["value"] == 1.0
        assert third["scores"][0]["value"] == 0.0
        assert second["status"] == "unscored"
        assert "longer than 2 s" in second["error"]["message"]


@pytest.mark.needs_system("evalscope")
def test_an_answer_that_needs_too_much_memory_is_unscored(tmp_path: Path) -> None:
    write(tmp_path, [(HUGE_POWER, "42"), ("1", "1")], MATHS_YAML, MATHS_CODE)
    done = run(tmp_path, "--score-memory", "300")
    assert done is not None, "the run hangs"
    first, second = rows_of(tmp_path)
    assert first["status"] == "unscored"
    assert "more memory than 300 MB" in first["error"]["message"]
    assert second["status"] == "ok"


@pytest.mark.needs_system("evalscope")
def test_a_long_answer_does_not_hang_the_extraction_of_a_mathematical_one(tmp_path: Path) -> None:
    code = MATHS_CODE.replace('doc["said"]', 'strip_answer_string("0" * 1_000_000 if doc["said"] else "1")').replace(
        "import math_equal", "import math_equal, strip_answer_string"
    )
    write(tmp_path, [("long", "1"), ("", "1")], MATHS_YAML, code)
    done = run(tmp_path, "--score-timeout", "1")
    assert done is not None, "the run hangs"
    first, second = rows_of(tmp_path)
    assert first["status"] == "unscored"
    assert "longer than 1 s" in first["error"]["message"]
    assert second["scores"][0]["value"] == 1.0


def test_a_hook_that_hangs_is_named_with_its_sample_and_line(tmp_path: Path) -> None:
    code = """\
import time

def process_results(doc, results):
    if doc["q"] == "q1":
        time.sleep(2)
    return {"right": 1.0}
"""
    write(tmp_path, [("a", "a")] * 2, MATHS_YAML, code)
    done = run(tmp_path, "--score-timeout", "0.5")
    assert done is not None
    assert done.returncode == 0, done.stderr
    note = next(line for line in done.stderr.splitlines() if line.startswith("note:"))
    assert "utils.py:5" in note
    assert "process_results" in note
    assert "sample '1'" in note
