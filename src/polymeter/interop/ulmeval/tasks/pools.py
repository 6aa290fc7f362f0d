"""Pools of processes that an ``evaluate`` starts: their work is done by threads of this process.

A pool of sixteen processes that fork from one with many threads can wait forever for a lock that no thread of theirs
holds, and what an author's file defines cannot be found by processes that do not fork. Threads have neither problem,
and see the run's judge.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from multiprocessing.pool import ThreadPool
from typing import Any

from polymeter.guests.door import current_mode, in_this_mode

_MOST = 16
_POOL = "Pool"
_TWO_PARSERS = "AST constructor recursion depth mismatch"


class _Threads(ThreadPool):
    """A pool of threads, each of which sees what the starter of the pool sees."""

    def __init__(self, n: int, initializer: Callable[..., Any] | None, initargs: Sequence[Any]) -> None:
        super().__init__(n, _begin, (copy_context(), initializer, initargs))

    def apply_async(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().apply_async(_parsing_again(in_this_mode(func)), *args, **kwargs)

    def map(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().map(_parsing_again(in_this_mode(func)), *args, **kwargs)

    def map_async(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().map_async(_parsing_again(in_this_mode(func)), *args, **kwargs)

    def starmap(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().starmap(_parsing_again(in_this_mode(func)), *args, **kwargs)

    def starmap_async(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().starmap_async(_parsing_again(in_this_mode(func)), *args, **kwargs)

    def imap(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().imap(_parsing_again(in_this_mode(func)), *args, **kwargs)

    def imap_unordered(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return super().imap_unordered(_parsing_again(in_this_mode(func)), *args, **kwargs)


@contextmanager
def threads_for_processes() -> Iterator[None]:
    """Let ``multiprocessing.Pool`` make pools of threads for guests, inside the block, and end them with it. Code that
    is not a guest's gets its pools as always.
    """
    before: Callable[..., Any] = multiprocessing.Pool
    pools: list[ThreadPool] = []

    def make(processes: int | None = None, initializer: Any = None, initargs: Sequence[Any] = (), *more: Any) -> Any:
        if current_mode() is None:
            return before(processes, initializer, initargs, *more)
        pools.append(_Threads(min(processes or _MOST, _MOST), initializer, initargs))
        return pools[-1]

    setattr(multiprocessing, _POOL, make)
    try:
        yield
    finally:
        setattr(multiprocessing, _POOL, before)
        for pool in pools:
            pool.terminate()


def _parsing_again(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called once more where CPython 3.11 and 3.12 fail because two threads made syntax trees at once."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except SystemError as error:
            if _TWO_PARSERS not in str(error):
                raise
            return function(*arguments, **keywords)

    return call


def _begin(context: Context, initializer: Callable[..., Any] | None, initargs: Sequence[Any]) -> None:
    for variable, value in context.items():
        variable.set(value)
    if initializer is not None:
        initializer(*initargs)
