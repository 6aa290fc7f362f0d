"""Long texts of a large table, kept in a file until they are used.

The file is an anonymous temporary one, in the system's folder for them: it ends with the process, however that ends.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from typing import Any

LONGEST_HELD = 1024
"""Texts of at most this many characters stay in memory."""


class TextFile:
    """A file of texts, which may be read and extended by several threads and read in forked processes.

    Raises:
        OSError: if no temporary file can be made.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="polymeter-table-")  # noqa: SIM115  (it lives as long as its texts)
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._end = 0
        self._is_written = True

    def keep(self, text: str) -> StoredText:
        """Write a text to the file.

        Raises:
            OSError: if the disk refuses it.
        """
        data = text.encode("utf-8", "surrogatepass")
        with self._lock:
            self._file.seek(self._end)
            self._file.write(data)
            start, self._end = self._end, self._end + len(data)
            self._is_written = False
        return StoredText(self, start, len(data), is_list=text[:1] == "[" and text[-1:] == "]")

    def flush(self) -> None:
        """Have every text in the file.

        Raises:
            OSError: if the disk refuses it.
        """
        with self._lock:
            self._file.flush()
            self._is_written = True

    def read(self, start: int, length: int) -> str:
        """A text, by its place and its length in bytes."""
        if not self._is_written:
            self.flush()
        if hasattr(os, "pread"):  # moves no position, which forked processes share
            data = _read_at(self._file.fileno(), start, length)
        else:
            with self._lock:
                self._file.seek(start)
                data = self._file.read(length)
        return data.decode("utf-8", "surrogatepass")


class StoredText:
    """The place of a text in a file.

    Args:
        file: The file.
        start: The number of bytes before it.
        length: Its length in bytes.
        is_list: Whether it is in brackets.
    """

    __slots__ = ("_file", "_length", "_start", "is_list")

    def __init__(self, file: TextFile, start: int, length: int, *, is_list: bool) -> None:
        self._file = file
        self._start = start
        self._length = length
        self.is_list = is_list

    def text(self) -> str:
        """The text, read anew at every call."""
        return self._file.read(self._start, self._length)

    def beside(self, text: str) -> str | StoredText:
        """Another text, in the same file if it is long."""
        return self._file.keep(text) if len(text) > LONGEST_HELD else text


def in_memory(cell: Any) -> Any:
    """A cell with its stored texts read: one, or those of a list."""
    if isinstance(cell, StoredText):
        return cell.text()
    return [in_memory(item) for item in cell] if isinstance(cell, list) else cell


def _read_at(descriptor: int, start: int, length: int) -> bytes:
    """Bytes of a file. One call reads no more than 2 GiB."""
    parts = []
    while length and (part := os.pread(descriptor, length, start)):
        parts.append(part)
        start, length = start + len(part), length - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
