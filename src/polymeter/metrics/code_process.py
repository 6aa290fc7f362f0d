"""Execution of one generated program in a separate process, behind walls and within limits.

Only a program that runs to its end without an exception passes. A program that exceeds a limit, ends itself or is
killed fails, and that is an answer. If the process cannot be started, there is no answer, and nothing is scored.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from polymeter.core.children.child import Child
from polymeter.core.errors import ScoreError
from polymeter.metrics.code_filter import ALONE, NO_ATTRIBUTES, filter_of
from polymeter.metrics.code_use import (
    N_ENTRIES,
    N_PROCESSES,
    children,
    descendants,
    excess,
    program_folder,
    tasks_of_user,
)
from polymeter.metrics.code_walls import ALL_WALLS, Walls, is_installed, readable_places

TIMEOUT_S = 3.0
MEMORY_MB = 4096
DISK_MB = 256
_START_S = 60.0
_WALL_FACTOR = 4
"""The factor between the limit of elapsed time and that of processor time, so that a busy machine does not decide."""
_LOOK_S = 0.05
_END_S = 60.0
_SAID_BYTES = 2000
_FILE_MB = 64
_N_FILES = 256
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
PASSED, TIMED_OUT, EXITED = "passed", "timed out", "exited"


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """The limits of one program. They decide whether it passes, so they belong to the benchmark.

    Attributes:
        timeout_s: The processor time, in seconds. The elapsed time may be four times as long.
        memory_mb: The address space of each of its processes, and the memory of all together, in MB.
        disk_mb: The most that it may write to files, in MB. If its folder is a separate file system, this is the size
            of that.
    """

    timeout_s: float = TIMEOUT_S
    memory_mb: int = MEMORY_MB
    disk_mb: int = DISK_MB


def run_program(program: str, limits: CodeLimits, walls: Walls | None = None) -> str:
    """Run a program.

    Args:
        program: Its text.
        limits: Its limits.
        walls: The walls around it; default: the best that work on this machine.

    Returns:
        ``passed``, ``timed out``, or ``failed: …`` with the exception or the way in which it ended.

    Raises:
        ScoreError: if no process can be started for the program.
    """
    outcome, _, _ = _run(program, limits, walls or usable_walls())
    return outcome


def run_script(program: str, limits: CodeLimits, most_output: int, walls: Walls | None = None) -> tuple[str, str]:
    """Run a program as a script, and keep its standard output.

    Args:
        program: Its text. It sees itself as ``__main__``.
        limits: Its limits.
        most_output: How many bytes of its output are kept.
        walls: The walls around it; default: the best that work on this machine.

    Returns:
        What ``run_program`` returns, or ``exited`` if it ended itself with status 0 before its last statement; and its
        output.

    Raises:
        ScoreError: if no process can be started for the program.
    """
    outcome, _, output = _run(program, limits, walls or usable_walls(), most_output)
    return outcome, output.decode("utf-8", "replace")


# Kept for the life of the process: a fact of the machine that takes 0.1 s to find.
@lru_cache(maxsize=1)
def usable_walls() -> Walls:
    """Return the best walls that work on this machine. Each kind is tried with an empty program.

    Raises:
        ScoreError: if not even a bare process can be started.
    """
    error: ScoreError | None = None
    for walls in ALL_WALLS:
        if not is_installed(walls):
            continue
        try:
            outcome, found, _ = _run("", CodeLimits(), walls)
        except ScoreError as failure:
            error = failure
            continue
        if outcome == PASSED:
            return found
    raise error or ScoreError("No process can be started for generated code.")


def _run(program: str, limits: CodeLimits, walls: Walls, most_output: int = 0) -> tuple[str, Walls, bytes]:
    """Return the outcome of a program, its walls, and its output."""
    with program_folder() as folder:
        token = secrets.token_hex(16)
        inside = Path(__file__).with_name("code_child.py").read_text("utf-8")
        text = program.encode("utf-8", "surrogatepass")
        settings: dict[str, Any] = {
            "n_bytes": len(text),
            "cpu_s": limits.timeout_s,
            "memory_mb": limits.memory_mb,
            "disk_mb": limits.disk_mb,
            "file_mb": min(_FILE_MB, limits.disk_mb),
            "n_entries": N_ENTRIES,
            "n_files": _N_FILES,
            "n_processes": N_PROCESSES + (tasks_of_user() if walls.name == "limits" else 0),
            "has_mounts": walls.name == "bwrap",
            "may_mount": walls.name == "namespaces",
            "readable": readable_places(),
            "folder": str(folder),
            "most_output": most_output,
            "alone": filter_of(ALONE),
            "no_attributes": filter_of(NO_ATTRIBUTES),
        }
        message = json.dumps(settings).encode() + b"\n" + text + token.encode() + b"\n"
        try:
            # No guard, which would count as one of the program's processes. The walls and the child itself make sure
            # that it ends.
            child = Child(
                [*walls.command(folder, limits.disk_mb), sys.executable, "-s", "-B", "-c", inside],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=folder,
                env={**_ENVIRONMENT, "HOME": str(folder), "TMPDIR": str(folder)},
                is_guarded=False,
            )
        except OSError as error:
            raise _not_started(walls, str(error)) from None
        try:
            return _watched(child, message, token, folder, limits, walls, most_output)
        finally:
            _end(child, walls)


def _watched(
    child: Child, message: bytes, token: str, folder: Path, limits: CodeLimits, walls: Walls, most_output: int
) -> tuple[str, Walls, bytes]:
    with suppress(OSError):  # it has already ended; its report says so
        child.stdin.write(message)
        child.stdin.flush()
    reports = _Reports(child.stdout, _MOST_REPORT_BYTES + 2 * most_output)
    first = reports.next_before(time.monotonic() + _START_S)
    ready = _parsed(first)
    if ready.get("ready") is not True:
        _end(child, walls)
        raise _not_started(walls, child.said(_SAID_BYTES).strip())
    found = walls.with_what_was_found(ready)
    began = time.monotonic()
    deadline = began + _WALL_FACTOR * limits.timeout_s
    while True:
        now = time.monotonic()
        report = reports.next_before(min(deadline, now + _LOOK_S))
        if exceeded := excess(child.pid, folder, limits.memory_mb, limits.disk_mb):
            return f"failed: {exceeded}", found, b""
        if report is not None:
            told = _parsed(report)
            # A forged report ends it too: the right one cannot follow any more.
            is_own = secrets.compare_digest(str(told.get("token")), token)
            if not is_own:
                return "failed: it wrote a report of its own", found, b""
            return str(told["outcome"]), found, bytes.fromhex(told["output"])
        if reports.is_closed:
            status = child.wait(_LOOK_S)
            if status is not None:  # it may have closed the pipe of its reports, and still run
                # The system ends a process that has used up its time. Behind walls, that signal does not reach us.
                is_late = now - began >= limits.timeout_s
                return TIMED_OUT if is_late else f"failed: it ended with status {status}", found, b""
        if now >= deadline:
            return TIMED_OUT, found, b""


class _Reports:
    """The lines that a process writes, read with a time limit.

    Args:
        pipe: Where it writes.
        most: How many bytes one line may have.
    """

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        self._pipe = pipe
        self._most = most
        self._buffer = b""
        self.is_closed = False

    def next_before(self, deadline: float) -> bytes | None:
        """Return the next line, or ``None`` if none arrives in time or the pipe has ended."""
        while b"\n" not in self._buffer and not self.is_closed:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            read = os.read(self._pipe.fileno(), _MOST_REPORT_BYTES)
            self._buffer += read
            self.is_closed = not read or len(self._buffer) > self._most
        line, found, rest = self._buffer.partition(b"\n")
        self._buffer = rest if found else b""
        return line if found else None


def _parsed(line: bytes | None) -> dict[str, Any]:
    try:
        told = json.loads(line or b"{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _end(child: Child, walls: Walls) -> None:
    """Kill a process and all that it started, even processes that left its group. Behind walls, its child is the first
    process of a namespace. When that is killed, the kernel kills all others in the namespace, and the process itself
    ends after them.
    """
    if child.status is None:
        for number in () if walls.name == "limits" else children(child.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
                child.wait(_END_S)
        for number in descendants(child.pid, 10 * N_PROCESSES):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
    child.kill()


def _not_started(walls: Walls, said: str) -> ScoreError:
    return ScoreError(
        f"The process for generated code could not be started ({walls.name}){': ' + said[:300] if said else ''}.",
        hint="The answers are kept. To score them again, run: polymeter score RUN --allow-generated-code",
    )
