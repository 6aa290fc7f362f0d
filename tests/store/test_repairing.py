"""Damage in a journal is found, and everything that is intact is kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.task import Score
from polymeter.store.checksums import JournalText, checksum, stored_checksum
from polymeter.store.database import JournalError
from polymeter.store.journal import Journal, Session
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.repairing import find_damage, repair
from polymeter.store.schema import upgrade
from tests.store.rows import answer_row, sample_row, score_row

N = 40
PART = Session(7, "code", {"endpoints": {"model": "http://one"}})
values = st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1), st.none())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of forty samples of each of two tasks."""
    journal = tmp_path / "journal.db"
    writer = JournalWriter(journal, ["first", "second"], PART)
    for task in (1, 2):
        writer.put("requests", [(f"f{task}", '{"ask":{}}')])
        writer.put("responses", [answer_row(task, n, f"answer {n}", fingerprint=f"f{task}") for n in range(N)])
        writer.put("scores", [score_row(task, n, Score({("m", "none"): 1.0})) for n in range(N)])
        writer.put("samples", [sample_row(task, n) for n in range(N)])
    writer.close()
    return journal


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(sql).rowcount


@given(row=st.lists(values, min_size=1))
def test_a_stored_row_has_the_checksum_of_the_written_one(row: list[object]) -> None:
    stored = [JournalText(v.encode("utf-8", "backslashreplace")) if isinstance(v, str) else v for v in row]
    assert stored_checksum(stored) == checksum(row)


@given(text=st.binary(min_size=1), bit=st.integers(0, 7), data=st.data())
def test_every_flipped_bit_changes_the_checksum(text: bytes, bit: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    flipped = bytearray(text)
    flipped[place] ^= 1 << bit
    assert stored_checksum([JournalText(flipped)]) != stored_checksum([JournalText(text)])


def test_a_value_of_a_type_that_no_row_has_has_no_checksum() -> None:
    assert stored_checksum([b"blob"]) is None
    assert stored_checksum([1.5]) is None


def test_an_intact_journal_has_no_damage(path: Path) -> None:
    damage = find_damage(path)
    assert not damage
    assert damage.n_rows == 1 + 2 + 3 * 2 * N
    assert damage.n_unchecked == 0


def test_an_answer_that_moves_to_another_turn_keeps_a_right_checksum(path: Path) -> None:
    writer = JournalWriter(path, ["first", "second"], Session(8, "code", {"endpoints": {}}))
    writer.put("turns", [(5, 1, 3, "model", "model-print", "f1", 0)])
    writer.close()
    assert not find_damage(path)
    with closing(Journal(path)) as journal:
        assert [part for sample, _, part in journal.answering_parts("first") if sample == 3] == [7]


def test_text_that_is_not_valid_unicode_is_written_with_a_right_checksum(path: Path) -> None:
    writer = JournalWriter(path, ["first", "second"], PART)
    writer.put("responses", [(1, 99, "model", "m", "f1", 0, 1, '{"outputs":[{"text":"half \ud83d"}]}')])
    writer.close()
    assert not find_damage(path)


@pytest.mark.parametrize(
    ("table", "change_sql", "said"),
    [
        ("responses", "UPDATE responses SET body=body||' ' WHERE task=1 AND sample=3", "1 answer not matching its"),
        ("responses", "UPDATE responses SET turn=2 WHERE sample=3", "2 answers not matching their"),
        ("responses", "UPDATE responses SET sample=77 WHERE sample=3", "2 answers"),
        ("scores", "UPDATE scores SET is_exact=0 WHERE sample=3", "2 scores"),
        ("samples", "UPDATE samples SET status='error' WHERE task=2 AND sample=3", "1 end of a sample"),
        ("requests", "UPDATE requests SET body=CAST(x'ff' AS TEXT) WHERE fingerprint='f1'", "1 request "),
        ("parts", "UPDATE parts SET code='other'", "1 part of the run"),
    ],
)
def test_a_changed_row_is_found_and_the_others_are_kept(path: Path, table: str, change_sql: str, said: str) -> None:
    change(path, change_sql)
    damage = find_damage(path)
    assert set(damage.rows) == {table}
    assert said in damage.describe()
    repair(path)
    assert not find_damage(path)
    lost = damage.rows.get("responses", 0)
    with closing(Journal(path)) as journal:
        n_answers = sum(1 for name in ("first", "second") for _ in journal.exchanges(name))
        assert n_answers == 2 * N - lost
        assert [*journal.rows("first")] == [], "every sample is run again over the answers"
        assert journal.task_ids == {"first": 1, "second": 2}
    assert not list(path.parent.glob("*.repaired"))


def test_a_repaired_journal_does_not_take_over_the_log_of_the_old_one(path: Path) -> None:
    change(path, "UPDATE scores SET body='x' WHERE sample=1")
    with closing(sqlite3.connect(path)) as other:  # a reader keeps the log in place
        other.execute("SELECT count(*) FROM scores").fetchone()
        repair(path)
    assert not path.with_name("journal.db-wal").exists()
    assert not find_damage(path)


def test_a_file_that_cannot_be_read_to_its_end_is_an_error(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 4] = b"\xa5" * 8192
    path.write_bytes(data)
    with pytest.raises(JournalError, match="The journal cannot be used: database disk image is malformed"):
        find_damage(path)


def test_rows_of_an_older_version_cannot_be_checked_and_are_kept(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for table, columns in {
            "requests": ["checksum"],
            "responses": ["part", "checksum"],
            "scores": ["part", "checksum"],
            "samples": ["part", "checksum"],
        }.items():
            for column in columns:
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("DROP TABLE parts")
        db.execute("PRAGMA user_version=2")
    assert find_damage(path).n_rows == 0
    with closing(Journal(path)) as journal:
        assert journal.parts() == {}
        assert {part for *_, part in journal.exchanges_by_part("first")} == {None}
    upgrade(path)
    damage = find_damage(path)
    assert not damage
    assert damage.n_unchecked == damage.n_rows == 2 + 3 * 2 * N
    with closing(Journal(path)) as journal:
        assert sum(journal.marks("first", "completed", N, "seal")) == N
        assert sum(journal.marks("first", "completed", N, "seal", "code")) == 0, "no code is known to have made them"
