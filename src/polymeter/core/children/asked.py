"""What a program says when it is asked one question, as ``git`` and ``nvidia-smi`` are."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def printed_by(command: Sequence[str], timeout_s: float) -> str:
    """What a program prints on its standard output; empty if it cannot be started, fails, or takes too long.

    Args:
        command: Its command line.
        timeout_s: How long it may take, in seconds.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
