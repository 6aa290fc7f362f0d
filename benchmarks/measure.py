"""Measuring whole processes: wall time as a shell sees it, start-up included, and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


_LAUNCHER = """
import json, os, subprocess, sys, time
with open(sys.argv[1], "wb") as output:
    started = time.perf_counter()
    process = subprocess.Popen(sys.argv[2:], stdout=output, stderr=output)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
print(json.dumps([os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""


def measure(command: list[str], *, cwd: Path, env: dict[str, str] | None = None, log: Path | None = None) -> Measured:
    """Run a command and measure it. Its output goes to ``log``, by default a file in ``cwd``.

    Raises:
        RuntimeError: if it failed.
    """
    log = log or cwd / "bench.log"
    # Linux counts the memory of the process that starts another as that one's peak. So a small one starts it, not this
    # one, which may have made gigabytes of data.
    words = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(log.absolute()), *command]
    surroundings = {**os.environ, **(env or {})}
    # Some containers forbid bytecode files; a user's second run has them, and compiling takes longer than much else.
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    launched = subprocess.run(words, cwd=cwd, env=surroundings, stdout=subprocess.PIPE, check=True)
    code, wall_s, cpu_s, peak_kb = json.loads(launched.stdout)
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{log.read_text(errors='replace')[-2000:]}")
    return Measured(wall_s, cpu_s, peak_kb / 1024)


def best_of(n: int, *words: str, cwd: Path, fresh: Path | None = None) -> Measured:
    """The fastest of ``n`` runs of a ``polymeter`` command; ``fresh`` is a run folder that is removed before each."""
    import shutil

    runs = []
    for _ in range(n):
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        runs.append(polymeter(*words, cwd=cwd))
    return min(runs, key=lambda measured: measured.wall_s)
