"""Functions for several threads: locked, run once, tried again, run for many items at a time."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Errors = tuple[type[Exception], ...]

logger = logging.getLogger("polymeter.benchmarks")

# Of the process: it guards the making of the locks of objects, which live as long as these.
_making = threading.RLock()


def thread_safe(func: Callable[..., T]) -> Callable[..., T]:
    """A decorator: one thread at a time is in the function; of a method, one for each object."""
    own = threading.RLock()
    name = f"__lock_{func.__name__}"

    @wraps(func)
    def locked(*args: Any, **kwargs: Any) -> T:
        with _lock_of(args[0], name) if args and hasattr(args[0], "__dict__") else own:
            return func(*args, **kwargs)

    return locked


def run_once(func: Callable[..., T]) -> Callable[..., T]:
    """A decorator: the first call runs the function, and every later one returns its value."""
    lock = threading.RLock()
    values: list[T] = []

    @wraps(func)
    def once(*args: Any, **kwargs: Any) -> T:
        with lock:
            if not values:
                values.append(func(*args, **kwargs))
            return values[0]

    return once


def retry_call(
    func: Callable[..., T],
    *args: Any,
    retries: int | None = 3,
    sleep_interval: float = 0,
    no_retry_exceptions: Errors = (),
    **kwargs: Any,
) -> T:
    """Call a function, and again after an exception.

    Args:
        func: The function.
        *args: Its arguments.
        retries: The number of calls in all; ``None`` is 3.
        sleep_interval: Seconds between two calls.
        no_retry_exceptions: Exceptions that are raised at once.
        **kwargs: Its arguments.
    """
    attempts = _attempts(retries)
    for attempt in range(attempts):
        try:
            return func(*args, **kwargs)
        except no_retry_exceptions:
            raise
        except Exception as error:
            if attempt == attempts - 1:
                raise
            logger.warning("Attempt %d of %d failed: %s", attempt + 1, attempts, error)
            time.sleep(sleep_interval)
    raise AssertionError("There is at least one attempt.")


async def async_retry_call(
    func: Callable[..., Awaitable[T]],
    *args: Any,
    retries: int | None = 3,
    sleep_interval: float = 0,
    no_retry_exceptions: Errors = (),
    **kwargs: Any,
) -> T:
    """``retry_call`` of a coroutine function."""
    attempts = _attempts(retries)
    for attempt in range(attempts):
        try:
            return await func(*args, **kwargs)
        except no_retry_exceptions:
            raise
        except Exception as error:
            if attempt == attempts - 1:
                raise
            logger.warning("Attempt %d of %d failed: %s", attempt + 1, attempts, error)
            await asyncio.sleep(sleep_interval)
    raise AssertionError("There is at least one attempt.")


def run_in_threads_with_progress(  # noqa: PLR0913  (the signature that adapters are written against)
    items: Sequence[T],
    worker: Callable[[T], R],
    *,
    desc: str,
    max_workers: int,
    log_interval: int | None = None,
    on_result: Callable[[T, R], None] | None = None,
    on_error: Callable[[T, Exception], None] | None = None,
    skip_failed: bool = False,
    initial: int = 0,
    total: int | None = None,
) -> list[Any]:
    """Call a function for items, several at a time.

    Args:
        items: The items.
        worker: The function.
        desc: Kept for authors, as all that is about progress: a run shows its own.
        max_workers: The most threads.
        log_interval: Kept for authors.
        on_result: Called here with each item and its value.
        on_error: Called here with each item that failed; without it the first failure is raised.
        skip_failed: Leave failed items out of the values.
        initial: Kept for authors.
        total: Kept for authors.

    Returns:
        The values in the order of the items; ``None`` for a failed one.
    """
    values: list[Any] = [None] * len(items)
    waiting = iter(enumerate(items))
    most = max(1, min(max_workers, len(items)))
    with ThreadPoolExecutor(most) as pool:
        running: dict[Future[R], int] = {}

        def start_next() -> None:
            for at, item in waiting:
                # A thread does not inherit the settings of the run.
                running[pool.submit(copy_context().run, worker, item)] = at
                return

        for _ in range(most):
            start_next()
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                at = running.pop(done)
                try:
                    values[at] = done.result()
                except Exception as error:
                    if on_error is None:
                        raise
                    on_error(items[at], error)
                else:
                    if on_result is not None:
                        on_result(items[at], values[at])
                start_next()
    return [value for value in values if value is not None] if skip_failed else values


def _lock_of(owner: Any, name: str) -> Any:
    with _making:
        if getattr(owner, name, None) is None:
            setattr(owner, name, threading.RLock())
        return getattr(owner, name)


def _attempts(retries: int | None) -> int:
    return 3 if retries is None else max(1, retries)
