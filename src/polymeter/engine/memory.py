"""Giving freed memory back to the system while a run goes on: what the C library keeps of freed images, and the pages
of tables that the images were read from. A few blocks of pixels stay for the next images.
"""

from __future__ import annotations

from polymeter.core.memory import keep_blocks, map_large_blocks, trim_heaps
from polymeter.core.request import Output
from polymeter.data.mapped import forget_mapped_pages

_TRIM_EVERY_BYTES = 128 * 2**20
_SIZED_FROM_BYTES = 8 * 2**20
"""Once so much was freed, it is known how large the images are."""
_BYTES_PER_PIXEL = 4


class Trimmer:
    """Returns the memory of freed media. Does nothing where the C library is not GNU's.

    Args:
        has_media: Whether there will be any; else nothing of the library's is changed.
    """

    def __init__(self, *, has_media: bool) -> None:
        self._is_active = has_media and map_large_blocks()
        self._freed = 0
        self._image_bytes = 0.0
        self._is_sized = False
        self._give_back()

    def freed(self, n_bytes: int, image_bytes: float) -> None:
        """Learn that about so many bytes of images were freed, and how large one of them is."""
        self._freed += n_bytes
        self._image_bytes = max(self._image_bytes, image_bytes)
        if self._freed >= (_TRIM_EVERY_BYTES if self._is_sized else _SIZED_FROM_BYTES):
            if self._is_active:
                keep_blocks(self._image_bytes)
            self._is_sized = True
            self._give_back()

    def close(self) -> None:
        """Keep nothing for further images."""
        if self._is_active and self._is_sized:
            keep_blocks(0)

    def _give_back(self) -> None:
        self._freed, self._image_bytes = 0, 0.0
        if self._is_active:
            trim_heaps()
            forget_mapped_pages()


def drawn_sizes(output: Output) -> list[int]:
    """How many bytes the pixels of each image in an output took until they were written to their files."""
    return [_BYTES_PER_PIXEL * image.width * image.height for image in output.images]
