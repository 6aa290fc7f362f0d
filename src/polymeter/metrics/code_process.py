"""Runs one generated program in a process of its own, behind walls and within limits, and says what became of it.

Only a program that ran to its end without an exception has passed. One that exceeds a limit, ends itself or is killed
has failed: that is an answer. If the process cannot be started, there is no answer, and nothing is scored.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from polymeter.core.errors import ScoreError
from polymeter.core.records import dataclass
from polymeter.metrics.code_walls import ALL_WALLS, Walls, is_installed, readable_places

TIMEOUT_S = 3.0
MEMORY_MB = 4096
_START_S = 60.0
_WALL_FACTOR = 4
"""How much longer than its processor time a program may take by the clock: a busy machine must not decide."""
_LOOK_S = 0.05
_END_S = 60.0
_FILE_MB = 64
_N_FILES = 256
_N_PROCESSES = 64
_MOST_REPORT_BYTES = 65_536
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONSAFEPATH": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
PASSED, TIMED_OUT = "passed", "timed out"


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """The limits of one program. They decide whether it passes, so they belong to the benchmark.

    Attributes:
        timeout_s: Processor time, in seconds; by the clock it may take four times as long.
        memory_mb: Address space of each of its processes, in MB.
    """

    timeout_s: float = TIMEOUT_S
    memory_mb: int = MEMORY_MB


def run_program(program: str, limits: CodeLimits, walls: Walls | None = None) -> str:
    """Run a program.

    Args:
        program: Its text.
        limits: Its limits.
        walls: What separates it from this machine; default: the best that works here.

    Returns:
        ``passed``, ``timed out``, or ``failed: …`` with the exception or the way in which it ended.

    Raises:
        ScoreError: if no process can be started for it.
    """
    outcome, _ = _run(program, limits, walls or usable_walls())
    return outcome


@lru_cache(maxsize=1)
def usable_walls() -> Walls:
    """The best walls that work on this machine: each kind is tried with an empty program.

    Raises:
        ScoreError: if not even a bare process can be started.
    """
    error: ScoreError | None = None
    for walls in ALL_WALLS:
        if not is_installed(walls):
            continue
        try:
            outcome, has_landlock = _run("", CodeLimits(), walls)
        except ScoreError as failure:
            error = failure
            continue
        if outcome == PASSED:
            return replace(walls, has_own_files=walls.has_own_files or has_landlock)
    raise error or ScoreError("No process can be started for generated code.")


def _run(program: str, limits: CodeLimits, walls: Walls) -> tuple[str, bool]:
    """What became of a program, and whether Landlock held it."""
    with tempfile.TemporaryDirectory(prefix="polymeter-code-", ignore_cleanup_errors=True) as place:
        folder = Path(place).resolve()
        token = secrets.token_hex(16)
        child = Path(__file__).with_name("code_child.py").read_text("utf-8")
        text = program.encode("utf-8", "surrogatepass")
        settings: dict[str, Any] = {
            "n_bytes": len(text),
            "cpu_s": limits.timeout_s,
            "memory_mb": limits.memory_mb,
            "file_mb": _FILE_MB,
            "n_files": _N_FILES,
            "n_processes": _N_PROCESSES + (0 if walls.has_own_processes else _tasks_of_user()),
            "has_walls": True,
            "readable": readable_places(),
            "folder": str(folder),
        }
        message = json.dumps(settings).encode() + b"\n" + text + token.encode() + b"\n"
        try:
            process = subprocess.Popen(
                [*walls.command(folder), sys.executable, "-s", "-B", "-c", child],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if walls.name != "limits" else subprocess.DEVNULL,
                cwd=folder,
                env={**_ENVIRONMENT, "HOME": str(folder), "TMPDIR": str(folder)},
                start_new_session=True,
            )
        except OSError as error:
            raise _not_started(walls, str(error)) from None
        try:
            return _watched(process, message, token, limits, walls)
        finally:
            _end(process, walls)
            # Not by the context manager of Popen: what could not be written to a process that is gone would raise here.
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def _watched(
    process: subprocess.Popen[bytes], message: bytes, token: str, limits: CodeLimits, walls: Walls
) -> tuple[str, bool]:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # it is gone already; its report says so
        process.stdin.write(message)
        process.stdin.flush()
    reports = _Reports(process.stdout)
    first = reports.next_before(time.monotonic() + _START_S)
    ready = _parsed(first)
    if ready.get("ready") is not True:
        _end(process, walls)
        said = b"" if process.stderr is None else process.stderr.read(2000)
        raise _not_started(walls, said.decode("utf-8", "replace").strip())
    has_landlock = bool(ready.get("landlock"))
    began = time.monotonic()
    deadline = began + _WALL_FACTOR * limits.timeout_s
    while True:
        now = time.monotonic()
        report = reports.next_before(min(deadline, now + _LOOK_S))
        if report is not None:
            told = _parsed(report)
            # Also a report that somebody else wrote ends it: the right one cannot follow any more.
            is_own = secrets.compare_digest(str(told.get("token")), token)
            return str(told["outcome"]) if is_own else "failed: it wrote a report of its own", has_landlock
        if reports.is_closed:
            try:
                # It may have closed what it reports on, and live on.
                status = process.wait(max(0.0, deadline - now))
            except subprocess.TimeoutExpired:
                return TIMED_OUT, has_landlock
            # The system ends a process that has used up its time; behind walls the signal does not reach us.
            is_late = now - began >= limits.timeout_s
            return TIMED_OUT if is_late else f"failed: it ended with status {status}", has_landlock
        if now >= deadline:
            return TIMED_OUT, has_landlock
        if _n_descendants(process.pid, _N_PROCESSES) > _N_PROCESSES:
            return "failed: it started too many processes", has_landlock


class _Reports:
    """The lines that a process writes, read without waiting for longer than wanted."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._buffer = b""
        self.is_closed = False

    def next_before(self, deadline: float) -> bytes | None:
        """The next line; ``None`` if there is none until then, or none any more."""
        while b"\n" not in self._buffer and not self.is_closed:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            read = os.read(self._pipe.fileno(), _MOST_REPORT_BYTES)
            self._buffer += read
            self.is_closed = not read or len(self._buffer) > _MOST_REPORT_BYTES
        line, found, rest = self._buffer.partition(b"\n")
        self._buffer = rest if found else b""
        return line if found else None


