"""Giving freed memory back to the system while a run goes on: what the C library keeps of freed images, and the pages
of tables that the images were read from.
"""

from __future__ import annotations

from polymeter.core.memory import map_large_blocks, trim_heaps
from polymeter.core.request import Output
from polymeter.data.mapped import forget_mapped_pages

_TRIM_EVERY_BYTES = 128 * 2**20
_BYTES_PER_PIXEL = 4


class Trimmer:
    """Returns the memory of freed media. Does nothing where the C library is not GNU's.

    Args:
        has_media: Whether there will be any; else nothing of the library's is changed.
    """

    def __init__(self, *, has_media: bool) -> None:
        self._is_active = has_media and map_large_blocks()
        self._freed = 0
        self._give_back()

    def freed(self, n_bytes: int) -> None:
        """Learn that about so many bytes were freed."""
        self._freed += n_bytes
        if self._freed >= _TRIM_EVERY_BYTES:
            self._give_back()

    def _give_back(self) -> None:
        self._freed = 0
        if self._is_active:
            trim_heaps()
            forget_mapped_pages()


def drawn_bytes(output: Output) -> int:
    """What the pixels of the images in an output took until they were written to their files."""
    return sum(_BYTES_PER_PIXEL * image.width * image.height for image in output.images)
