"""Time limits that guests set with ``signal.alarm``, on threads that are not the main one."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from polymeter.guests import alarms
from polymeter.guests.door import Door


class _Timer:
    """A timer that goes off when the test says so."""

    made: list[_Timer]

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self.seconds = seconds
        self.function = function
        self.is_cancelled = False
        self.daemon = False
        self.made.append(self)

    def start(self) -> None:
        return None

    def cancel(self) -> None:
        self.is_cancelled = True


class _AtOnce(_Timer):
    """A timer whose time is up at once, on a thread of its own."""

    def start(self) -> None:
        threading.Thread(target=self.function, daemon=True).start()


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[_Timer]:
    _Timer.made = []
    for name in ("signal", "getsignal", "alarm", "setitimer"):
        monkeypatch.setattr(signal, name, getattr(signal, name))  # put back afterwards
    alarms.serve_alarms()
    return _Timer.made


def _on_a_thread(function: Callable[[], Any]) -> Any:
    """What a function returns or raises on a thread that is not the main one."""
    said: list[Any] = []

    def call() -> None:
        try:
            said.append(function())
        except Exception as error:
            said.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(60)
    assert said, "the thread has not ended"
    return said[0]


def _too_slow(signum: int, _frame: Any) -> None:
    raise TimeoutError(f"too slow ({signum == signal.SIGALRM})")


def _endless() -> str:
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(5)
    try:
        while True:
            pass
    except TimeoutError as error:
        return f"ended: {error}"
    finally:
        signal.alarm(0)


def test_an_alarm_ends_a_computation_on_a_thread(timers: list[_Timer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", _AtOnce)
    assert _on_a_thread(_endless) == "ended: too slow (True)", "the handler's exception reaches the thread that hangs"
    assert [timer.seconds for timer in timers] == [5]


def test_an_alarm_that_is_taken_back_never_goes_off(timers: list[_Timer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", _Timer)

    def scored() -> str:
        signal.signal(signal.SIGALRM, _too_slow)
        signal.alarm(5)
        signal.alarm(0)
        timers[0].function()  # its time is up although it was cancelled
        return "scored"

    assert _on_a_thread(scored) == "scored"
    assert timers[0].is_cancelled


_PROFILED = """
import signal, sys, threading
from polymeter.guests import alarms

def too_slow(*_):
    raise TimeoutError

def scored(goes_off):
    signal.signal(signal.SIGALRM, too_slow)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01 if goes_off else 60)
        while goes_off:
            pass
    except TimeoutError:
        pass
    signal.alarm(0)

alarms.serve_alarms()
for goes_off in (False, True):
    thread = threading.Thread(target=scored, args=(goes_off,))
    thread.start()
    thread.join()
sys.setprofile(lambda *_: None)
(lambda: None)()
sys.setprofile(None)
print("went on")
"""


def test_after_an_alarm_code_is_profiled_as_before() -> None:
    done = subprocess.run([sys.executable, "-c", _PROFILED], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "went on\n", done.stderr


def test_a_second_alarm_takes_the_place_of_the_first(timers: list[_Timer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", _Timer)

    def scored() -> str:
        before = signal.signal(signal.SIGALRM, _too_slow)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        signal.alarm(7)
        timers[0].function()
        return f"scored, {before == signal.SIG_DFL}, {signal.signal(signal.SIGALRM, signal.SIG_DFL) is _too_slow}"

    assert _on_a_thread(scored) == "scored, True, True", "each call says which handler was there before"
    assert [timer.seconds for timer in timers] == [0.5, 7]


def test_the_main_thread_keeps_pythons_own_signals(timers: list[_Timer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", _Timer)
    before = signal.signal(signal.SIGALRM, _too_slow)
    try:
        assert signal.getsignal(signal.SIGALRM) is _too_slow
        assert signal.alarm(60) == 0
        assert signal.alarm(0) > 0, "the system's own alarm was set"
    finally:
        signal.signal(signal.SIGALRM, before)
    assert timers == []


def test_other_signals_stay_an_error_on_a_thread(timers: list[_Timer]) -> None:
    error = _on_a_thread(lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert isinstance(error, ValueError), error
    assert "main thread" in str(error)
    assert timers == []


def test_what_is_left_and_who_handles_it_are_told(timers: list[_Timer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", _Timer)

    def told() -> Any:
        signal.signal(signal.SIGALRM, _too_slow)
        return signal.alarm(100), signal.alarm(0), signal.alarm(0), signal.getsignal(signal.SIGALRM)

    assert _on_a_thread(told) == (0, 100, 0, _too_slow)


def test_what_a_hook_leaves_behind_ends_with_it(timers: list[_Timer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", _Timer)

    def hooks() -> Any:
        with Door(0).hook("t", "1", "score"):
            signal.signal(signal.SIGALRM, _too_slow)
            signal.alarm(100)
        with Door(0).hook("t", "2", "score"):
            return signal.getsignal(signal.SIGALRM), signal.alarm(0)

    assert _on_a_thread(hooks) == (signal.SIG_DFL, 0), "the next sample has no alarm"
    assert timers[0].is_cancelled


def test_math_verify_parses_on_a_thread(timers: list[_Timer]) -> None:
    math_verify = pytest.importorskip("math_verify")
    gold = _on_a_thread(lambda: math_verify.parse("$\\frac{1}{2}$"))
    assert _on_a_thread(lambda: math_verify.verify(gold, math_verify.parse("$0.5$"))) is True, gold
