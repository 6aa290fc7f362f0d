"""A few samples of many: a page of them, and all of them some at a time."""

from __future__ import annotations

from contextlib import closing

import pytest

from polymeter.store.exports import export
from polymeter.store.exports.export import read_samples, read_samples_at, read_some, sample_file, write_samples
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from tests.helpers.viewed_runs import TASK, hostile_sample, sample, write_run


@pytest.fixture
def run(tmp_path) -> RunFolder:
    samples = [sample(0), hostile_sample(3), *(sample(n, right=n % 2 == 0) for n in (7, 8, 20))]
    return RunFolder(write_run(tmp_path / "run", samples))


def without_journal(run: RunFolder) -> None:
    with closing(Journal(run.journal)) as journal:
        write_samples(run, journal, TASK)
    run.journal.unlink()


def test_a_page_holds_what_reading_all_gives(run):
    every = {one["index"]: one for one in read_samples(run, TASK)}
    assert [*every] == [0, 3, 7, 8, 20]
    assert read_some(run, TASK, [20, 3]) == [every[3], every[20]]
    assert read_some(run, TASK, [5]) == []
    assert read_some(run, TASK, []) == []


def test_a_page_of_a_run_without_a_journal(run):
    without_journal(run)
    offsets = {one["index"]: offset for offset, one in read_samples_at(run, TASK)}
    (found,) = read_some(run, TASK, [7], [offsets[7]])
    assert found["index"] == 7
    assert found["exchanges"][0]["response"]["outputs"][0]["text"] == "Lyon"


def test_all_samples_some_at_a_time(run, monkeypatch):
    monkeypatch.setattr(export, "_AT_ONCE", 2)
    assert [one for _, one in read_samples_at(run, TASK)] == [*read_samples(run, TASK)]


def test_no_statement_is_open_between_two_pieces(run, monkeypatch):
    """Otherwise what a run writes meanwhile could not be moved into its journal."""
    monkeypatch.setattr(export, "_AT_ONCE", 2)
    reading = read_samples_at(run, TASK)
    next(reading)
    with closing(Journal(run.journal)) as other:
        busy, _, _ = other._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
    assert busy == 0
    reading.close()


def test_a_task_that_nobody_ran(run):
    assert [*read_samples_at(run, "other")] == []
    assert not sample_file(run, "other").exists()
