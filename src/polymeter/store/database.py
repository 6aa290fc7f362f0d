"""Connections to SQLite files. Their errors name the file, the fault and the fix."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

from polymeter.core.errors import PlanError, StorageError
from polymeter.core.machine.places import FREE_SPACE

_RESTORE = "'polymeter verify' shows the damage. Restore a copy, or run the original command again with --restart."
_HINTS = (
    ("disk is full", FREE_SPACE),
    ("disk I/O error", "Check the disk: it may be full or disconnected."),
    ("readonly", "Its folder cannot be written: change its permissions, or name another folder."),
    ("not a database", _RESTORE),
    ("malformed", _RESTORE),
    ("no such table", _RESTORE),
    ("no such column", _RESTORE),
    ("unable to open", "It was deleted or moved, or its folder cannot be read or written."),
    ("locked", "Another program has locked it: close that program."),
)


_ROWS_AT_ONCE = 64
_CACHE_KB = 16_384
"""Requests are kept in the order of their fingerprints, which is random. SQLite's default of 2 MB holds fewer pages
than a transaction of requests touches, so that each would be read, and written, several times.
"""


class JournalError(StorageError):
    """The journal cannot be written or read: a full disk, a lost file system, a damaged file."""


def connect(path: Path, *, may_create: bool = False) -> sqlite3.Connection:
    """A connection to a journal with the settings that all connections share.

    Args:
        path: The journal's file.
        may_create: Whether to create it if it does not exist. A reader never does: the journal of a run that lost it
            would look like one without answers.

    Raises:
        JournalError: if it does not exist, or is not a journal. All errors of SQLite through this connection become one
            too.
    """
    place = f"file:{quote(str(path))}?mode={'rwc' if may_create else 'rw'}"
    with journal_at(path):
        db: _Connection = sqlite3.connect(place, timeout=60, check_same_thread=False, factory=_Connection, uri=True)
        db.path = path
        for setting in ("journal_mode=WAL", "synchronous=NORMAL", f"cache_size=-{_CACHE_KB}"):
            # SQLite counts a statement whose rows were not all read as one that writes, and commits nothing beside it.
            # It would end with its cursor, which a debugger or a profiler may hold.
            with closing(db.execute(f"PRAGMA {setting}")):
                pass
    return db


@contextmanager
def journal_at(path: Path) -> Iterator[None]:
    """Use a journal inside this, and an error of SQLite names its file.

    Raises:
        JournalError: if SQLite fails.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own message may quote damaged text
        raise journal_error(error, path) from error


def journal_error(error: BaseException, path: Path) -> JournalError:
    """Return a new error for one of SQLite or of the file system, or for such a new error."""
    if isinstance(error, JournalError):  # not itself: raised from itself it would be its own cause
        return JournalError(error.what, where=error.where, hint=error.hint)
    hint = next((hint for sign, hint in _HINTS if sign in str(error)), "Check the disk and the file system.")
    return JournalError(f"The journal cannot be used: {error}.", where=str(path), hint=hint)


def check_readable(path: Path) -> None:
    """Check that a journal to read exists.

    Raises:
        PlanError: if there is none.
    """
    if not path.exists():
        raise PlanError("The run has no journal: it was deleted, or is in another folder.", where=str(path))


class _Cursor(sqlite3.Cursor):
    """A cursor whose errors name the journal."""

    def execute(self, *args: Any) -> _Cursor:
        with journal_at(self._path):
            super().execute(*args)
        return self

    def executemany(self, *args: Any) -> _Cursor:
        with journal_at(self._path):
            super().executemany(*args)
        return self

    def executescript(self, *args: Any) -> _Cursor:
        with journal_at(self._path):
            super().executescript(*args)
        return self

    def fetchone(self) -> Any:
        with journal_at(self._path):
            return super().fetchone()

    def fetchall(self) -> list[Any]:
        with journal_at(self._path):
            return super().fetchall()

    def fetchmany(self, *args: Any) -> list[Any]:
        with journal_at(self._path):
            return super().fetchmany(*args)

    def __next__(self) -> Any:
        with journal_at(self._path):
            return super().__next__()

    def __iter__(self) -> Any:
        while rows := self.fetchmany(_ROWS_AT_ONCE):  # a call in Python for each row would cost as much as the row
            yield from rows

    @property
    def _path(self) -> Path:
        db = self.connection
        return db.path if isinstance(db, _Connection) else Path()


class _Connection(sqlite3.Connection):
    """A connection whose errors name the journal."""

    path = Path()

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    # Python's own shortcuts go past the methods of the cursor that they make.
    def execute(self, *args: Any) -> Any:
        return self.cursor().execute(*args)

    def executemany(self, *args: Any) -> Any:
        return self.cursor().executemany(*args)

    def executescript(self, *args: Any) -> Any:
        return self.cursor().executescript(*args)

    def commit(self) -> None:
        with journal_at(self.path):
            super().commit()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> Literal[False]:
        with journal_at(self.path):
            super().__exit__(kind, value, trace)
        return False
