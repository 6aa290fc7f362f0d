"""The only writer of a journal.

One thread writes, first in, first out; each transaction holds the rows that have arrived during the one before. So no
score or completion digest is ever durable before the responses it rests on, and a run killed at any instant leaves a
journal that a later run continues. The journal survives the death of the process; after a power failure the last
requests may have to be sent again (WAL, ``synchronous=NORMAL``).

While rows come by the thousand each second, a transaction gathers them for a moment: many small ones would write the
same pages again and again. Paid answers come far more slowly, and are written at once.
"""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from polymeter.core.errors import Raised, attempt
from polymeter.store.checksums import BETWEEN, checksum, text_checksum
from polymeter.store.database import JournalError, connect, journal_error
from polymeter.store.journal import Session
from polymeter.store.schema import FAILED_TRIES, RESERVATIONS, SHOWN, WITHOUT_TASK, upgrade

_INSERT = {
    "requests": ("INSERT OR IGNORE INTO requests VALUES", 3),
    "responses": ("INSERT OR REPLACE INTO responses VALUES", 10),
    "scores": ("INSERT OR REPLACE INTO scores VALUES", 7),
    "samples": ("INSERT OR REPLACE INTO samples VALUES", 12),
    FAILED_TRIES: ("INSERT INTO failed_tries VALUES", 7),
    SHOWN: ("INSERT OR IGNORE INTO shown VALUES", 3),
    RESERVATIONS: ("INSERT OR REPLACE INTO reservations VALUES", 8),
}
"""Each table's statement, and its number of columns."""
_TURN = (
    "UPDATE responses SET turn=?1, checksum=CASE WHEN checksum IS NULL THEN NULL ELSE"
    " row_checksum(task, sample, role, model, fingerprint, occurrence, ?1, body, part) END"
    " WHERE task=?2 AND sample=?3 AND role=?4 AND model=?5 AND fingerprint=?6 AND occurrence=?7 AND turn!=?1"
)
_ROWS_PER_STATEMENT = (256, 16) if sqlite3.sqlite_version_info >= (3, 32) else (64, 16)
"""Rows that one call of SQLite inserts, as long as there are so many. Other threads run during each call, and
afterwards this one waits until they let go of the interpreter, so few large calls are done sooner. Older versions of
SQLite accept at most 999 values.
"""
_MAX_PENDING = 16_384
_MAX_AT_ONCE = 8_192
_BUSY_ROWS = 512
_GATHER_S = 0.05
"""After a transaction of this many rows, the next one gathers rows for a moment."""


