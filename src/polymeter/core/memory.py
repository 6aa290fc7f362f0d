"""How the GNU C library hands out and keeps memory.

Decoded images and tables of them are large and short-lived, and are freed on other threads than they were made on. The
library keeps most of that memory: it raises the size from which a block is mapped by itself (and so given back as soon
as it is freed) to that of the largest block freed so far, and keeps what is smaller in heaps, one for each thread.
Measured with images of 1024x1024 under a budget of 192 MB, that is 300 MB which no image uses. So that size is set
once and for all, and what is smaller can be trimmed.

A mapped block costs the system a fault for each of its pages, which takes about as long as decoding into it. So Pillow
keeps some of the blocks that images leave and gives them to the next ones.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

_MAP_FROM_BYTES = 2**20
"""A smaller size would map blocks that models allocate by the thousand."""
_KEPT_ON_TOP_BYTES = 16 * 2**20
"""What a heap may keep at its end. The library's own value, 128 kB, would grow and shrink the heap all the time."""
_MAP_FROM_BESIDE_NETWORK_BYTES = 32 * 2**20  # the most that the library allows
_KEPT_BESIDE_NETWORK_BYTES = 256 * 2**20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>

_KEPT_BLOCKS_BYTES = 24 * 2**20
"""What Pillow may keep in blocks of pixels: a quarter of the media that a run holds unless its user says otherwise."""
_MOST_KEPT_BLOCKS = 64
_LARGEST_IMAGE_BYTES = 16 * 2**20
"""Larger ones are in several blocks, of which a run holds few images anyway: nothing is kept of them."""
_IS_SET = "PILLOW_BLOCKS_MAX"


def map_large_blocks() -> bool:
    """Have large blocks mapped by themselves, from now on; ``False`` where the C library is not GNU's.

    Where PyTorch is imported, only the largest, and the heap keeps more: a network on the processor takes and leaves
    blocks of some megabytes for each layer, and spent a quarter of its time on faults of pages that were new each time.
    """
    library = _library()
    if library is None:
        return False
    has_network = "torch" in sys.modules
    library.mallopt(_M_MMAP_THRESHOLD, _MAP_FROM_BESIDE_NETWORK_BYTES if has_network else _MAP_FROM_BYTES)
    library.mallopt(_M_TRIM_THRESHOLD, _KEPT_BESIDE_NETWORK_BYTES if has_network else _KEPT_ON_TOP_BYTES)
    return True


def trim_heaps() -> None:
    """Give back what is free in the heaps. Does nothing where the C library is not GNU's."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


def keep_blocks(image_bytes: float) -> None:
    """Have Pillow keep blocks of images of about this size, a bounded number of bytes; 0: none.

    https://pillow.readthedocs.io/en/stable/reference/block_allocator.html
    """
    if _IS_SET in os.environ:
        return
    from PIL import Image as pil

    pillow: Any = pil
    is_kept = 0 < image_bytes <= _LARGEST_IMAGE_BYTES
    n_kept = min(_MOST_KEPT_BLOCKS, int(_KEPT_BLOCKS_BYTES / image_bytes)) if is_kept else 0
    if n_kept != pillow.core.get_blocks_max():
        pillow.core.set_blocks_max(n_kept)


@cache
def _library() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None
