"""A task of twenty words to repeat, and the command line over it, for tests of what a run folder keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import polymeter

N = 20
YAML = """\
task: copies
dataset_path: csv
dataset_kwargs: {data_files: {test: copies.csv}}
test_split: test
doc_to_text: "Repeat: {{word}}"
doc_to_target: word
generation_kwargs: {max_new_tokens: 8, temperature: 0}
metric_list: [{metric: exact_match}]
metadata: {version: 1.0}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a task of twenty rows."""
    (tmp_path / "copies.csv").write_text("word\n" + "".join(f"word{place}\n" for place in range(N)))
    (tmp_path / "copies.yaml").write_text(YAML)
    return tmp_path


def command(*words: str, cwd: Path, package: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command line, of Polymeter or of another version of it."""
    home = (package or Path(polymeter.__file__).parent).parent
    return subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", "PYTHONPATH": str(home), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run(here: Path, *more: str, package: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """``polymeter run`` on the task, into the folder ``run``."""
    return command("run", "--tasks", "copies.yaml", "--output", "run", *more, cwd=here, package=package, **env)
