"""The journal: every request, response, score and end of a sample, in one SQLite file.

One thread writes, first in, first out; each transaction holds the rows that have arrived during the one before. So no
score or completion digest is ever durable before the responses it rests on, and a run killed at any instant leaves a
journal that a later run continues. The journal survives the death of the process; after a power failure the last
requests may have to be sent again (WAL, ``synchronous=NORMAL``).

Each row carries a checksum (``polymeter.store.checksums``) and the part of the run that wrote it, by which it is known
with which code and at which endpoint it came about. Journals of schema version 2 have neither; they are read as they
are and get the columns, empty, when a run goes on in them.
"""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Raised, attempt
from polymeter.core.stable_names import OWN_PROMPT_ROLE
from polymeter.core.task import SampleStatus
from polymeter.store.checksums import checksum
from polymeter.store.database import JournalError, connect, journal_error

SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS parts (id INTEGER PRIMARY KEY, code TEXT NOT NULL, body TEXT NOT NULL, checksum INTEGER);
CREATE TABLE IF NOT EXISTS requests (
    fingerprint TEXT PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS responses (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    occurrence INTEGER NOT NULL, turn INTEGER NOT NULL, body TEXT NOT NULL, part INTEGER, checksum INTEGER,
    PRIMARY KEY (task, sample, role, model, fingerprint, occurrence)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS samples (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, id TEXT NOT NULL, subset TEXT NOT NULL, cluster TEXT, status TEXT
    NOT NULL, error TEXT, doc TEXT, returned TEXT, seal TEXT, part INTEGER, checksum INTEGER,
    PRIMARY KEY (task, sample)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, digest TEXT NOT NULL, is_exact INTEGER NOT NULL, body TEXT NOT NULL,
    part INTEGER, checksum INTEGER,
    PRIMARY KEY (task, sample)) WITHOUT ROWID;
"""
SCHEMA_VERSION = 3
_WITHOUT_PARTS = 2
"""The schema version of journals whose rows have neither part nor checksum."""
_ADDED = {
    "requests": ("checksum",),
    "responses": ("part", "checksum"),
    "samples": ("part", "checksum"),
    "scores": ("part", "checksum"),
}
_INSERT = {
    "requests": "INSERT OR IGNORE INTO requests VALUES (?,?,?)",
    "responses": "INSERT OR REPLACE INTO responses VALUES (?,?,?,?,?,?,?,?,?,?)",
    "turns": (
        "UPDATE responses SET turn=?1, checksum=CASE WHEN checksum IS NULL THEN NULL ELSE"
        " row_checksum(task, sample, role, model, fingerprint, occurrence, ?1, body, part) END"
        " WHERE task=?2 AND sample=?3 AND role=?4 AND model=?5 AND fingerprint=?6 AND occurrence=?7 AND turn!=?1"
    ),
    "scores": "INSERT OR REPLACE INTO scores VALUES (?,?,?,?,?,?,?)",
    "samples": "INSERT OR REPLACE INTO samples VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
}
_STATES = {
    "answered": "SELECT DISTINCT sample FROM responses WHERE task=?",
    "failed": "SELECT sample FROM samples WHERE task=? AND status IN ('error', 'unscored')",
    "declined": "SELECT sample FROM samples WHERE task=? AND status IN ('refused', 'truncated')",
}


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The key of an answer within its sample. ``occurrence`` counts equal requests, so their order does not matter."""

    role: str
    model: str
    fingerprint: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a run, between one start of it and its end, as the rows that it writes refer to it.

    Attributes:
        id: Unique among the parts of all runs, because ``score`` copies answers from one journal to another.
        code: Digest of Polymeter's code between a row and its score.
        facts: When and where it ran, and at which endpoints, as plain data.
    """

    id: int
    code: str
    facts: Mapping[str, Any]


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
STALE = -1
"""The turn of an answer that its sample no longer rests on, because the request has changed. It is kept in case the
request comes up again.
"""
SEAL_SEPARATOR = " "
"""Between the completion digest of a sample and the states of the files that it rests on, in one cell: so both are
durable together.
"""


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

    def __init__(self, path: Path, task_names: Iterable[str], part: Part | None = None) -> None:
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
        opened = attempt(self._connect)
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

    def _connect(self) -> sqlite3.Connection:
        db = connect(self._path)
        db.create_function("row_checksum", -1, self._checksum, deterministic=True)
        return db

    def _checksum(self, task: int, *values: Any) -> int:
        """The checksum of a row that belongs to a task. It holds the task's name and not its number, which is another
        one in a journal that the row is copied to.
        """
        return checksum((self._names.get(task, task), *values))

    def _insert(self, db: sqlite3.Connection, batch: Sequence[tuple[str, Sequence[tuple[Any, ...]]]]) -> None:
        """Write a batch in one transaction; on text that is not valid Unicode, once more with that escaped."""
        try:
            with db:
                for table, rows in batch:
                    db.executemany(_INSERT[table], self._whole(table, rows))
        except UnicodeEncodeError:
            with db:
                for table, rows in batch:
                    db.executemany(_INSERT[table], self._whole(table, [tuple(map(_encodable, row)) for row in rows]))
        # SQLite goes on writing into a file that was deleted, where nobody finds the rows.
        if _identity(self._path) != self._file:
            raise JournalError(
                "The journal was deleted or replaced while the run was writing it.",
                where=str(self._path),
                hint="Its answers are lost: start the run again, with --restart if its folder is still there.",
            )

    def _whole(self, table: str, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """Rows with the part that writes them, and their checksums."""
        if table == "turns":
            return rows
        if table == "requests":
            return [(*row, checksum(row)) for row in rows]
        part = self._part
        return [(*row, part, self._checksum(*row, part)) for row in rows]

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

    Raises:
        JournalError: if it cannot be read; so does every method.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = connect(path)
        self._has_parts = self._db.execute("PRAGMA user_version").fetchone()[0] > _WITHOUT_PARTS
        self.task_ids: dict[str, int] = {
            name: number for number, name in self._db.execute("SELECT id, name FROM tasks")
        }

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def marks(
        self, task: str, state: str, length: int, completion_digest: str = "", code: str | None = None
    ) -> bytearray:
        """One byte for each sample of a task: 1 if it is in the requested state.

        Args:
            task: The task.
            state: ``completed``: it is completed with this completion digest; ``answered``: it has at least one answer;
                ``failed``: it ended with an error, or unscored; ``declined``: it ended refused or truncated.
            length: The number of samples of the task.
            completion_digest: The digest that counts as completed.
            code: The digest of the code that must have completed it; ``None``: any.
        """
        marks = bytearray(length)
        number = self.task_ids.get(task)
        if state != "completed":
            samples = self._db.execute(_STATES[state], (number,))
        else:
            by_code = "" if code is None else " AND part IN (SELECT id FROM parts WHERE code=?)"
            samples = self._db.execute(
                f"SELECT sample FROM samples WHERE task=? AND substr(seal, 1, ?)=?{by_code}",
                (number, len(completion_digest), completion_digest, *(() if code is None else (code,))),
            )
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

    def parts(self) -> dict[int, Part]:
        """The parts of the run that wrote rows, by id."""
        if not self._has_parts:
            return {}
        rows = self._db.execute("SELECT id, code, body FROM parts").fetchall()
        return {number: Part(number, code, json.loads(body)) for number, code, body in rows}

    def answering_parts(self, task: str) -> Iterator[tuple[int, str, int | None]]:
        """Which parts of the run answered which samples of a task: sample, role and part; ``None``: one of an older
        version.
        """
        part = "part" if self._has_parts else "NULL"
        yield from self._db.cursor().execute(
            f"SELECT DISTINCT sample, role, {part} FROM responses WHERE task=? AND turn>=0 AND role!=?",
            (self.task_ids.get(task), OWN_PROMPT_ROLE),
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

    def asked(self, task: str, index: int) -> list[tuple[str, str, str | None, str]]:
        """What a sample asked and was answered, by role and turn: role, fingerprint of the request, bodies of both."""
        return self._db.execute(
            "SELECT r.role, r.fingerprint, q.body, r.body"
            " FROM responses r LEFT JOIN requests q ON q.fingerprint = r.fingerprint"
            " WHERE r.task=? AND r.sample=? AND r.turn>=0 AND r.role!=? ORDER BY r.role, r.turn, r.occurrence",
            (self.task_ids.get(task), index, OWN_PROMPT_ROLE),
        ).fetchall()

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
        return self._exchanges(task, "r.sample, r.role, r.model, q.body, r.body")

    def exchanges_by_part(self, task: str) -> Iterator[tuple[int, str, str, str, str, int | None]]:
        """All exchanges of a task, each with the part of the run that has the answer; ``None``: one of an older
        version.
        """
        part = "r.part" if self._has_parts else "NULL"
        return self._exchanges(task, f"r.sample, r.role, r.model, q.body, r.body, {part}")

    def _exchanges(self, task: str, columns: str) -> Iterator[Any]:
        yield from self._db.cursor().execute(
            f"SELECT {columns} FROM responses r LEFT JOIN requests q ON q.fingerprint = r.fingerprint"
            " WHERE r.task=? AND r.sample>=0 AND r.turn>=0 AND r.role!=? ORDER BY r.sample, r.role, r.turn",
            (self.task_ids.get(task), OWN_PROMPT_ROLE),
        )


def _encodable(value: Any) -> Any:
    """A text that UTF-8 can hold: a lone surrogate, in which a cut answer may end, becomes its escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def check_schema(db: sqlite3.Connection, path: Path) -> int:
    """The schema version of a journal; 0 if it is empty.

    Raises:
        PlanError: if this Polymeter does not read it.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return 0
    if version not in (_WITHOUT_PARTS, SCHEMA_VERSION):
        raise PlanError(
            f"The journal has schema version {version}; this Polymeter writes version {SCHEMA_VERSION}.",
            where=str(path),
            hint="Continue with the version that started the run, or start a new run.",
        )
    return version


def upgrade(path: Path) -> None:
    """Make an empty journal, or give one of schema version 2 the columns that its rows lack.

    Raises:
        PlanError: if it has a schema version that this Polymeter does not read.
        JournalError: if it cannot be read.
    """
    with closing(connect(path, may_create=True)) as db:
        version = check_schema(db, path)
        if version == SCHEMA_VERSION:
            return
        added = [f"ALTER TABLE {table} ADD COLUMN {name} INTEGER;" for table, names in _ADDED.items() for name in names]
        changes = "".join(added) if version == _WITHOUT_PARTS else ""
        db.executescript(f"BEGIN IMMEDIATE;{changes}{SCHEMA}PRAGMA user_version={SCHEMA_VERSION};COMMIT;")


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file at a path from another one that takes its place; ``None`` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
