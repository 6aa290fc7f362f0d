"""Time limits that a guest sets with ``signal.alarm``, on threads that Python lets no signal reach.

Scoring code ends what takes too long with an alarm and a handler that raises, as math-verify does. Signals belong to
the main thread, and hooks run on others, where ``signal.signal`` is an error. There an alarm is a timer instead, which
asks the handler what it would raise and raises that in the thread of the hook: between two steps of Python code, as a
handler's exception appears in the main thread.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class _Alarm:
    """The alarm of one thread: its handler, and the timer that is set, if one is."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.handler: Any = signal.SIG_DFL
        self.lock = threading.Lock()
        self.timer: threading.Timer | None = None

    def set(self, seconds: float) -> None:
        """Go off after a time, in place of what was set before; 0: do not."""
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
            self.timer = None
            if seconds > 0:
                timer = threading.Timer(seconds, lambda: self._go_off(timer))
                timer.daemon = True
                self.timer = timer
                timer.start()

    def _go_off(self, timer: threading.Timer) -> None:
        # Held until the exception is under way: an alarm that is taken back meanwhile waits, and is too late.
        with self.lock:
            if self.timer is not timer:
                return
            self.timer = None
            if callable(self.handler):
                raised = _raised_by(self.handler, sys._current_frames().get(self.thread))
                if raised is not None:
                    kind = ctypes.py_object(_class_of(raised))
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread), kind)


def _raised_by(handler: Handler, frame: FrameType | None) -> BaseException | None:
    try:
        handler(signal.SIGALRM, frame)
    except BaseException as error:  # noqa: BLE001  (what it raises is what is wanted)
        return error
    return None


def _class_of(error: BaseException) -> type[BaseException]:
    """A class whose instances, made without arguments, say what an exception says: a thread is sent a class."""
    kind = type(error)
    said = error.args

    def remember(self: BaseException) -> None:
        self.args = said

    return type(kind.__name__, (kind,), {"__init__": remember, "__module__": kind.__module__})


_of_thread = threading.local()


def _alarm() -> _Alarm:
    """The alarm of this thread."""
    if not hasattr(_of_thread, "alarm"):
        _of_thread.alarm = _Alarm()
    made: _Alarm = _of_thread.alarm
    return made


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def serve_alarms() -> None:
    """Let ``signal.signal(SIGALRM)``, ``signal.alarm`` and ``signal.setitimer(ITIMER_REAL)`` work on every thread.
    Called when a guest has imported a package; calling it again changes nothing. On the main thread they stay what
    they are; where a system has no alarms, nothing changes.
    """
    if not hasattr(signal, "SIGALRM") or getattr(signal.signal, "serves_threads", False):
        return
    set_handler, alarm, set_timer = signal.signal, signal.alarm, signal.setitimer

    @wraps(set_handler)
    def set_handler_here(signalnum: int, handler: Any) -> Any:
        if _is_main() or signalnum != signal.SIGALRM:
            return set_handler(signalnum, handler)
        before, _alarm().handler = _alarm().handler, handler
        return before

    @wraps(alarm)
    def alarm_here(seconds: int) -> int:
        if _is_main():
            return alarm(seconds)
        _alarm().set(seconds)
        return 0

    @wraps(set_timer)
    def set_timer_here(which: Any, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if _is_main() or which != signal.ITIMER_REAL:
            return set_timer(which, seconds, interval)
        _alarm().set(seconds)
        return 0.0, 0.0

    set_handler_here.serves_threads = True  # type: ignore[attr-defined]
    for name, served in (("signal", set_handler_here), ("alarm", alarm_here), ("setitimer", set_timer_here)):
        setattr(signal, name, served)
