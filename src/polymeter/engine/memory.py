"""Giving freed memory back to the system.

Decoded images are large and short-lived, and are freed on other threads than they were made on. The GNU C library keeps
most of that memory: it raises the size from which a block is mapped by itself (and so given back as soon as it is
freed) to that of the largest block freed so far, and keeps what is smaller in heaps, one for each thread. Measured with
images of 1024x1024 under a budget of 192 MB, that is 300 MB which no image uses. So that size is set once and for all,
and what is smaller is trimmed from time to time, together with the pages of tables that the images were read from.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from polymeter.core.request import Response
from polymeter.data.mapped import forget_mapped_pages

_TRIM_EVERY_BYTES = 128 * 2**20
_MAP_FROM_BYTES = 2**20
"""A smaller size would map blocks that models allocate by the thousand."""
_KEPT_ON_TOP_BYTES = 16 * 2**20
"""What a heap may keep at its end. The library's own value, 128 kB, would grow and shrink the heap all the time."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>
_BYTES_PER_PIXEL = 4


class Trimmer:
    """Returns the memory of freed media. Does nothing where the C library is not GNU's.

    Args:
        has_media: Whether there will be any; else nothing of the library's is changed.
    """

    def __init__(self, *, has_media: bool) -> None:
        self._trim: Callable[[int], int] | None = None
        self._freed = 0
        if has_media and sys.platform == "linux":
            library = ctypes.CDLL(None)
            self._trim = getattr(library, "malloc_trim", None)
            if self._trim is not None:
                library.mallopt(_M_MMAP_THRESHOLD, _MAP_FROM_BYTES)
                library.mallopt(_M_TRIM_THRESHOLD, _KEPT_ON_TOP_BYTES)
                self._give_back()

    def freed(self, n_bytes: int) -> None:
        """Learn that about so many bytes were freed."""
        self._freed += n_bytes
        if self._freed >= _TRIM_EVERY_BYTES:
            self._give_back()

    def _give_back(self) -> None:
        self._freed = 0
        if self._trim is not None:
            self._trim(0)
            forget_mapped_pages()


def drawn_bytes(response: Response | None) -> int:
    """What the pixels of the images in a response took until they were written to their files."""
    if response is None:
        return 0
    return sum(_BYTES_PER_PIXEL * image.width * image.height for output in response.outputs for image in output.images)
