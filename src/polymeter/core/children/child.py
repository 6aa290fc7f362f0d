"""A process that this one starts, watches and ends.

A child has a session of its own: Ctrl-C is for this process, which ends its children in order, and killing a child
kills what it has started. It does not outlive this process, however that ends (``guarded``). What is said to a child
and how it says that it is ready is left to who starts it: messages, lines, or requests to its port.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias

_GUARDED = Path(__file__).with_name("guarded.py")
_KEPT_BYTES = 2**20
"""The amount of output that is kept of a child that was killed."""
_SPARE_S = 5.0
"""The time that a child may take to end beyond its grace, in seconds."""

_Process: TypeAlias = "subprocess.Popen[bytes]"
_Starts: TypeAlias = "queue.SimpleQueue[tuple[Future[_Process], Callable[[], _Process]]]"


class Child:
    """A process of this one. Thread-safe.

    Args:
        command: Its command line.
        log: The file for what it prints; appended to. Default: one that has no name.
        grace_s: How long it may take to end when it is asked to, in seconds; 0: it is killed at once.
        memory_mb: The most address space, in MB, as far as the system limits it; 0: no limit of its own.
        is_guarded: Whether it ends with this process. One that sees to that by itself starts 10 ms earlier.
        **settings: Of ``subprocess.Popen``: its pipes (default: nothing to read, and the log), ``env``, ``cwd``.

    Raises:
        OSError: if the log cannot be written or no process can be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path | None = None,
        grace_s: float = 0.0,
        memory_mb: int = 0,
        is_guarded: bool = True,
        **settings: Any,
    ) -> None:
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._is_group_killed = False
        self._last_words = b""
        self._lifeline: IO[bytes] | None = None
        self._log: IO[bytes] = tempfile.TemporaryFile() if log is None else log.open("ab+")  # noqa: SIM115  (for its life)
        self._began_at = self._log.seek(0, os.SEEK_END)
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": self._log, "stderr": self._log, **settings}

        def start(words: Sequence[str], files: Sequence[int] = ()) -> _Process:
            return subprocess.Popen(words, pass_fds=files, start_new_session=True, **pipes)

        try:
            if is_guarded and os.name == "posix":
                self._process = self._guarded(start, command, memory_mb)
            else:
                self._process = start(command)
        except BaseException:
            self._close(self._log, self._lifeline)
            raise

    def _guarded(self, start: Callable[..., _Process], command: Sequence[str], memory_mb: int) -> _Process:
        watched, held = os.pipe()
        self._lifeline = open(held, "wb", buffering=0)  # noqa: SIM115  (its end is that of this process, or of the child)
        settings = map(str, (_GUARDED, watched, self._grace_s, memory_mb, os.getpid()))
        started: Future[_Process] = Future()
        with open(watched, "rb", buffering=0):
            words = [sys.executable, "-I", "-S", *settings, *command]
            _starts(os.getpid()).put((started, lambda: start(words, [watched])))
            return started.result()

    @property
    def pid(self) -> int:
        """The number of the process and of its group."""
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes]:
        """The pipe into it, which must have been asked for."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe out of it, which must have been asked for."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def status(self) -> int | None:
        """Its exit status; ``None`` as long as it runs. The negative number of a signal that ended it."""
        return self.wait(0.0)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for its end.

        Args:
            timeout_s: For how long, in seconds; default: for as long as it takes.

        Returns:
            How it ended; ``None``: it still runs.
        """
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._kill_group()
        return status

    def said(self, n_bytes: int) -> str:
        """The end of what it has printed into its log."""
        with self._lock:
            return (self._last_words or self._printed(n_bytes))[-n_bytes:].decode(errors="replace")

    def stop(self) -> None:
        """Ask it to end, and kill it after its grace."""
        if self._lifeline is None:
            self._process.terminate()
        self._close(self._lifeline)
        self.wait(self._grace_s + _SPARE_S)
        self.kill()

    def kill(self) -> None:
        """End it at once with all that it has started, also what it left when it ended by itself. To be called in the
        end in every case.
        """
        self._kill_group()
        self._process.wait()
        self._close(self._lifeline, self._process.stdin, self._process.stdout)
        with self._lock:
            self._last_words = self._last_words or self._printed(_KEPT_BYTES)
            self._log.close()

    def _kill_group(self) -> None:
        with self._lock:
            if self._is_group_killed:  # its number may be another process's by now
                return
            self._is_group_killed = True
            with suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def _printed(self, n_bytes: int) -> bytes:
        if self._log.closed or not hasattr(os, "pread"):
            return b""
        log = self._log.fileno()  # read at a place, because the child writes where the file stands
        size = os.fstat(log).st_size
        return os.pread(log, n_bytes, max(self._began_at, size - n_bytes))

    @staticmethod
    def _close(*files: IO[bytes] | None) -> None:
        for file in files:
            if file is not None:
                with suppress(OSError):  # what was not sent yet cannot be sent any more
                    file.close()


# Kept for the life of the process; a forked one has none of the threads.
@lru_cache(maxsize=1)
def _starts(owner: int) -> _Starts:
    """The children to start. One thread starts all: the kernel ends a child with the thread that started it, and this
    one lives as long as the process with this number.
    """
    starts: _Starts = queue.SimpleQueue()

    def start_all() -> None:
        while True:
            started, start = starts.get()
            try:
                started.set_result(start())
            # Any exception is raised again by the caller of ``start``.
            except BaseException as error:  # noqa: BLE001
                started.set_exception(error)

    threading.Thread(target=start_all, name="polymeter-children", daemon=True).start()
    return starts
