"""Alarms that a guest sets on a worker thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from polymeter.guests import FunctionRef, resolve
from polymeter.guests.alarms import end_alarm, serve_alarms
from polymeter.guests.door import Door

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="there are no alarms here")


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module's functions as they were, again, afterwards."""
    names = ("signal", "getsignal", "alarm", "setitimer")
    before = {name: getattr(signal, name) for name in names}
    serve_alarms()
    yield
    for name in names:
        setattr(signal, name, before[name])


def on_a_thread(function: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


class TooLongError(Exception):
    """What a guest raises."""

    def __init__(self, seconds: float, what: str) -> None:
        super().__init__(seconds, what)


def too_long(number: int, frame: Any) -> None:
    raise TooLongError(0.01, "an answer")


def test_code_that_takes_too_long_is_ended_where_it_runs() -> None:
    def endless() -> Any:
        before = signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            while True:
                pass
        except TooLongError as error:
            return before, signal.getsignal(signal.SIGALRM), error.args

    assert on_a_thread(endless) == (signal.SIG_DFL, too_long, (0.01, "an answer"))


def test_an_alarm_that_is_cancelled_does_not_go_off() -> None:
    def quick() -> Any:
        signal.signal(signal.SIGALRM, too_long)
        left = signal.alarm(100), signal.alarm(0), signal.alarm(0)
        timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
        return left, all(timer.finished.is_set() for timer in timers)

    assert on_a_thread(quick) == ((0, 100, 0), True)


def test_what_a_hook_leaves_behind_ends_with_it() -> None:
    def hooks() -> Any:
        with Door(0).hook("t", "1", "score"):
            signal.signal(signal.SIGALRM, too_long)
            signal.setitimer(signal.ITIMER_REAL, 100)
        with Door(0).hook("t", "2", "score"):
            return signal.getsignal(signal.SIGALRM), signal.alarm(0)

    assert on_a_thread(hooks) == (signal.SIG_DFL, 0)


def test_a_handler_that_raises_nothing_changes_nothing() -> None:
    called = threading.Event()

    def calm() -> bool:
        signal.signal(signal.SIGALRM, lambda number, frame: called.set())
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        is_called = called.wait(30)
        end_alarm()
        return is_called

    assert on_a_thread(calm)


def test_the_main_thread_and_other_signals_have_what_they_had() -> None:
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        assert signal.getsignal(signal.SIGALRM) is too_long
        assert on_a_thread(lambda: signal.getsignal(signal.SIGALRM)) is signal.SIG_DFL
        with pytest.raises(ValueError, match="main thread"):
            on_a_thread(lambda: signal.signal(signal.SIGUSR1, too_long))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_task_of_the_field_can_limit_its_own_scoring(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(
        "import signal\n\n\n"
        "class timeout:\n"
        "    def handle(self, signum, frame):\n        raise TimeoutError('Timeout')\n\n"
        "    def __enter__(self):\n"
        "        signal.signal(signal.SIGALRM, self.handle)\n        signal.setitimer(signal.ITIMER_REAL, 0.01)\n\n"
        "    def __exit__(self, *_):\n        signal.setitimer(signal.ITIMER_REAL, 0)\n\n\n"
        "def score(answer):\n"
        "    try:\n        with timeout():\n            while answer == 'endless':\n                pass\n"
        "            return 1.0\n"
        "    except TimeoutError as error:\n        return str(error)\n"
    )
    score = resolve(FunctionRef("utils", "score", tmp_path, tmp_path / "t.yaml", 1))
    assert on_a_thread(lambda: [score("quick"), score("endless"), score("quick")]) == [1.0, "Timeout", 1.0]
