"""The journal: every request, response, score and end of a sample, in one SQLite file.

One thread writes, first in, first out; each transaction holds the rows that have arrived during the one before. So no
score or completion digest is ever durable before the responses it rests on, and a run killed at any instant leaves a
journal that a later run continues. The journal survives the death of the process; after a power failure the last
requests may have to be sent again (WAL, ``synchronous=NORMAL``).
"""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Raised, attempt
from polymeter.core.stable_names import OWN_PROMPT_ROLE
from polymeter.core.task import SampleStatus
from polymeter.store.database import JournalError, connect, journal_error

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS requests (fingerprint TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS responses (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    occurrence INTEGER NOT NULL, turn INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (task, sample, role, model, fingerprint, occurrence)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS samples (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, id TEXT NOT NULL, subset TEXT NOT NULL, cluster TEXT, status TEXT
    NOT NULL, error TEXT, doc TEXT, returned TEXT, seal TEXT,
    PRIMARY KEY (task, sample)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, digest TEXT NOT NULL, is_exact INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (task, sample)) WITHOUT ROWID;
"""
_SCHEMA_VERSION = 2
_INSERT = {
    "requests": "INSERT OR IGNORE INTO requests VALUES (?,?)",
    "responses": "INSERT OR REPLACE INTO responses VALUES (?,?,?,?,?,?,?,?)",
    "turns": (
        "UPDATE responses SET turn=?"
        " WHERE task=? AND sample=? AND role=? AND model=? AND fingerprint=? AND occurrence=?"
    ),
    "scores": "INSERT OR REPLACE INTO scores VALUES (?,?,?,?,?)",
    "samples": "INSERT OR REPLACE INTO samples VALUES (?,?,?,?,?,?,?,?,?,?)",
}


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The key of an answer within its sample. ``occurrence`` counts equal requests, so their order does not matter."""

    role: str
    model: str
    fingerprint: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample in the journal; texts are as ``polymeter.store.wire`` writes them."""

    index: int
    id: str
    subset: tuple[str, ...]
    cluster: str | None
    status: SampleStatus
    error: dict[str, Any] | None
    doc: str | None
    score_digest: str | None
    score_is_exact: bool
    score: str | None


_MAX_PENDING = 16_384
_MAX_AT_ONCE = 4_096
SEAL_SEPARATOR = " "
"""Between the completion digest of a sample and the states of the files that it rests on, in one cell: so both are
durable together.
"""
STALE = -1
"""The turn of an answer that its sample no longer rests on, because the request has changed. It is kept in case the
request comes up again.
"""


class JournalWriter:
    """The only writer of a journal. Any thread may put rows; one background thread writes them in that order.

    Args:
        path: The journal's file; created if it does not exist.
        task_names: All tasks of the run.
    """

    def __init__(self, path: Path, task_names: Iterable[str]) -> None:
        with closing(connect(path, may_create=True)) as db, db:
            check_schema(db, path)
            db.executescript(_SCHEMA)
            db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
            db.executemany("INSERT OR IGNORE INTO tasks (name) VALUES (?)", [(name,) for name in task_names])
            self.task_ids: dict[str, int] = {name: number for number, name in db.execute("SELECT id, name FROM tasks")}
        self._path = path
        self._file = _identity(path)
        self._queue: queue.SimpleQueue[tuple[str, Sequence[tuple[Any, ...]]] | threading.Event | None] = (
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
        self._begin()
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        self.check()

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
        opened = attempt(lambda: connect(self._path))
        if isinstance(opened, Raised):
            self._failure = opened.error
        is_open = True
        while is_open:
            batch, waiting, is_open = self._drain()
            if self._failure is None and batch:
                written = attempt(lambda rows=batch: self._insert(opened, rows))  # type: ignore[misc]
                self._failure = written.error if isinstance(written, Raised) else None
            with self._has_room:
                self._n_pending -= sum(len(rows) for _, rows in batch)
                self._has_room.notify_all()
            for event in waiting:
                event.set()
        if not isinstance(opened, Raised):
            opened.close()

    def _insert(self, db: sqlite3.Connection, batch: Sequence[tuple[str, Sequence[tuple[Any, ...]]]]) -> None:
        _insert(db, batch)
        # SQLite goes on writing into a file that was deleted, where nobody finds the rows.
        if _identity(self._path) != self._file:
            raise JournalError(
                "The journal was deleted or replaced while the run was writing it.",
                where=str(self._path),
                hint="Its answers are lost: start the run again, with --restart if its folder is still there.",
            )

    def _drain(self) -> tuple[list[tuple[str, Sequence[tuple[Any, ...]]]], list[threading.Event], bool]:
        """The rows for one transaction: all that have arrived, up to a limit; the events to set afterwards; and whether
        to go on.
        """
        batch: list[tuple[str, Sequence[tuple[Any, ...]]]] = []
        waiting: list[threading.Event] = []
        n_rows = 0
        item = self._queue.get()
        while True:
            if item is None:
                return batch, waiting, False
            if isinstance(item, threading.Event):
                waiting.append(item)
            else:
                batch.append(item)
                n_rows += len(item[1])
            if n_rows >= _MAX_AT_ONCE:
                return batch, waiting, True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return batch, waiting, True


class Journal:
    """Reads a journal, also while it is being written. One per thread.

    Args:
        path: The journal's file.
    """

    def __init__(self, path: Path) -> None:
        self._db = connect(path)
        self.task_ids: dict[str, int] = {
            name: number for number, name in self._db.execute("SELECT id, name FROM tasks")
        }

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def marks(self, task: str, state: str, length: int, completion_digest: str = "") -> bytearray:
        """One byte for each sample of a task: 1 if it is in the requested state.

        Args:
            task: The task.
            state: ``completed``: it is completed with this completion digest; ``answered``: it has at least one answer.
            length: The number of samples of the task.
            completion_digest: The digest that counts as completed.
        """
        marks = bytearray(length)
        number = self.task_ids.get(task)
        if state == "completed":
            samples = self._db.execute(
                "SELECT sample FROM samples WHERE task=? AND substr(seal, 1, ?)=?",
                (number, len(completion_digest), completion_digest),
            )
        else:
            samples = self._db.execute("SELECT DISTINCT sample FROM responses WHERE task=?", (number,))
        for (index,) in samples:
            if index < length:
                marks[index] = 1
        return marks

    def files(self, task: str, completion_digest: str) -> Iterator[tuple[int, str]]:
        """Samples that are completed with a digest and rest on files: index, and the states of the files as text."""
        return self._db.cursor().execute(
            "SELECT sample, substr(seal, ?) FROM samples WHERE task=? AND substr(seal, 1, ?)=?",
            (
                len(completion_digest) + len(SEAL_SEPARATOR) + 1,
                self.task_ids.get(task),
                len(completion_digest) + len(SEAL_SEPARATOR),
                completion_digest + SEAL_SEPARATOR,
            ),
        )

    def answers(self, task: str, index: int) -> dict[AnswerKey, str]:
        """The bodies of all answers of a sample."""
        answers = self._db.execute(
            "SELECT role, model, fingerprint, occurrence, body FROM responses WHERE task=? AND sample=?",
            (self.task_ids.get(task), index),
        )
        return {AnswerKey(*key): body for *key, body in answers}

    def turns(self, task: str, index: int, role: str = "model") -> list[str]:
        """The bodies of a sample's answers in one role, in the order of their requests."""
        bodies = self._db.execute(
            "SELECT body FROM responses WHERE task=? AND sample=? AND role=? AND turn>=0 ORDER BY turn",
            (self.task_ids.get(task), index, role),
        )
        return [body for (body,) in bodies]

    def returned(self, task: str, index: int) -> str | None:
        """What the sample's rollout returned, as text."""
        row = self._db.execute(
            "SELECT returned FROM samples WHERE task=? AND sample=?", (self.task_ids.get(task), index)
        ).fetchone()
        return row[0] if row else None

    def statuses(self, task: str) -> dict[str, int]:
        """The number of ended samples of a task by status."""
        counts = self._db.execute(
            "SELECT status, count(*) FROM samples WHERE task=? GROUP BY status", (self.task_ids.get(task),)
        )
        return dict(counts.fetchall())

    def count_length(self, task: str) -> int:
        """The number of answers of a task that reached their token limit."""
        count = self._db.execute(
            "SELECT count(*) FROM responses WHERE task=? AND role='model' AND turn>=0"
            ' AND body LIKE \'%"finish_reason":"length"%\'',
            (self.task_ids.get(task),),
        )
        return int(count.fetchone()[0])

    def rows(self, task: str) -> Iterator[SampleRow]:
        """All ended samples of a task, in sample order."""
        rows = self._db.cursor().execute(
            "SELECT s.sample, s.id, s.subset, s.cluster, s.status, s.error, s.doc, c.digest, c.is_exact, c.body"
            " FROM samples s LEFT JOIN scores c ON c.task = s.task AND c.sample = s.sample"
            " WHERE s.task=? ORDER BY s.sample",
            (self.task_ids.get(task),),
        )
        for index, name, subset, cluster, status, error, doc, digest, is_exact, score in rows:
            yield SampleRow(
                index,
                name,
                tuple(json.loads(subset)) if subset else (),
                cluster,
                SampleStatus(status),
                json.loads(error) if error else None,
                doc,
                digest,
                bool(is_exact),
                score,
            )

    def exchanges(self, task: str) -> Iterator[tuple[int, str, str, str, str]]:
        """All exchanges of a task: sample, role, fingerprint of the model, request body, response body.

        They are ordered by sample, role and turn. Models' own prompts are left out, because their requests show them.
        """
        return self._db.cursor().execute(
            "SELECT r.sample, r.role, r.model, q.body, r.body"
            " FROM responses r LEFT JOIN requests q ON q.fingerprint = r.fingerprint"
            " WHERE r.task=? AND r.sample>=0 AND r.turn>=0 AND r.role!=? ORDER BY r.sample, r.role, r.turn",
            (self.task_ids.get(task), OWN_PROMPT_ROLE),
        )


def _insert(db: sqlite3.Connection, batch: Sequence[tuple[str, Sequence[tuple[Any, ...]]]]) -> None:
    """Write a batch in one transaction; on text that is not valid Unicode, once more with that escaped."""
    try:
        with db:
            for table, rows in batch:
                db.executemany(_INSERT[table], rows)
    except UnicodeEncodeError:
        with db:
            for table, rows in batch:
                db.executemany(_INSERT[table], [tuple(map(_encodable, row)) for row in rows])


def _encodable(value: Any) -> Any:
    """A text that UTF-8 can hold: a lone surrogate, in which a cut answer may end, becomes its escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Check that a journal is empty or has the schema version of this Polymeter.

    Raises:
        PlanError: if it has another one.
    """
    version = db.execute("PRAGMA user_version").fetchone()[0]
    is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if version != _SCHEMA_VERSION and not is_empty:
        raise PlanError(
            f"The journal has schema version {version}; this Polymeter writes version {_SCHEMA_VERSION}.",
            where=str(path),
            hint="Continue with the version that started the run, or start a new run.",
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file at a path from another one that takes its place; ``None`` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
