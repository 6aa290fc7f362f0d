"""Usage summed from journals: of this version, of older ones, repaired ones and copied ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.records.usage import ModelUsage
from polymeter.core.request import Output, Response, Usage
from polymeter.store.exports.copying import take_answers
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, Session
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.reading.usage import model_names, tokens, usage_of_journal, usage_of_run
from polymeter.store.repairing import find_damage, repair
from polymeter.store.schema import upgrade
from polymeter.store.wire import write_response
from tests.store.rows import answer_row

MANIFEST = {
    "model": {"name": "openai:m"},
    "roles": {"judge": {"name": "openai:j", "fingerprint": "judge-print"}},
}
PART = Session(7, "code", {"usage_version": 1})
OF_OLD = Session(6, "code", {})


def answer(sample: int, usage: Usage | None, *, role: str = "model", **sent: float | None) -> tuple[Any, ...]:
    body = write_response(Response((Output(text="x", usage=usage),)), str, None, sent)
    return (*answer_row(1, sample, role=role)[:-1], body)


def write(path: Path, part: Session | None, rows: list[tuple[Any, ...]], n_failed: int = 0) -> None:
    writer = JournalWriter(path, ["task"], part)
    writer.put("responses", rows)
    writer.put("failed_tries", [(1, 0, "model", "model-print", number) for number in range(n_failed)])
    writer.close()
    writer.check()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.path.mkdir()
    rows = [
        answer(0, Usage(10, 5, 2, 4, 3), images_sent=2, audio_s=1.5),
        answer(1, Usage(10, 5)),
        answer(1, Usage(100, 1, None, 0), role="judge"),
    ]
    write(made.journal, PART, rows, n_failed=3)
    return made


def test_counts_are_by_role_and_model_and_unknown_is_counted(folder: RunFolder) -> None:
    usage = usage_of_run(folder, MANIFEST)
    assert [*usage] == [("model", "openai:m"), ("judge", "openai:j")]
    assert usage["model", "openai:m"] == ModelUsage(
        input=13,
        cached_read=4,
        cached_write=3,
        output=10,
        reasoning=2,
        images_sent=2,
        images_made=0,
        audio_s=1.5,
        requests=2,
        failed=3,
        unknown={"cached_read": 1, "cached_write": 1, "reasoning": 1},
    )
    assert usage["judge", "openai:j"].failed == 0
    assert tokens(usage) == {"input_tokens": 120, "output_tokens": 11}


def test_of_an_older_part_is_unknown_what_was_not_kept(folder: RunFolder) -> None:
    write(folder.journal, OF_OLD, [answer(2, Usage(10, 5, None, 4))])
    usage = usage_of_run(folder, MANIFEST)["model", "openai:m"]
    assert (usage.input, usage.requests, usage.failed) == (19, 3, 3)
    assert {name: usage.unknown[name] for name in ("images_sent", "audio_s", "failed")} == {
        "images_sent": 1,
        "audio_s": 1,
        "failed": 1,
    }


@pytest.mark.parametrize("version", [2, 3])
def test_an_older_journal_is_read_and_gone_on_with(folder: RunFolder, version: int) -> None:
    with closing(sqlite3.connect(folder.journal)) as db, db:
        db.execute("DROP TABLE failed_tries")
        if version == 2:
            for table in ("requests", "responses", "scores", "samples"):
                for column in ("checksum", *(("part",) if table != "requests" else ())):
                    db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            db.execute("DROP TABLE parts")
            db.execute("PRAGMA user_version=2")
    assert not find_damage(folder.journal)
    before = usage_of_run(folder, MANIFEST)["model", "openai:m"]
    assert (before.input, before.requests) == (13, 2)
    assert before.failed == (None if version == 2 else 0)
    upgrade(folder.journal)
    write(folder.journal, PART, [answer(2, Usage(10, 5))], n_failed=2)
    after = usage_of_run(folder, MANIFEST)["model", "openai:m"]
    assert (after.input, after.requests, after.failed) == (23, 3, 2)
    assert after.unknown.get("failed") == (2 if version == 2 else None)


def test_a_repaired_journal_keeps_failed_tries_that_are_intact(folder: RunFolder) -> None:
    with closing(sqlite3.connect(folder.journal)) as db, db:
        db.execute("UPDATE failed_tries SET sample=5 WHERE number=1")
    damage = find_damage(folder.journal)
    assert damage.describe() == "1 failed try not matching its checksum"
    repair(folder.journal)
    assert not find_damage(folder.journal)
    assert usage_of_run(folder, MANIFEST)["model", "openai:m"].failed == 2


def test_taken_answers_bring_their_usage_once(folder: RunFolder) -> None:
    target = RunFolder(folder.path.with_name("target"))
    target.path.mkdir()
    for _ in range(2):
        take_answers(folder, target)
    assert usage_of_run(target, MANIFEST) == usage_of_run(folder, MANIFEST)
    assert not find_damage(target.journal)
    alone = RunFolder(folder.path.with_name("alone"))
    alone.path.mkdir()
    take_answers(folder, alone, with_judges=False)
    assert [*usage_of_run(alone, MANIFEST)] == [("model", "openai:m")]


def test_a_judge_of_an_earlier_scoring_keeps_its_name(folder: RunFolder) -> None:
    spec = {"backend": "openai", "name": "old", "args": {}}
    before = {"model": MANIFEST["model"], "roles": {"judge": {"spec": spec, "fingerprint": "judge-print"}}}
    manifest = {
        "model": MANIFEST["model"],
        "roles": {"judge": {"name": "openai:new", "fingerprint": "other"}},
        "scored_from": {"models": model_names(before)},
    }
    with closing(Journal(folder.journal)) as journal:
        assert [*usage_of_journal(journal, manifest)] == [("model", "openai:m"), ("judge", "openai:old")]


def test_a_folder_without_a_journal_took_nothing_that_is_known(tmp_path: Path) -> None:
    assert usage_of_run(RunFolder(tmp_path), MANIFEST) == {}
    assert tokens({}) == {"input_tokens": 0, "output_tokens": 0}
