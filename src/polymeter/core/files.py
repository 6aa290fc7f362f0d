"""Writing a file so that a reader sees the old content or the new, never half of it.

A file is written beside its place and renamed over it. The content reaches the disk before the rename (``fsync``), so
a power failure leaves one of the two versions. The directory entry itself is not synced: after a power failure the old
version may come back, which every reader can live with.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_LONGEST_STEM = 60


@contextmanager
def replacing(path: Path, *, binary: bool = False, is_synced: bool = True) -> Iterator[IO[Any]]:
    """A file to write to that takes the place of ``path`` when the block ends without an exception.

    Args:
        path: The place. Its folder is made.
        binary: Whether bytes are written; else text.
        is_synced: Whether to wait for the disk. Leave it out for what can be made again, and is checked before use.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Made by open, so that the process's umask holds: to read it is to set it, for all threads.
    temporary = path.with_name(f".{path.name[:_LONGEST_STEM]}.{uuid.uuid4().hex[:12]}")
    try:
        # Half a character, as cut answers may end in, is written as its JSON escape; UTF-8 has no bytes for it.
        encoding, errors = (None, None) if binary else ("utf-8", "backslashreplace")
        with temporary.open("xb" if binary else "x", encoding=encoding, errors=errors) as file:
            yield file
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
