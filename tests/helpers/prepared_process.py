"""The process that has imported what commands import: forks once for each start that ``prepared_start`` asks for.

It imports nothing whose presence changes what a command does: no torch, no Transformers, no benchmark.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
from typing import Any

# The folder of this file would hide packages of the same names.
sys.path[0] = ""
_COMMANDS = ("check", "compare", "leaderboard", "report", "rerun", "resume", "run", "score", "show", "tasks", "view")
IMPORTED = (
    *("polymeter.cli.main", "polymeter.cli.plain_text", *(f"polymeter.cli.{command}" for command in _COMMANDS)),
    *("polymeter.api.running", "polymeter.run.run", "polymeter.tasks.yaml", "polymeter.models.mock"),
    *("numpy", "pandas", "datasets", "scipy.stats", "pyarrow.parquet", "jinja2", "httpx", "PIL.Image", "rich.table"),
)


def main() -> None:
    """Serve until the line is closed. In a fork: become the process that is asked for, and return."""
    line = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        head, ends, _, _ = socket.recv_fds(line, 8, 3)
        if not head:
            os._exit(0)
        size, message = int.from_bytes(head, "big"), b""
        while len(message) < size:
            message += line.recv(size - len(message))
        reading, writing = os.pipe()
        between = os.fork()
        if between:
            os.waitpid(between, 0)
            line.sendall(os.read(reading, 8))
            for end in (*ends, reading, writing):
                os.close(end)
            continue
        child = os.fork()
        if child:
            os.write(writing, child.to_bytes(8, "big"))
            os._exit(0)
        for number, end in enumerate(ends):
            os.dup2(end, number)
        for end in (*ends, reading, writing):
            os.close(end)
        line.close()
        _become(json.loads(message.decode("utf-8", "surrogateescape")))
        return


def _become(request: dict[str, Any]) -> None:
    """Take the words, folder, environment and session of the request, as Python's own start would have."""
    if request["new_session"]:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-m", *request["words"]]
    sys.orig_argv = [sys.executable, "-m", "polymeter", *request["words"]]
    sys.path[0] = os.getcwd()
    tempfile.tempdir = None  # looked up again
    sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr)  # type: ignore[misc]


def _stream(end: int, mode: str, before: Any) -> io.TextIOWrapper:
    """A standard stream over what the end is now; the one before knows whether its own was a file or a terminal."""
    raw = io.FileIO(end, mode, closefd=False)
    binary = io.BufferedWriter(raw) if raw.writable() else io.BufferedReader(raw)
    newline = "\n" if raw.writable() else None
    is_by_lines = end == 2 or raw.isatty()
    return io.TextIOWrapper(binary, before.encoding, before.errors, newline=newline, line_buffering=is_by_lines)


if __name__ == "__main__":
    main()
    runpy.run_module("polymeter", run_name="__main__", alter_sys=True)
