"""The checksum of a row of the journal: CRC-32 over its values, which finds every flipped bit of a row.

It guards against damage, not against forgery. SQLite itself checks no content: a bit that flips on a disk or in memory
would otherwise be read as another answer or another score.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

BETWEEN = "\x1f"
_STORED_BETWEEN = BETWEEN.encode()


class JournalText(bytes):
    """The bytes of a text in a journal. They need not be valid Unicode any more; a blob has another type."""

    __slots__ = ()


def checksum(values: Iterable[Any]) -> int:
    """The checksum of a row that is written: texts, integers and ``None``."""
    return text_checksum(BETWEEN.join(map(str, values)))


def text_checksum(text: str, before: int = 0) -> int:
    """The checksum of a row from its values as one text, with ``BETWEEN`` between them.

    Args:
        text: The text, or its end.
        before: The checksum of what comes before.
    """
    # Text that UTF-8 cannot hold is written with that escaped, in the same way.
    return zlib.crc32(text.encode("utf-8", "backslashreplace"), before)


def stored_checksum(values: Iterable[Any]) -> int | None:
    """The checksum of a row as it is read, its texts as ``JournalText``; ``None`` if a value has a type no row has.

    For a row that is intact it equals ``checksum``.
    """
    found = []
    for value in values:
        if type(value) is JournalText:
            found.append(bytes(value))
        elif value is None or type(value) is int:
            found.append(str(value).encode())
        else:
            return None
    return zlib.crc32(_STORED_BETWEEN.join(found))
