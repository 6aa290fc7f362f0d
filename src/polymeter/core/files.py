"""Writing a file so that a reader sees the old content or the new, never a part of it.

The content is written to a temporary file in the same folder, which then replaces the target by a rename. The content
reaches the disk before the rename (``fsync``), so a power failure leaves one of the two versions. The directory entry
itself is not synced: after a power failure the old version may come back, which no reader minds.
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
    """A file to write to, which replaces ``path`` when the block ends without an exception.

    Args:
        path: The target. Its folder is made.
        binary: Whether bytes are written; else text.
        is_synced: Whether to wait for the disk. Not needed for files that can be made again and are checked before use.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Created by open and not by tempfile, so that the umask applies. To read the umask is to set it, for all threads.
    temporary = path.with_name(f".{path.name[:_LONGEST_STEM]}.{uuid.uuid4().hex[:12]}")
    try:
        # A truncated answer may end in half a surrogate pair, which UTF-8 cannot hold: it is written as its JSON
        # escape.
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
