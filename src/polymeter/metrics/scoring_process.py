"""A process that runs functions which may never end: one that its owner can kill, and whose memory is limited.

It is a plain child with two pipes, not a worker of ``multiprocessing``: that would import the user's main script again,
which a script without a ``__main__`` guard does not survive, and forking a process with threads is not safe.

The child is told how long each call may take and ends itself if its owner no longer can, so that a killed run leaves
nothing behind that computes for ever.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

_LENGTH = struct.Struct(">Q")
_GRACE_S = 5.0
"""How much longer than its owner the child waits before it ends itself."""
_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[2:];"
    "from polymeter.metrics.scoring_process import serve; serve(int(sys.argv[1]))"
)
# Threads of numerical libraries reserve address space, which counts as memory, and nothing here uses them.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_START_S = 120.0
"""How long starting the process and importing what a function needs may take; it is not scoring."""

Outcome = Literal["ready", "value", "raised", "memory", "timeout", "died"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a call: its value, its exception, or why it has neither.

    Attributes:
        outcome: ``ready`` comes before the first call of a module's functions: it is imported. ``value`` and ``raised``
            come from the function; ``memory``, ``timeout`` and ``died`` mean that it was not allowed to end.
        content: The value, the exception, or the exit status of a child that died.
    """

    outcome: Outcome
    content: Any = None


class ScoringProcess:
    """The owner's side. Not thread-safe: whoever calls it has it alone.

    Args:
        memory_mb: The limit of the child's memory, in MB.
    """

    def __init__(self, memory_mb: int) -> None:
        self.memory_mb = memory_mb
        self.n_calls = 0
        self._ready: set[str] = set()
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOTSTRAP, str(memory_mb), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD},
        )
        # A pipe cannot be read with a time limit on every system; a queue can.
        threading.Thread(target=self._read, name="polymeter-scoring", daemon=True).start()

    def call(
        self, module: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], timeout_s: float
    ) -> Reply:
        """Call a function of a module. After any outcome but ``value`` and ``raised`` the child is gone.

        Args:
            module: The module's name.
            function: The function's name in it.
            args: Its arguments, which must be plain data.
            kwargs: Its named arguments.
            timeout_s: How long it may take, in seconds.
        """
        self.n_calls += 1
        message = pickle.dumps((timeout_s, module, function, tuple(args), dict(kwargs)))
        try:
            _write(self._pipe(self._child.stdin), message)
        except OSError:  # it died between two calls
            return self._ended("died")
        try:
            if module not in self._ready:
                if self._replies.get(timeout=_START_S) is None:
                    return self._ended("died")
                self._ready.add(module)
            reply = self._replies.get(timeout=timeout_s)
        except queue.Empty:
            return self._ended("timeout")
        if reply is None:
            return self._ended("died")
        if reply.outcome == "memory":
            self.kill()
        return reply

    def kill(self) -> None:
        """End the child at once."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent yet cannot be sent any more
                    pipe.close()

    def _ended(self, outcome: Outcome) -> Reply:
        if outcome == "died":
            with suppress(subprocess.TimeoutExpired):  # it gets a moment to end with a status of its own
                self._child.wait(_GRACE_S)
        self.kill()
        return Reply(outcome, self._child.returncode)

    def _read(self) -> None:
        pipe = self._pipe(self._child.stdout)
        while True:
            try:
                message = _read(pipe)
            except (OSError, ValueError):  # killed
                message = None
            self._replies.put(None if message is None else pickle.loads(message))  # noqa: S301  (our own child's)
            if message is None:
                return

    @staticmethod
    def _pipe(pipe: Any) -> BinaryIO:
        assert pipe is not None
        found: BinaryIO = pipe
        return found


def is_scoring_process() -> bool:
    """Whether this is the child."""
    return _ScoringChild.is_here


class _ScoringChild:
    """Whether this process is a child that scores."""

    is_here = False


def serve(memory_mb: int) -> None:
    """The child's side: run what arrives until the owner is gone.

    Args:
        memory_mb: The limit of this process's memory, in MB.
    """
    _ScoringChild.is_here = True
    # Ctrl-C reaches every process of a terminal; the owner decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a function prints must not get between the replies.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    out_of_memory = pickle.dumps(Reply("memory"))
    _limit_memory(memory_mb)
    ready: set[str] = set()
    while (message := _read(requests)) is not None:
        timeout_s, module, function, args, kwargs = pickle.loads(message)  # noqa: S301  (from our own owner)
        if module not in ready:
            _end_after(_START_S)
            _prepare(module)
            ready.add(module)
            _write(replies, pickle.dumps(Reply("ready")))
        _end_after(timeout_s + _GRACE_S)
        reply = _carried_out(module, function, args, kwargs, out_of_memory)
        _end_after(0)
        _write(replies, reply)


def _carried_out(
    module: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], out_of_memory: bytes
) -> bytes:
    try:
        value = getattr(importlib.import_module(module), function)(*args, **kwargs)
        return pickle.dumps(Reply("value", value))
    except MemoryError:
        return out_of_memory  # made before: as long as the exception is handled there is none left
    # Scoring functions, a plugin's among them, raise what they like, and what they give may refuse to be pickled. All
    # of it is raised again where the function was called; here it would end this process and lose its kind.
    except Exception as error:  # noqa: BLE001
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return pickle.dumps(Reply("raised", error))


def _prepare(module: str) -> None:
    """Import a module, and what its functions import, so that this does not count as their time."""
    prepare = getattr(importlib.import_module(module), "prepare", None)
    if prepare is not None:
        prepare()


def _limit_memory(memory_mb: int) -> None:
    try:
        import resource
    except ImportError:  # this system has no such limits
        return
    size = memory_mb * 2**20
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (OSError, ValueError):  # refused, or below a limit that holds already
        return


def _end_after(seconds: float) -> None:
    """Let the system end this process after some time, whatever it computes; 0: not any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _write(pipe: BinaryIO, message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _read(pipe: BinaryIO) -> bytes | None:
    """The next message; ``None`` if the other side is gone."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    return body if len(body) == length else None
