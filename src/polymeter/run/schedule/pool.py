"""Worker threads whose waiting does not count: a job that waits for an answer gives its slot to another."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context


class Pool:
    """Runs jobs on daemon threads, at most ``slots`` of them at a time, not counting those that wait inside
    ``waiting``. Each thread begins in a copy of the context that the pool was made in, so jobs see what holds for the
    run.

    Args:
        name: For thread names.
        slots: How many jobs may run at a time.

    Attributes:
        slots: As told; a change holds for the jobs that begin after it.
    """

    def __init__(self, name: str, slots: int) -> None:
        self._name = name
        self.slots = slots
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._running = 0
        self._idle = 0
        self._is_closed = False
        # Which threads are the pool's own; it ends with them.
        self._mine = threading.local()
        self._context = copy_context()

    def submit(self, job: Callable[[], None]) -> None:
        """Queue a job. A job must handle its own exceptions."""
        with self._changed:
            self._jobs.append(job)
            self._wake()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give up this thread's slot for as long as the block lasts. Does nothing on a thread of somebody else."""
        if not getattr(self._mine, "has_slot", False):
            yield
            return
        with self._changed:
            self._running -= 1
            self._wake()
        try:
            yield
        finally:
            with self._changed:
                self._running += 1

    def close(self) -> None:
        """Take no more jobs; threads end when theirs do."""
        with self._changed:
            self._is_closed = True
            self._jobs.clear()
            self._changed.notify_all()

    def _wake(self) -> None:
        if not self._jobs or self._running >= self.slots:
            return
        if self._idle:
            self._changed.notify()
        else:
            begin = self._context.copy().run
            threading.Thread(target=begin, args=(self._work,), name=f"polymeter-{self._name}", daemon=True).start()

    def _work(self) -> None:
        self._mine.has_slot = True
        has_run = False
        while True:
            with self._changed:
                # The next job is this thread's own: to wake another one for it would mostly wake it for nothing.
                if has_run:
                    self._running -= 1
                while not self._is_closed and not (self._jobs and self._running < self.slots):
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                if self._is_closed:
                    return
                job = self._jobs.popleft()
                self._running += 1
                has_run = True
                self._wake()
            try:
                job()
            except BaseException:
                with self._changed:
                    self._running -= 1
                    self._wake()
                raise
            finally:
                del job  # what it holds would stay in memory for as long as this thread waits for the next
