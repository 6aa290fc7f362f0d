"""Measuring whole processes: wall time as a shell sees it, start-up included, and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """One process: wall time, processor time of user and system (seconds), peak resident memory (MB)."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def polymeter(*words: str, cwd: Path, env: dict[str, str] | None = None) -> Measured:
    """Run the ``polymeter`` command of this environment and measure it.

    Raises:
        RuntimeError: if it failed.
    """
    command = [str(Path(sys.executable).with_name("polymeter")), *words]
    return measure(command, cwd=cwd, env=env)


def measure(command: list[str], *, cwd: Path, env: dict[str, str] | None = None, log: Path | None = None) -> Measured:
    """Run a command and measure it. Its output goes to ``log``, by default a file in ``cwd``.

    Raises:
        RuntimeError: if it failed.
    """
    log = log or cwd / "bench.log"
    with log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{log.read_text(errors='replace')[-2000:]}")
    return Measured(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def best_of(n: int, *words: str, cwd: Path, fresh: Path | None = None) -> Measured:
    """The fastest of ``n`` runs of a ``polymeter`` command; ``fresh`` is a run folder that is removed before each."""
    import shutil

    runs = []
    for _ in range(n):
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        runs.append(polymeter(*words, cwd=cwd))
    return min(runs, key=lambda measured: measured.wall_s)
