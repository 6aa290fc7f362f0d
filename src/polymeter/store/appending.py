"""Files beside a run that only grow: one action of a reader in each line, such as a note or a verdict.

Lines are appended under a lock and written to the disk at once, so that two writers at a time lose nothing. A writer
that was killed leaves an unfinished last line, which the next one ends: the line stays in the file, and nothing else is
lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from polymeter.core.errors import StorageError
from polymeter.core.machine.places import stored_at
from polymeter.core.text.json_text import json_text

LARGEST_FILE = 200_000_000
_WAIT_S = 10
_LONGEST_ESCAPE = 6
"""The characters of ``\\uXXXX``: in an unfinished one, the error lies before the end of the line."""


@dataclass(frozen=True, slots=True)
class AppendedLine:
    """A line of the file.

    Attributes:
        number: Its number, from 1.
        entry: The action; ``None``: the line cannot be read.
        is_unfinished: Whether it is the beginning of an action, whose writer was killed.
    """

    number: int
    entry: Mapping[str, Any] | None
    is_unfinished: bool = False


def append(path: Path, entry: Mapping[str, Any], what: str) -> None:
    """Append an action.

    Args:
        path: The file; it need not exist.
        entry: The action.
        what: The actions, for messages ("the notes").

    Raises:
        StorageError: if it cannot be written.
    """
    line = json_text(entry, is_compact=True).encode("utf-8", "replace") + b"\n"
    with stored_at(path, f"Writing {what}"):
        try:
            with FileLock(path.with_name(f".{path.stem}.lock"), timeout=_WAIT_S):
                # A link could lead out of the folder that is viewed.
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
                with os.fdopen(descriptor, "rb+", buffering=0) as file:
                    file.write(_end_of_line(file) + line)
                    os.fsync(file.fileno())
        except Timeout:
            raise StorageError(f"Another program is writing {what}.", where=str(path), hint="Try again.") from None


def read_lines(path: Path, what: str) -> Iterator[AppendedLine]:
    """Yield the lines of a file, also those that cannot be read; none if the file does not exist.

    Args:
        path: The file.
        what: The actions, for messages.

    Raises:
        StorageError: if the file cannot be read.
    """
    with stored_at(path, f"Reading {what}"):
        if not path.exists():
            return
        if path.stat().st_size > LARGEST_FILE:
            raise StorageError(f"The file of {what.removeprefix('the ')} is too large to be read.", where=str(path))
        lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _line(number, line)


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _line(number: int, line: bytes) -> AppendedLine:
    text = line.decode("utf-8", "replace")
    try:
        entry = json.loads(text)
    except json.JSONDecodeError as error:
        return AppendedLine(number, None, text.startswith("{") and _is_cut(text, error))
    except (ValueError, RecursionError):
        return AppendedLine(number, None)
    return AppendedLine(number, entry if isinstance(entry, dict) else None)


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether more text could make a text JSON. Then its error lies at its end, or in its last string."""
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return True
    is_at_end = error.pos >= len(text) - _LONGEST_ESCAPE and not error.msg.startswith("Extra")
    return is_at_end and not text.endswith("}")


def _end_of_line(file: Any) -> bytes:
    """Return the line break that an unfinished last line needs."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return b""
    file.seek(size - 1)
    return b"" if file.read(1) == b"\n" else b"\n"
