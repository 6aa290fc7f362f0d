"""Answers of programs to one question, such as ``git`` and ``nvidia-smi``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def printed_by(command: Sequence[str], timeout_s: float) -> str:
    """Return the standard output of a program; empty if it cannot be started, fails, or takes too long.

    Args:
        command: Its command line.
        timeout_s: How long it may take, in seconds.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
