"""Pools of processes inside ``evaluate``: threads that see what their starter sees."""

from __future__ import annotations

import multiprocessing
import threading
from functools import partial

import pytest

from polymeter.core.guest_context import guest_context, guest_context_with
from polymeter.guests.door import current_mode, in_mode
from polymeter.interop.ulmeval.tasks.pools import threads_for_processes


def seen(number: int, times: int = 1) -> tuple[int, bool, str | None]:
    return number * times, guest_context().is_offline, current_mode()


def test_a_guest_s_pool_is_one_of_threads() -> None:
    started: list[int] = []
    before = multiprocessing.Pool
    with guest_context_with(is_offline=True), in_mode("load"), threads_for_processes():
        pool = multiprocessing.Pool(16, started.append, (7,))
        assert pool.map(partial(seen, times=2), range(3)) == [(0, True, "load"), (2, True, "load"), (4, True, "load")]
        assert list(pool.imap(seen, [5])) == [(5, True, "load")]
        assert pool.starmap(seen, [(2, 3)]) == [(6, True, "load")]
        assert pool.apply_async(seen, (4,)).get() == (4, True, "load")
        assert pool.apply(threading.current_thread) is not threading.current_thread()
        with multiprocessing.Pool() as another:
            assert another.map(seen, [1]) == [(1, True, "load")]
    assert started == [7] * 16
    assert multiprocessing.Pool == before


def test_other_code_gets_processes() -> None:
    with threads_for_processes(), multiprocessing.Pool(1) as pool:
        assert pool.map(abs, [-3]) == [3]
        assert type(pool).__name__ == "Pool"


def test_a_clash_of_two_parsers_of_cpython_is_no_failure() -> None:
    failures = [SystemError("AST constructor recursion depth mismatch (before=33, after=30)")]

    def parse(number: int) -> int:
        if failures:
            raise failures.pop()
        return number

    with in_mode("load"), threads_for_processes(), multiprocessing.Pool(2) as pool:
        assert pool.map(parse, [3]) == [3]
        failures.append(SystemError("another"))
        with pytest.raises(SystemError, match="another"):
            pool.map(parse, [3])
