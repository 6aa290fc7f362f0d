"""``offset`` and ``limit``: which samples are played, and that a resumed run plays the same ones."""

from __future__ import annotations

import pytest

from polymeter.core.options import RunOptions
from polymeter.models.mock import MockBatch
from polymeter.run.plan.plan import samples_to_run
from polymeter.store.journal import Journal
from tests.helpers.tasks import ListTask, answer_of, docs, run_tasks


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        (None, 0, range(10)),
        (3, 0, range(3)),
        (3, 2, range(2, 5)),
        (0.25, 0, range(3)),
        (0.25, 8, range(8, 10)),
        (None, 4, range(4, 10)),
        (20, 4, range(4, 10)),
        (None, 10, range(10, 10)),
        (None, 12, range(10, 10)),
    ],
)
def test_which_samples_are_played(limit, offset, expected):
    assert samples_to_run(10, RunOptions.make({"limit": limit, "offset": offset})) == expected


def test_only_they_are_asked_counted_and_reduced(tmp_path):
    model = MockBatch(answer_of)
    outcome = run_tasks([ListTask(docs(20))], model, tmp_path / "run", limit=5, offset=3)
    assert sum(model.batches) == 5
    task = outcome.results["tasks"]["list"]
    assert (task["n_samples"], task["n_scored"]) == (5, 5)
    assert task["results"][0]["n"] == 5
    journal = Journal(tmp_path / "run" / "journal.db")
    assert [row.index for row in journal.rows("list")] == [3, 4, 5, 6, 7]
    journal.close()


def test_going_on_asks_none_of_them_again(tmp_path):
    first, second = MockBatch(answer_of), MockBatch(answer_of)
    before = run_tasks([ListTask(docs(20))], first, tmp_path / "run", limit=5, offset=3).results
    after = run_tasks([ListTask(docs(20))], second, tmp_path / "run", limit=5, offset=3).results
    assert second.batches == []
    assert before == after