def _parsed(line: bytes | None) -> dict[str, Any]:
    try:
        told = json.loads(line or b"{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _end(process: subprocess.Popen[bytes], walls: Walls) -> None:
    """Kill a process with all that it started. Behind walls its child is the first process of a namespace: when that is
    killed the kernel kills all others in it, and the process itself ends after them.
    """
    if process.returncode is not None:
        return
    for number in _children(process.pid) if walls.has_own_processes else ():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
    for number in [*_descendants(process.pid, 10 * _N_PROCESSES), process.pid]:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _n_descendants(number: int, most: int) -> int:
    return len(_descendants(number, most + 1))


def _descendants(number: int, most: int) -> list[int]:
    """The processes that a process and its children have started, as far as the system tells, at most so many."""
    found: list[int] = []
    ahead = [number]
    while ahead and len(found) < most:
        children = _children(ahead.pop())
        found += children
        ahead += children
    return found


def _children(number: int) -> list[int]:
    """The processes that the threads of a process have started and not outlived, as far as the system tells."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        for thread in os.listdir(f"/proc/{number}/task"):
            found += map(int, Path(f"/proc/{number}/task/{thread}/children").read_text("ascii").split())
    return found


def _tasks_of_user() -> int:
    """How many threads this user has: the limit of processes counts them all."""
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
    return count


def _not_started(walls: Walls, said: str) -> ScoreError:
    return ScoreError(
        f"The process for generated code could not be started ({walls.name}){': ' + said[:300] if said else ''}.",
        hint="The answers are kept: 'polymeter score RUN --allow-generated-code' scores them again.",
    )
