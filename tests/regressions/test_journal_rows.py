"""A damaged journal never gives a silently different result."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import polymeter
from tests.regressions.copies import N, command, here, run

__all__ = ["here"]
HALF = "answers=answers.json,failure=permanent,failure_rate=0.5"


@pytest.fixture
def half(here: Path) -> Path:
    """A run that failed on half of its samples, before it goes on; a third of its answers is right."""
    answers = {str(place): f"word{place}" for place in range(0, N, 3)}
    (here / "answers.json").write_text(json.dumps(answers))
    assert run(here, "--model", "mock", "--model-args", HALF).returncode == 1
    shutil.copytree(here / "run", here / "half")
    assert goes_on(here).returncode == 0
    shutil.copytree(here / "run", here / "whole")
    return here


def goes_on(here: Path):  # type: ignore[no-untyped-def]
    return run(here, "--model", "mock", "--model-args", "answers=answers.json")


def results(here: Path, name: str = "run") -> object:
    return json.loads((here / name / "results.json").read_text())["tasks"]


def samples(here: Path, name: str = "run") -> list[object]:
    """All samples without what differs between equal ones."""
    lines = [json.loads(line) for line in (here / name / "samples" / "copies.jsonl").read_text().splitlines()]
    for line in lines:
        for exchange in line["exchanges"]:
            exchange["response"].pop("latency_ms", None)
    return lines


def restored(here: Path) -> Path:
    """The journal of the run that has half of its samples."""
    shutil.rmtree(here / "run")
    shutil.copytree(here / "half", here / "run")
    return here / "run" / "journal.db"


def set_value(journal: Path, table: str, column: str, value: object, old: object = None) -> None:
    with closing(sqlite3.connect(journal)) as db, db:
        where = "" if old is None else f" WHERE {column}={old!r}"
        assert db.execute(f"UPDATE {table} SET {column}={value}{where}").rowcount


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("scores", "body", "replace(body, '1.0', '0.0')"),
        ("responses", "body", "replace(body, 'word', 'wOrd')"),
        ("samples", "doc", "replace(doc, 'word', 'wOrd')"),
        ("requests", "body", "replace(body, 'Repeat', 'Repent')"),
        ("responses", "body", "cast(body AS BLOB)"),
    ],
)
def test_damaged_rows_are_told_and_made_again(half: Path, table: str, column: str, value: str) -> None:
    set_value(restored(half), table, column, value)
    said = goes_on(half)
    assert said.returncode == 0, said.stderr
    assert results(half) == results(half, "whole")
    assert samples(half) == samples(half, "whole")
    assert "The journal is damaged" in said.stderr
    assert "checksum" in said.stdout, "the results tell of it too"
    assert json.loads((half / "run" / "run.json").read_text())["sessions"][-1]["damage"]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("responses", "body", "substr(body, 1, 9)"),
        ("responses", "body", "'[]'"),
        ("responses", "body", "CAST(x'7bff' AS TEXT)"),
        ("scores", "body", "substr(body, 1, 9)"),
        ("samples", "subset", "'['"),
        ("parts", "body", "'{'"),
    ],
    ids=["cut", "another form", "no text", "a score", "a sample", "a part of the run"],
)
def test_a_damaged_row_of_an_unfinished_run_is_no_traceback(half: Path, table: str, column: str, value: str) -> None:
    set_value(restored(half), table, column, value)
    manifest = json.loads((half / "run" / "run.json").read_text())
    manifest.pop("checksums", None)
    (half / "run" / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    if table == "responses":
        found = polymeter.open_run(half / "run")
        assert found.status == "interrupted"
        (counts,) = [own for (role, _), own in found.usage.items() if role == "model"]
        with closing(sqlite3.connect(half / "run" / "journal.db")) as db:
            n = db.execute("SELECT count(*) FROM responses").fetchone()[0]
        assert (counts.requests, counts.input, counts.unknown["input"]) == (n, None, n)
    else:
        with pytest.raises(polymeter.PolymeterError, match="A row of the journal is damaged"):
            polymeter.open_run(half / "run")
    said = command("report", "run", cwd=half)
    assert "Traceback" not in said.stderr
    resumed = command("resume", "run", cwd=half)
    assert "Traceback" not in resumed.stderr


def test_no_flipped_bit_of_the_journal_gives_another_result_silently(half: Path) -> None:
    """Each is flipped in the journal of a run that has half of its samples, which then goes on."""
    chance = random.Random(7)
    for _ in range(6):
        journal = restored(half)
        data = bytearray(journal.read_bytes())
        place = chance.choice([i for i, byte in enumerate(data) if byte])  # not in unused space
        data[place] ^= 1 << chance.randrange(8)
        journal.write_bytes(data)
        said = goes_on(half)
        if said.returncode == 2:
            assert said.stderr.splitlines()[-1].strip(), "an error says what to do"
            assert "Error: " in said.stderr
            assert "Traceback" not in said.stderr
        elif "The journal is damaged" not in said.stderr:
            assert said.returncode == 0, said.stderr
            assert results(half) == results(half, "whole"), f"byte {place}"
            assert samples(half) == samples(half, "whole"), f"byte {place}"


def test_a_journal_without_checksums_is_read(half: Path) -> None:
    journal = restored(half)
    with closing(sqlite3.connect(journal)) as db, db:
        has_checksums = db.execute("PRAGMA user_version").fetchone()[0] > 2
        for table in ("requests", "responses", "scores", "samples") if has_checksums else ():
            db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
            if table != "requests":
                db.execute(f"ALTER TABLE {table} DROP COLUMN part")
        db.execute("DROP TABLE IF EXISTS parts")
        db.execute("PRAGMA user_version=2")
        before = dict(db.execute("SELECT sample, body FROM responses"))
    said = goes_on(half)
    assert said.returncode == 0, said.stderr
    assert results(half) == results(half, "whole")
    with closing(sqlite3.connect(journal)) as db:
        after = dict(db.execute("SELECT sample, body FROM responses"))
        assert before.items() <= after.items(), "nothing is asked again"
        assert db.execute("SELECT count(*) FROM scores WHERE checksum IS NULL").fetchone()[0] == 0
