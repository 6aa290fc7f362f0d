"""The counts of truncated answers of a task."""

from __future__ import annotations

from polymeter.core.records.truncation import Truncation


def counted(n: int, n_all: int) -> Truncation:
    found = Truncation(0)
    for place in range(n_all):
        found.add({"length"} if place < n else (), {"prompt": "" if place else "raise it"})
    return found


def test_more_than_two_percent_is_a_warning():
    assert [*counted(2, 100).found()] == [("length", 2, False)]
    assert [*counted(3, 100).found()] == [("length", 3, True)]
    assert [*counted(0, 100).found()] == []


def test_scaled_images_are_a_warning_only_where_a_setting_avoids_it():
    assert [*Truncation(100, {"images": 100}).found()] == [("images", 100, False)]
    assert [*Truncation(100, {"images": 100}, {"images": "raise it"}).found()] == [("images", 100, True)]


def test_counts_survive_their_document():
    found = Truncation(300, {"length": 12, "images": 3}, {"images": "raise it"})
    document = found.document()
    assert document == {
        "n_answers": 300,
        "length": {"n": 12, "is_warning": True, "advice": "raise --gen-kwargs max_new_tokens=N"},
        "images": {"n": 3, "is_warning": False, "advice": "raise it"},
    }
    assert [*Truncation.of_task({"truncation": document, "n_length": 12}).found()] == [*found.found()]


def test_nothing_found_is_nothing_said():
    assert counted(0, 3).document() == {}
    assert [*Truncation.of_task({"n_length": 0}).found()] == []


def test_an_older_file_has_counts_without_shares():
    older = Truncation.of_task({"n_length": 2, "n_unfinished": 1})
    assert [*older.found()] == [("length", 2, False), ("empty", 1, False)]
    assert older.share("length") is None
