"""Names the hook of a guest that is taking too long. Code of a guest runs in this process, under its lock and in its
threads, so it cannot be ended from outside; but the hook that blocks a run can be named.

A hook that waits or computes in Python is named with its task, its sample and its current line. One that never gives up
the interpreter, inside a regular expression or the power of two integers, stops every other thread too, also the one
that would name it: for this case Python's own ``faulthandler`` prints where each thread is.
"""

from __future__ import annotations

import faulthandler
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from polymeter.core.errors import is_of_guest

_LOOKS = 4
"""The number of times that the watchdog looks within one time limit."""


class _Call:
    """A running hook, watched inside the block. A class and not a generator, because each sample passes through
    several.
    """

    __slots__ = ("_calls", "_thread", "_waiting", "began", "hook", "is_named", "is_waiting", "sample", "task")

    def __init__(self, calls: dict[int, _Call], task: str, sample: str, hook: str) -> None:
        self._calls = calls
        self.task = task
        self.sample = sample
        self.hook = hook
        self.is_waiting = self.is_named = False

    def __enter__(self) -> None:
        thread = self._thread = threading.get_ident()
        # A hook that waits may have left the door for another one of its thread, as a reduction does that replays a
        # sample again.
        self._waiting = self._calls.get(thread)
        self.began = time.monotonic()
        self._calls[thread] = self

    def __exit__(self, *_: object) -> None:
        if self._waiting is None:
            del self._calls[self._thread]
        else:
            self._calls[self._thread] = self._waiting


class Watchdog:
    """Watches the hooks of one run. Its thread starts with the first hook.

    Args:
        timeout_s: The time after which a hook is named.
        warn: Called with the warning, on the watchdog's thread.
    """

    def __init__(self, timeout_s: float, warn: Callable[[str], None]) -> None:
        self._timeout_s = timeout_s
        self._interval_s = timeout_s / _LOOKS
        self._warn = warn
        self._calls: dict[int, _Call] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._is_watching = False

    def watching(self, task: str, sample: str, hook: str) -> _Call:
        """Watch a hook of this thread inside the block."""
        if not self._is_watching:
            self._begin()
        return _Call(self._calls, task, sample, hook)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Pause the watch of this thread's hook inside the block: it waits for a model with its own time limits."""
        call = self._calls.get(threading.get_ident())
        if call is None:
            yield
            return
        call.is_waiting = True
        try:
            yield
        finally:
            call.began = time.monotonic()
            call.is_waiting = False

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def look(self) -> None:
        """Name the hooks that have taken too long."""
        # A hook whose bounded steps used up their time gets a moment to report it.
        late = time.monotonic() - self._timeout_s - self._interval_s
        for thread, call in list(self._calls.items()):
            if call.began < late and not call.is_waiting and not call.is_named:
                call.is_named = True
                self._warn(self._warning(call, sys._current_frames().get(thread)))

    def _begin(self) -> None:
        with self._lock:
            if self._is_watching or self._closed.is_set():
                return
            self._is_watching = True
        threading.Thread(target=self._watch, name="polymeter-watchdog", daemon=True).start()

    def _watch(self) -> None:
        try:
            while not self._closed.is_set():
                # Put off at every look: it prints only if this thread cannot run any more.
                _print_threads_after(self._timeout_s + 2 * self._interval_s)
                self._closed.wait(self._interval_s)
                self.look()
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _warning(self, call: _Call, frame: FrameType | None) -> str:
        of = f" of sample {call.sample!r}" if call.sample else ""
        place = "" if frame is None else f" at {_place(frame)}"
        return (
            f"Task {call.task!r} is still in its own code after more than {self._timeout_s:g} s, in the step "
            f"{call.hook!r}{of}{place}. It cannot be ended from outside: Ctrl-C ends the run."
        )


def _place(innermost: FrameType) -> str:
    """The innermost function of a guest that a thread is in, with file and line; if there is none, of all."""
    frame: FrameType | None = innermost
    while frame is not None and not is_of_guest(frame):
        frame = frame.f_back
    found = frame or innermost
    return f"{found.f_code.co_filename}:{found.f_lineno} ({found.f_code.co_name})"


def _print_threads_after(seconds: float) -> None:
    try:
        faulthandler.dump_traceback_later(seconds, file=sys.stderr)
    except (AttributeError, OSError, ValueError, io.UnsupportedOperation):  # stderr is not a file
        return
