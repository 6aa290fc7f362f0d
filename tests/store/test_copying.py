"""Answers are taken over into another folder: all of them, once, with their media, and without scores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.task import Score
from polymeter.store.exports.copying import take_answers
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.media import media_path
from tests.store.rows import answer_row, sample_row, score_row

HALF = Score({("acc", "none"): 0.5})


@pytest.fixture
def source(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "source")
    folder.path.mkdir()
    write(folder, ["first", "second"], [(1, 0, "a"), (2, 0, "b")])
    picture = media_path(folder.media, "abcd.png")
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"picture")
    return folder


def write(folder: RunFolder, names: list[str], answers: list[tuple[int, int, str]]) -> None:
    writer = JournalWriter(folder.journal, names)
    writer.put("requests", [("f", '{"ask":{}}')])
    writer.put("responses", [answer_row(task, sample, text) for task, sample, text in answers])
    writer.put("scores", [score_row(task, sample, HALF) for task, sample, _ in answers])
    writer.put("samples", [sample_row(task, sample) for task, sample, _ in answers])
    writer.close()


def target_of(source: RunFolder) -> RunFolder:
    target = RunFolder(source.path.with_name("target"))
    target.path.mkdir(exist_ok=True)
    return target


def bodies(folder: RunFolder, task: str) -> list[str]:
    with closing(Journal(folder.journal)) as journal:
        return [response for *_, response in journal.exchanges(task)]


def test_answers_and_media_are_there_and_scores_are_not(source: RunFolder) -> None:
    target = target_of(source)
    take_answers(source, target)
    assert [len(bodies(target, name)) for name in ("first", "second")] == [1, 1]
    assert bodies(target, "second") == bodies(source, "second")
    with closing(Journal(target.journal)) as journal:
        assert list(journal.rows("first")) == []
        assert next(journal.exchanges("first"))[3] == '{"ask":{}}'
    assert media_path(target.media, "abcd.png").read_bytes() == b"picture"


def test_taking_again_adds_only_what_is_new(source: RunFolder) -> None:
    target = target_of(source)
    write(target, ["second"], [(1, 0, "own")])
    take_answers(source, target)
    write(source, ["first", "second"], [(1, 1, "c")])
    take_answers(source, target)
    assert '"own"' in bodies(target, "second")[0], "tasks are matched by name, and what is there stays"
    assert len(bodies(target, "first")) == 2
    assert len(bodies(source, "second")) == 1


def test_there_must_be_a_journal(tmp_path: Path, source: RunFolder) -> None:
    with pytest.raises(PlanError, match="The run has no journal"):
        take_answers(RunFolder(tmp_path), target_of(source))


def test_a_journal_of_another_version_is_refused(source: RunFolder) -> None:
    with closing(sqlite3.connect(source.journal)) as db, db:
        db.execute("PRAGMA user_version=1")
    with pytest.raises(PlanError, match="The journal has schema version 1"):
        take_answers(source, target_of(source))
