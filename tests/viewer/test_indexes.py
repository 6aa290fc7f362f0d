"""When an index is made, by whom, and which one is used."""

from __future__ import annotations

import time

import pytest

from polymeter.core.errors import StorageError
from polymeter.store.folder import RunFolder
from polymeter.store.journal_writer import JournalWriter
from polymeter.viewer import indexes as module
from polymeter.viewer.indexes import Indexes, run_state
from tests.helpers.viewed_runs import TASK, sample, write_run


@pytest.fixture
def run(tmp_path) -> RunFolder:
    return RunFolder(write_run(tmp_path / "run", [sample(n) for n in range(20)]))


@pytest.fixture
def indexes(tmp_path):
    made = Indexes(tmp_path / "cache")
    yield made
    made.close()


def end_sample(run: RunFolder, index: int) -> None:
    """One more sample of a run ends."""
    writer = JournalWriter(run.journal, [TASK])
    writer.put("samples", [(writer.task_ids[TASK], index, f"row-{index:04}", "", None, "ok", None, "{}", None, None)])
    writer.close()


def wait_for(indexes: Indexes, run: RunFolder, is_done) -> module.Found:
    """Look until it is done; the process that makes an index takes a moment to start."""
    for _ in range(600):
        found = indexes.find(run, TASK)
        if is_done(found):
            return found
        time.sleep(0.05)
    raise AssertionError("the index was not made within half a minute")


def test_a_small_index_is_there_at_once_and_is_used_again(run, indexes, monkeypatch):
    found = indexes.find(run, TASK)
    assert found.index is not None
    assert found.index.n == 20
    monkeypatch.setattr(module, "make_index", None)
    assert indexes.find(run, TASK).index.path == found.index.path


def test_a_large_index_is_made_by_another_process(run, indexes, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 5)
    monkeypatch.setattr(module, "make_index", None)
    found = indexes.find(run, TASK)
    assert (found.index, found.n_all) == (None, 20)
    done = wait_for(indexes, run, lambda found: found.index is not None)
    assert done.index.n == 20
    assert not done.is_behind


def test_of_a_run_that_goes_on_the_last_index_is_used_until_the_next_is_there(run, indexes, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 5)
    monkeypatch.setattr(module, "_LEAST_AGE_S", 0.0)
    monkeypatch.setattr(module, "_TIMES_ITS_WORK", 0.0)
    wait_for(indexes, run, lambda found: found.index is not None)
    end_sample(run, 20)
    behind = indexes.find(run, TASK)
    assert behind.is_behind
    assert behind.index.n == 20
    done = wait_for(indexes, run, lambda found: not found.is_behind)
    assert done.index.n == 21


def test_indexes_of_earlier_states_are_deleted(run, indexes, tmp_path):
    indexes.find(run, TASK)
    end_sample(run, 20)
    indexes.find(run, TASK)
    assert len([*(tmp_path / "cache").iterdir()]) == 1


def test_the_state_changes_when_a_sample_ends_and_not_when_one_is_read(run, indexes):
    indexes.find(run, TASK)
    before = run_state(run, TASK)
    indexes.find(run, TASK)
    assert run_state(run, TASK) == before
    end_sample(run, 20)
    assert run_state(run, TASK) != before


def test_an_index_of_an_earlier_version_is_made_again(run, indexes, tmp_path, monkeypatch):
    from polymeter.viewer import index_making, sample_index

    with monkeypatch.context() as before:
        for one in (module, index_making, sample_index):
            before.setattr(one, "VERSION", 2)
        old = indexes.find(run, TASK).index
        assert old.facts["version"] == 2
    found = indexes.find(run, TASK).index
    assert found.facts["version"] == sample_index.VERSION
    assert [*(tmp_path / "cache").iterdir()] == [found.path]
    assert found.texts("file").to_pylist() == [""] * 20


def test_two_viewers_share_an_index(run, indexes, tmp_path):
    first = indexes.find(run, TASK).index
    assert Indexes(tmp_path / "cache").find(run, TASK).index.path == first.path


def test_a_journal_that_cannot_be_read_is_said(run, indexes, monkeypatch):
    run.journal.write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    with pytest.raises(StorageError):
        indexes.find(run, TASK)


def test_what_went_wrong_in_the_other_process_is_said(run, indexes, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 5)
    monkeypatch.setattr(module, "_is_small", lambda run, task: False)
    monkeypatch.setattr(module, "_count", lambda run, task: 20)
    run.journal.write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    with pytest.raises(StorageError, match="journal"):
        wait_for(indexes, run, lambda found: found.index is not None)


def test_what_is_being_made_ends_with_the_viewer(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 5)
    indexes = Indexes(tmp_path / "cache")
    indexes.find(run, TASK)
    (making,) = indexes._making.values()
    indexes.close()
    assert making.child.status is not None
    assert [*(tmp_path / "cache").iterdir()] == []


def test_two_indexes_at_most_are_made_at_once_and_none_is_forgotten(tmp_path, indexes, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 5)
    runs = [RunFolder(write_run(tmp_path / f"run-{n}", [sample(n) for n in range(20)])) for n in range(3)]
    assert [indexes.find(run, TASK).index for run in runs] == [None, None, None]
    assert len(indexes._making) == 2
    for run in reversed(runs):
        assert wait_for(indexes, run, lambda found: found.index is not None).index.n == 20
    assert all(indexes.known(run, TASK) for run in runs)
