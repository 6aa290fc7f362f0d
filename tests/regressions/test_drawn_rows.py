"""Rows that ``process_docs`` draws at random rest on the run's seed, whatever an earlier run left in a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.lm_eval.tasks import folders as lm_folders
from tests.tasks.yaml import kit

N_ROWS = 3
OPTIONS = list("abcdefghij")
DRAWN = """
import random

def shuffled(rows):
    def one(row):
        return {**row, "options": random.sample(row["options"], len(row["options"]))}

    return rows.map(one)
"""
FUNCTION = "process_docs: !function utils.shuffled\n"


def rows() -> list[dict[str, Any]]:
    return [{"q": f"q{number}", "a": "a", "options": OPTIONS} for number in range(N_ROWS)]


def test_another_seed_draws_other_rows(tmp_path: Path) -> None:
    kit.write_rows(tmp_path, rows())
    kit.write(tmp_path, {"utils.py": DRAWN, "t.yaml": kit.task_text(FUNCTION, text='"{{q}} {{options}}"')})
    first, other, again = (_prompts(tmp_path, number, seed) for number, seed in enumerate((1, 2, 1)))
    assert first == again
    assert first != other


@pytest.mark.needs_system("lm_eval")
def test_rows_without_examples_are_drawn_behind_those_of_the_examples(tmp_path: Path) -> None:
    """lm-eval's constructor calls ``process_docs`` for the split of the examples first, whether any is shown or not.
    Each folder is a task of its own, of which nothing is stored yet.
    """
    files = "{data_files: {train: rows.jsonl, shots: shots.jsonl}}"
    text = lm_folders.task_text(FUNCTION + "fewshot_split: shots\n", text='"{{q}} {{options}}"')
    drawn = []
    for n in (0, 1):
        folder = tmp_path / str(n)
        lm_folders.write(folder, {"utils.py": DRAWN, "t.yaml": text.replace("{data_files: rows.jsonl}", files)}, rows())
        (folder / "shots.jsonl").write_text((folder / "rows.jsonl").read_text().replace('"q0"', '"s0"'))
        task = lm_folders.open_in(folder, num_fewshot=n, cache_dir=folder / "cache")
        drawn.append([task.samples[index].doc["options"] for index in range(N_ROWS)])
    assert drawn[0] == drawn[1]


def _prompts(folder: Path, number: int, seed: int) -> list[str]:
    """What a run of a seed asks, in a process of its own."""
    words = ["run", "--model", "mock", "--tasks", "t.yaml", "--seed", str(seed), "--output", f"run_{number}"]
    subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=folder,
        env={**os.environ, "POLYMETER_CACHE_DIR": str(folder / "cache"), "HF_HOME": str(folder / "hf")},
        capture_output=True,
        timeout=120,
        check=True,
    )
    lines = (folder / f"run_{number}" / "samples" / "t.jsonl").read_text().splitlines()
    return [json.loads(line)["exchanges"][0]["request"]["messages"][-1]["parts"][-1]["text"] for line in lines]
