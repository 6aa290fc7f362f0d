"""Python's search for cycles is rare in a process of ours and during runs, and as it was for everybody else."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from polymeter.core.garbage import RareCollections

_TELL = "import gc, polymeter.core.garbage as garbage; print(gc.get_threshold() == garbage._USUAL)"


def test_runs_that_overlap_put_the_collector_back_when_the_last_one_ends() -> None:
    before = gc.get_threshold()
    runs = RareCollections()
    runs.__enter__()
    runs.__enter__()
    runs.__exit__()
    assert gc.get_threshold() != before
    runs.__exit__()
    assert gc.get_threshold() == before


def test_a_script_is_run_with_the_usual_thresholds(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_TELL)
    words = [sys.executable, "-m", "polymeter", "python", str(script)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "True\n"
