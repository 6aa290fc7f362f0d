"""Writing a file so that a reader sees the old content or the new, never half of it.

A file is written beside its place and renamed over it. The content reaches the disk before the rename (``fsync``), so
a power failure leaves one of the two versions. The directory entry itself is not synced: after a power failure the old
version may come back, which every reader can live with.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: Path, *, binary: bool = False, is_synced: bool = True) -> Iterator[IO[Any]]:
    """A file to write to that takes the place of ``path`` when the block ends without an exception.

    Args:
        path: The place. Its folder is made.
        binary: Whether bytes are written; else text.
        is_synced: Whether to wait for the disk. Leave it out for what can be made again, and is checked before use.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        # Half a character, as cut answers may end in, is written as its JSON escape; UTF-8 has no bytes for it.
        encoding, errors = (None, None) if binary else ("utf-8", "backslashreplace")
        with os.fdopen(handle, "wb" if binary else "w", encoding=encoding, errors=errors) as file:
            yield file
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
