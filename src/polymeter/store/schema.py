"""The tables of a journal, and the upgrade of one of an older version. Each row has a checksum
(``polymeter.store.checksums``) and the part of the run that wrote it, which records the code and the endpoint. Journals
of schema version 2 have neither. They are read unchanged, and get the empty columns when a run continues in them. Early
journals also get the tables of failed tries, of what models were shown, and of what was reserved under a cap.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.store.database import connect

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
CREATE TABLE IF NOT EXISTS failed_tries (
    task INTEGER NOT NULL, sample INTEGER NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, number INTEGER NOT NULL,
    part INTEGER NOT NULL, checksum INTEGER,
    PRIMARY KEY (part, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shown (digest TEXT PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reservations (
    part INTEGER NOT NULL, number INTEGER NOT NULL, role TEXT NOT NULL, state TEXT NOT NULL, tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL, ms INTEGER NOT NULL, checksum INTEGER, PRIMARY KEY (part, number)) WITHOUT ROWID;
"""
FAILED_TRIES = "failed_tries"
"""The table of tries that failed."""
SHOWN = "shown"
"""The table of records of what models were shown, by digest; answers name them."""
RESERVATIONS = "reservations"
"""The table of what a run under a cap has reserved and spent: its tries, and the time of its parts."""
LATER_TABLES = (FAILED_TRIES, SHOWN, RESERVATIONS)
"""Tables that a journal of version 3 may not have: readers of that version do not need them."""
WITHOUT_TASK = ("parts", "requests", SHOWN, RESERVATIONS)
"""Tables whose rows belong to no task."""
SCHEMA_VERSION = 3
WITHOUT_PARTS = 2
"""The schema version of journals whose rows have neither part nor checksum."""
_ADDED = {
    "requests": ("checksum",),
    "responses": ("part", "checksum"),
    "samples": ("part", "checksum"),
    "scores": ("part", "checksum"),
}


def check_schema(db: sqlite3.Connection, path: Path) -> int:
    """The schema version of a journal; 0 if it is empty.

    Raises:
        PlanError: if this Polymeter does not read it.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return 0
    if version not in (WITHOUT_PARTS, SCHEMA_VERSION):
        raise PlanError(
            f"The journal has schema version {version}; this version of Polymeter writes schema version "
            f"{SCHEMA_VERSION}.",
            where=str(path),
            hint="Continue with the version of Polymeter that started the run, or start a new run.",
        )
    return version


def has_table(db: sqlite3.Connection, table: str, schema: str = "main") -> bool:
    """Return whether a journal has a table, which is one of ``LATER_TABLES``."""
    found = db.execute(f"SELECT count(*) FROM {schema}.sqlite_master WHERE name=?", (table,)).fetchone()
    return bool(found[0])


def upgrade(path: Path) -> None:
    """Make an empty journal, or add the missing columns and tables to an older one.

    Raises:
        PlanError: if it has a schema version that this Polymeter does not read.
        JournalError: if it cannot be read.
    """
    with closing(connect(path, may_create=True)) as db:
        version = check_schema(db, path)
        if version == SCHEMA_VERSION and all(has_table(db, table) for table in LATER_TABLES):
            return
        added = [f"ALTER TABLE {table} ADD COLUMN {name} INTEGER;" for table, names in _ADDED.items() for name in names]
        changes = "".join(added) if version == WITHOUT_PARTS else ""
        db.executescript(f"BEGIN IMMEDIATE;{changes}{SCHEMA}PRAGMA user_version={SCHEMA_VERSION};COMMIT;")
