"""Running the command line as a user does: in a process of its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "polymeter"]

FIRST_YAML = """\
task: capitals
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
doc_to_text: "What is the capital of {{country}}?"
doc_to_target: capital
generation_kwargs: {max_new_tokens: 8, temperature: 0}
metric_list: [{metric: exact_match}]
metadata: {version: 1.0}
"""


def polymeter(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *words],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def start(*words: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a command as a terminal would: Ctrl-C reaches it, also when the tests run in the background."""
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_take_interrupts,
    )


def capitals(folder: Path, n_rows: int = 3) -> Path:
    """A folder with ten lines of YAML over a CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [("France", "Paris"), ("Japan", "Tokyo"), ("Peru", "Lima")]
    lines = [f"{rows[i % 3][0]} {i},{rows[i % 3][1]}" for i in range(n_rows)]
    (folder / "capitals.csv").write_text("country,capital\n" + "\n".join(lines) + "\n")
    (folder / "capitals.yaml").write_text(FIRST_YAML)
    return folder


def wait_for_samples(journal: Path, n: int, process: subprocess.Popen[Any]) -> None:
    """Wait until a run has ended some samples."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if journal.exists():
            try:
                if len(sealed(journal)) >= n:
                    return
            except sqlite3.Error:
                pass
        time.sleep(0.02)
    raise AssertionError("the run did not get going")


def sealed(journal: Path) -> dict[int, str]:
    """Answers of all sealed samples, with their times, so that a second asking would show."""
    with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as db:
        rows = db.execute(
            "SELECT s.sample, r.body FROM samples s JOIN responses r ON r.task = s.task AND r.sample = s.sample"
            " WHERE s.seal IS NOT NULL"
        )
        return dict(rows.fetchall())


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
