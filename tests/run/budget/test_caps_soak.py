"""Some lives of ``scripts/soak_caps.py``: capped runs that are killed, against what a server charges."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_no_cap_is_passed_and_nothing_is_paid_twice_in_runs_that_are_killed() -> None:
    command = [sys.executable, "-m", "scripts.soak_caps", "--n", "4", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lives with faults" in done.stdout