class JournalWriter:
    """The only writer of a journal. Any thread may put rows; one background thread writes them in that order.

    Args:
        path: The journal's file; created if it does not exist.
        task_names: All tasks of the run.
        part: The part of the run that writes; ``None``: the rows belong to no part.

    Raises:
        PlanError: if the journal has a schema version that this Polymeter does not read.
        JournalError: if it cannot be read.
    """

    def __init__(self, path: Path, task_names: Iterable[str], part: Session | None = None) -> None:
        upgrade(path)
        with closing(connect(path)) as db, db:
            db.executemany("INSERT OR IGNORE INTO tasks (name) VALUES (?)", [(name,) for name in task_names])
            self.task_ids: dict[str, int] = {name: number for number, name in db.execute("SELECT id, name FROM tasks")}
            if part is not None:
                row = (part.id, part.code, json.dumps(dict(part.facts), ensure_ascii=False))
                db.execute("INSERT OR REPLACE INTO parts VALUES (?,?,?,?)", (*row, checksum(row)))
        self._path = path
        self._file = _identity(path)
        self._part = None if part is None else part.id
        self._names = {number: name for name, number in self.task_ids.items()}
        self._queue: queue.SimpleQueue[tuple[str, Sequence[tuple[Any, ...]]] | Callable[[], object] | None] = (
            queue.SimpleQueue()
        )
        self._failure: BaseException | None = None
        self._n_pending = 0
        self._has_room = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._beginning = threading.Lock()

    def put(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Queue rows of a table; waits while the writer is far behind, so that the queue stays bounded.

        Raises:
            JournalError: if an earlier write failed; nothing more is accepted.
        """
        self.check()
        if not rows:
            return
        self._begin()
        with self._has_room:
            self._has_room.wait_for(lambda: self._n_pending < _MAX_PENDING or self._failure is not None)
            self._n_pending += len(rows)
        self._queue.put((table, rows))

    def flush(self) -> None:
        """Wait until all rows put so far survive the death of the process."""
        done = threading.Event()
        self.after_commit(done.set)
        done.wait()
        self.check()

    def after_commit(self, call: Callable[[], object]) -> None:
        """Have a function called, on the writer's thread, when all rows put so far survive the death of the process, or
        when a write has failed, which ``check`` reports.
        """
        self._begin()
        self._queue.put(call)

    def close(self) -> None:
        """Write all queued rows and stop."""
        self._begin()
        self._queue.put(None)
        self._thread.join()

    def _begin(self) -> None:
        """Start the thread when it is first needed, so that the constructor starts none."""
        with self._beginning:
            if self._thread.ident is None:
                self._thread.start()

    def check(self) -> None:
        """Check that no write has failed.

        Raises:
            JournalError: if one has.
        """
        if self._failure is not None:
            raise journal_error(self._failure, self._path) from self._failure

    def _work(self) -> None:
        opened = attempt(self._connect)
        if isinstance(opened, Raised):
            self._failure = opened.error
        is_open, gather_s = True, 0.0
        while is_open:
            batch, waiting, is_open = self._drain(gather_s)
            gather_s = _GATHER_S if sum(len(rows) for _, rows in batch) >= _BUSY_ROWS else 0.0
            if self._failure is None and batch:
                written = attempt(lambda rows=batch: self._insert(opened, rows))  # type: ignore[misc]
                self._failure = written.error if isinstance(written, Raised) else None
            with self._has_room:
                self._n_pending -= sum(len(rows) for _, rows in batch)
                self._has_room.notify_all()
            for call in waiting:
                call()
        if not isinstance(opened, Raised):
            opened.close()

    def _connect(self) -> sqlite3.Connection:
        db = connect(self._path)
        db.create_function("row_checksum", -1, self._checksum, deterministic=True)
        return db

    def _checksum(self, task: int, *values: Any) -> int:
        """The checksum of a row that belongs to a task. It holds the task's name and not its number, which differs in a
        journal that the row is copied to.
        """
        return checksum((self._names.get(task, task), *values))

    def _insert(self, db: sqlite3.Connection, batch: Sequence[tuple[str, Sequence[tuple[Any, ...]]]]) -> None:
        """Write a batch in one transaction; on text that is not valid Unicode, once more with that escaped."""
        try:
            with db:
                for table, rows in _by_table(batch):
                    self._put(db, table, rows)
        except UnicodeEncodeError:
            with db:
                for table, rows in _by_table(batch):
                    self._put(db, table, [tuple(map(_encodable, row)) for row in rows])
        # SQLite continues to write into a deleted file, where nobody finds the rows. So this is checked after each
        # transaction; a reader never creates the file either.
        if _identity(self._path) != self._file:
            raise JournalError(
                "The journal was deleted or replaced while the run was writing it.",
                where=str(self._path),
                hint="Its answers are lost: start the run again, with --restart if its folder still exists.",
            )

    def _put(self, db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows of a table."""
        if table == "turns":
            db.executemany(_TURN, rows)
            return
        statement, n_columns = _INSERT[table]
        row_of_values = f"({','.join('?' * n_columns)})"
        whole, start = self._whole(table, rows), 0
        for size in _ROWS_PER_STATEMENT:
            of_block = f"{statement} {','.join([row_of_values] * size)}"
            while len(whole) - start >= size:
                db.execute(of_block, list(chain.from_iterable(whole[start : start + size])))
                start += size
        db.executemany(f"{statement} {row_of_values}", whole[start:])

    def _whole(self, table: str, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """Rows of a table other than ``turns`` with the part that writes them, and their checksums, which are made from
        a text with all values: one format takes half as long as joining the values.
        """
        n_columns, part = _INSERT[table][1], self._part
        if table in WITHOUT_TASK:
            form = BETWEEN.join(["%s"] * (n_columns - 1))
            return [(*row, text_checksum(form % row)) for row in rows]
        of_task = {number: self._checksum(number) for number in {row[0] for row in rows}}
        form = BETWEEN.join(["%.0s", *["%s"] * (n_columns - 3), str(part)])  # nothing of the task's number
        return [(*row, part, text_checksum(form % row, of_task[row[0]])) for row in rows]

    def _drain(
        self, gather_s: float
    ) -> tuple[list[tuple[str, Sequence[tuple[Any, ...]]]], list[Callable[[], object]], bool]:
        """The rows for one transaction: all that have arrived, up to a limit; what to call afterwards; and whether to
        continue.

        Args:
            gather_s: The time to wait for more rows, unless somebody waits for the queued ones.
        """
        batch: list[tuple[str, Sequence[tuple[Any, ...]]]] = []
        waiting: list[Callable[[], object]] = []
        n_rows = 0
        item = self._queue.get()
        until_s = time.monotonic() + gather_s
        while True:
            if item is None:
                return batch, waiting, False
            if callable(item):
                waiting.append(item)
            else:
                batch.append(item)
                n_rows += len(item[1])
            if n_rows >= _MAX_AT_ONCE:
                return batch, waiting, True
            left_s = 0.0 if waiting or not gather_s else until_s - time.monotonic()
            try:
                item = self._queue.get(timeout=left_s) if left_s > 0 else self._queue.get_nowait()
            except queue.Empty:
                return batch, waiting, True


def _by_table(
    batch: Iterable[tuple[str, Sequence[tuple[Any, ...]]]],
) -> Iterator[tuple[str, Sequence[tuple[Any, ...]]]]:
    """The rows of a transaction, those of a table together and in order. Turns are set in the answers before them and
    in none behind them.
    """
    together: dict[str, list[tuple[Any, ...]]] = {}
    for table, rows in batch:
        if table == "turns":
            yield from together.items()
            together = {}
            yield table, rows
        else:
            together.setdefault(table, []).extend(rows)
    yield from together.items()


def _encodable(value: Any) -> Any:
    """A text that UTF-8 can hold: a lone surrogate, in which a cut answer may end, becomes its escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path, which another file in its place does not have; ``None`` if there is
    none.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
