"""Writing of answers with images: encoded on several threads beside the model, a bounded number at a time.

Writing an image means to digest, encode and sync it: milliseconds of computing outside Python's lock. The thread that
computes the model hands its answers over and continues. Each answer is journaled once its own images are files, whether
or not those of its batch are, so a run that is killed loses only answers that were not written yet.

A generated image is a file before it is an answer: written losslessly under the digest of its pixels, and passed around
as a ``StoredImage``. A model that draws faster than its images are written waits. So beside the batch that is drawn, at
most one batch and one answer for each writing thread are in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from polymeter.core.machine.hardware import available_cores
from polymeter.core.request import Response
from polymeter.run.schedule.pool import Pool
from polymeter.run.schedule.running_samples import PendingRequest

_MOST_THREADS = 4
"""Faster than any model draws, and cores are left to the model."""
_WRITTEN_TOGETHER = 8
"""So many answers at most share a transaction and a hop to the scheduler."""


class ImageWriters:
    """Writes answers with images on threads of its own.

    Args:
        done: Journals answers and reports them. Called on several threads at a time.
        n_threads: The number of threads; default: as many as there are cores, up to four.
    """

    def __init__(self, done: Callable[[list[PendingRequest]], None], n_threads: int | None = None) -> None:
        self._done = done
        self._n_threads = n_threads or min(_MOST_THREADS, available_cores())
        self._pool = Pool("images", self._n_threads)
        self._changed = threading.Condition()
        self._n_unwritten = 0

    def put(self, answered: Sequence[PendingRequest]) -> None:
        """Take answers. Waits while no thread would be free for them, so that at most one batch and one answer for each
        thread are in memory.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._n_unwritten < self._n_threads)
            self._n_unwritten += len(answered)
        size = max(1, min(_WRITTEN_TOGETHER, len(answered) // self._n_threads))
        for start in range(0, len(answered), size):
            self._pool.submit(partial(self._write, list(answered[start : start + size])))

    def drain(self, timeout_s: float) -> None:
        """Wait until everything is written, but no longer than this."""
        with self._changed:
            self._changed.wait_for(lambda: not self._n_unwritten, timeout=timeout_s)

    def close(self) -> None:
        """Write nothing more."""
        self._pool.close()

    def _write(self, answered: list[PendingRequest]) -> None:
        try:
            self._done(answered)
        finally:
            with self._changed:
                self._n_unwritten -= len(answered)
                self._changed.notify_all()


def sizes_of_images(answered: Sequence[PendingRequest]) -> list[tuple[int, int]]:
    """Width and height of every image in some answers."""
    responses: list[Response] = [one.response for one in answered if one.response is not None]
    return [image.size for response in responses for output in response.outputs for image in output.images]
