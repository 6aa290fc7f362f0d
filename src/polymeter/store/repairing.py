"""Damage in a journal: this module finds rows that do not match their checksums, and writes the journal anew without
them. The key of a damaged row cannot be trusted either, so its sample is unknown. Therefore a repaired journal holds
all intact requests, answers, failed tries, reservations and records of what was shown, but no scores and ends: every
sample is run again over the remaining answers, and only missing ones are requested.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.store.checksums import JournalText, stored_checksum
from polymeter.store.database import connect, journal_at
from polymeter.store.schema import (
    FAILED_TRIES,
    LATER_TABLES,
    RESERVATIONS,
    SCHEMA,
    SCHEMA_VERSION,
    SHOWN,
    WITHOUT_TASK,
    check_schema,
    has_table,
)

_NOUNS = {
    "responses": "answer",
    "scores": "score",
    "samples": "end of a sample",
    "requests": "request",
    "parts": "part of the run",
    FAILED_TRIES: "failed try",
    SHOWN: "record of a shown medium",
    RESERVATIONS: "reservation",
}
_PLURALS = {
    "end of a sample": "ends of samples",
    "part of the run": "parts of the run",
    "failed try": "failed tries",
    "record of a shown medium": "records of shown media",
}
_TEXTS = {
    "parts": ("code", "body"),
    "requests": ("fingerprint", "body"),
    "responses": ("role", "model", "fingerprint", "body"),
    FAILED_TRIES: ("role", "model"),
    SHOWN: ("digest", "body"),
    RESERVATIONS: ("role", "state"),
}
"""The columns that hold text in the tables that a repaired journal keeps."""


@dataclass(frozen=True, slots=True)
class Damage:
    """The damage in a journal.

    Attributes:
        rows: Rows that do not match their checksums, by table.
        structure: SQLite's message on the file; empty if it is intact.
        n_rows: All rows that were read.
        n_unchecked: Of these, the rows of an older version, which have no checksum.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    structure: str = ""
    n_rows: int = 0
    n_unchecked: int = 0

    def __bool__(self) -> bool:
        """Return whether any damage exists."""
        return bool(self.rows or self.structure)

    def describe(self) -> str:
        """The damage, as the beginning of a sentence about the journal."""
        counted = []
        for table, n in self.rows.items():
            noun = _NOUNS[table]
            counted.append(f"{n:,} {noun if n == 1 else _PLURALS.get(noun, noun + 's')}")
        found = [f"{', '.join(counted)} not matching {'its' if self._is_one else 'their'} checksum"] if counted else []
        return "; ".join([*found, *([f"SQLite reports: {self.structure}"] if self.structure else [])])

    @property
    def _is_one(self) -> bool:
        return sum(self.rows.values()) == 1


def find_damage(path: Path) -> Damage:
    """Compare every row of a journal with its checksum, and let SQLite check the file.

    Raises:
        PlanError: if the journal has a schema version that this Polymeter does not read.
        JournalError: if the file cannot be read to its end.
    """
    bad: Counter[str] = Counter()
    n_rows = n_unchecked = 0
    with journal_at(path), closing(connect(path)) as db:
        db.text_factory = JournalText
        has_checksums = check_schema(db, path) == SCHEMA_VERSION
        for table in _tables(db, _NOUNS) if has_checksums else ():
            for _, state in _checked_rows(db, table):
                n_rows += 1
                if state is None:
                    n_unchecked += 1
                if state is False:
                    bad[table] += 1
        said = [str(bytes(line), "utf-8", "replace") for (line,) in db.execute("PRAGMA integrity_check(1)")]
    structure = "" if said == ["ok"] else " ".join(" ".join(said).split())
    return Damage({table: n for table, n in bad.items() if n}, structure, n_rows, n_unchecked)


def repair(path: Path) -> None:
    """Write a journal anew with the requests and answers in it that are intact, and put it in the old one's place.

    Raises:
        JournalError: if the old one cannot be read to its end.
    """
    fresh = path.with_name(path.name + ".repaired")
    fresh.unlink(missing_ok=True)
    with journal_at(path), closing(connect(path)) as old, closing(sqlite3.connect(fresh)) as new:
        old.text_factory = JournalText
        new.executescript(f"{SCHEMA}PRAGMA user_version={SCHEMA_VERSION};")
        with new:
            for number, name in old.execute("SELECT id, name FROM tasks"):
                new.execute("INSERT OR IGNORE INTO tasks VALUES (?,?)", (number, str(bytes(name), "utf-8", "replace")))
            for table in _tables(old, _TEXTS):
                for row, state in _checked_rows(old, table):
                    if state is not False:
                        marks = ",".join("?" * len(row))
                        new.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", [*map(_as_text, row)])
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    # The content of the log is in the new file. If the log stayed, SQLite would replay it into the new file.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    os.replace(fresh, path)


def _tables(db: sqlite3.Connection, names: Iterable[str]) -> list[str]:
    """The tables of these names that a journal must have, or has."""
    return [name for name in names if name not in LATER_TABLES or has_table(db, name)]


def _checked_rows(db: sqlite3.Connection, table: str) -> Iterator[tuple[tuple[Any, ...], bool | None]]:
    """The rows of a table, each with whether it is intact; ``None``: it has no checksum."""
    named = table not in WITHOUT_TASK
    names: dict[Any, Any] = dict(db.execute("SELECT id, name FROM tasks")) if named else {}
    columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
    try:
        texts = [columns.index(JournalText(name.encode())) for name in _TEXTS.get(table, ())]
    except ValueError as error:
        raise sqlite3.DatabaseError(f"no such column in table {table}: {error}") from error
    for row in db.execute(f"SELECT * FROM {table}"):
        values = (names.get(row[0], row[0]), *row[1:-1]) if named else row[:-1]
        found = stored_checksum(values)
        if row[-1] is None and found is not None and all(_is_text(row[place]) for place in texts):
            yield row, None
        else:
            yield row, found is not None and found == row[-1]


def _is_text(value: Any) -> bool:
    """Return whether a value is readable text. Only rows of an older version are checked."""
    try:
        return type(value) is JournalText and value.decode() is not None
    except UnicodeDecodeError:
        return False


def _as_text(value: Any) -> Any:
    return value.decode() if type(value) is JournalText else value
