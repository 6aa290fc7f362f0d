"""Pages of memory-mapped tables that were read and are not needed any more.

A dataset is mapped from its Arrow file, so every row that is read stays in the process's resident memory until the
system runs short: after a run over 2,000 images that is the whole file. The system can take these pages at any time,
but limits of containers and the figures of ``top`` count them, so they are handed back.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_SUFFIX = ".arrow"
_READ_ONLY = "r--"
_MADV_DONTNEED = 4  # <sys/mman.h>


def forget_mapped_pages() -> None:
    """Take the pages of mapped Arrow files out of resident memory. Whoever reads them again gets the same bytes, most
    often from the system's cache. Does nothing outside Linux.
    """
    if sys.platform != "linux":
        return
    try:
        maps = _MAPS.read_text(encoding="utf-8", errors="replace")
    except OSError:  # /proc is not mounted
        return
    advise = ctypes.CDLL(None).madvise
    for line in maps.splitlines():
        # Arrow maps a table for reading from the start, so no page holds anything but the file's bytes.
        if line.endswith(_SUFFIX) and line.split(maxsplit=2)[1].startswith(_READ_ONLY):
            start, _, end = line.split(maxsplit=1)[0].partition("-")
            first = int(start, 16)
            advise(ctypes.c_void_p(first), ctypes.c_size_t(int(end, 16) - first), _MADV_DONTNEED)
