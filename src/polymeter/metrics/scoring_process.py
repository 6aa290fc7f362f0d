"""A process for functions that may never end. Its owner can kill it, and its memory is limited.

It is a plain child with two pipes, not a worker of ``multiprocessing``. Such a worker would import the user's main
script again, which fails for a script without a ``__main__`` guard, and forking a process with threads is not safe.

The time of a call is measured here, and the child is killed when it exceeds the limit.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal

from polymeter.core.children.child import Child

_LENGTH = struct.Struct(">Q")
_ENDING_S = 5.0
"""The seconds in which a child that closed its pipe must end with a status."""
_BOOTSTRAP = "import sys; sys.path[:] = sys.argv[1:]; from polymeter.metrics.scoring_process import serve; serve()"
# Threads of numerical libraries reserve address space, which counts as memory. Nothing here uses them.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_START_S = 120.0
"""The time limit for starting the process and importing modules, which is not part of scoring."""

Outcome = Literal["ready", "value", "raised", "memory", "timeout", "died"]


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a call: its value, its exception, or the reason why it has neither.

    Attributes:
        outcome: ``ready`` comes before the first call of a module's functions, when the module is imported. ``value``
            and ``raised`` come from the function. ``memory``, ``timeout`` and ``died`` mean that the function did not
            end by itself.
        content: The value, the exception, or the exit status of a child that died.
    """

    outcome: Outcome
    content: Any = None


class ScoringProcess:
    """The owner's side of the process. It is not thread-safe: only one thread may use it at a time.

    Args:
        memory_mb: The limit of the child's memory, in MB.
    """

    def __init__(self, memory_mb: int) -> None:
        self.memory_mb = memory_mb
        self.n_calls = 0
        self._ready: set[str] = set()
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._child = Child(
            [sys.executable, "-I", "-c", _BOOTSTRAP, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD},
            memory_mb=memory_mb,
        )
        # Not every system can read a pipe with a time limit, so a queue is used.
        threading.Thread(target=self._read, name="polymeter-scoring", daemon=True).start()

    def call(
        self, module: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], timeout_s: float
    ) -> Reply:
        """Call a function of a module. After any outcome but ``value`` and ``raised``, the child has ended.

        Args:
            module: The module's name.
            function: The function's name in it.
            args: Its arguments, which must be plain data.
            kwargs: Its named arguments.
            timeout_s: The time limit, in seconds.
        """
        self.n_calls += 1
        message = pickle.dumps((module, function, tuple(args), dict(kwargs)))
        try:
            _write(self._child.stdin, message)
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

    def _ended(self, outcome: Outcome) -> Reply:
        if outcome == "died":
            self._child.wait(_ENDING_S)
        self.kill()
        return Reply(outcome, self._child.status)

    def _read(self) -> None:
        while True:
            try:
                message = _read(self._child.stdout)
            except (OSError, ValueError):  # killed
                message = None
            self._replies.put(None if message is None else pickle.loads(message))  # noqa: S301  (our own child's)
            if message is None:
                return


def is_scoring_process() -> bool:
    """Check whether this is the child."""
    return _ScoringChild.is_here


class _ScoringChild:
    """A flag that is set if this process is a child that scores."""

    is_here = False


def serve() -> None:
    """Run the calls that arrive, in the child, until the owner has ended."""
    _ScoringChild.is_here = True
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # The output of a function must not mix with the replies.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    out_of_memory = pickle.dumps(Reply("memory"))
    ready: set[str] = set()
    while (message := _read(requests)) is not None:
        module, function, args, kwargs = pickle.loads(message)  # noqa: S301  (from our own owner)
        if module not in ready:
            _prepare(module)
            ready.add(module)
            _write(replies, pickle.dumps(Reply("ready")))
        _write(replies, _carried_out(module, function, args, kwargs, out_of_memory))


def _carried_out(
    module: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], out_of_memory: bytes
) -> bytes:
    try:
        value = getattr(importlib.import_module(module), function)(*args, **kwargs)
        return pickle.dumps(Reply("value", value))
    except MemoryError:
        return out_of_memory  # made before, since no memory is left while the exception is handled
    # Scoring functions, including those of plugins, may raise any exception and return values that cannot be pickled.
    # All of these errors are raised again in the calling process. Here they would end this process and lose their type.
    except Exception as error:  # noqa: BLE001
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return pickle.dumps(Reply("raised", error))


def _prepare(module: str) -> None:
    """Import a module and the imports of its functions, so that this does not count as their time."""
    prepare = getattr(importlib.import_module(module), "prepare", None)
    if prepare is not None:
        prepare()


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes | None:
    """Return the next message, or ``None`` if the other side has ended."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    return body if len(body) == length else None
