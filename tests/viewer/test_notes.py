"""Notes and tags that people leave on samples, in a file beside the run."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from polymeter.core.errors import PlanError, StorageError
from polymeter.viewer.notes import LONGEST_NOTE, leave_note, read_notes, tag_counts, tags_in, take_back
from tests.helpers.viewed_runs import HOSTILE, TASK

OWN = {"origin": "http://testserver"}


def test_a_note_is_left_found_filtered_exported_and_taken_back(client, runs):
    back = f"/run/first/sample?task={TASK}&index=3#notes"
    posted = {
        "task": TASK,
        "sample": "row-0003",
        "text": "look\r\nagain",
        "tags": "odd, #label fault",
        "by": "Ada",
        "back": back,
    }
    answer = client.post("/run/first/notes", data=posted, headers=OWN)
    assert answer.status_code == 303
    assert answer.headers["location"] == back
    page = client.get(back).text
    assert "look\nagain" in page
    assert "label fault" in page
    assert "<strong>1 sample</strong>" in client.get("/run/first/samples?tag=odd").text
    assert "<strong>1 sample</strong>" in client.get("/run/first/samples?tag=*&state=right").text
    exported = json.loads(client.get("/run/first/export.jsonl?tag=odd").text)
    assert exported["id"] == "row-0003"
    assert exported["notes"][0]["tags"] == ["odd", "label fault"]
    (note,) = read_notes(runs / "first")
    assert (note.text, note.by, note.tags) == ("look\nagain", "Ada", ("odd", "label fault"))
    client.post("/run/first/notes", data={"take_back": note.id, "back": back}, headers=OWN)
    assert read_notes(runs / "first") == []
    assert "<strong>0 samples</strong>" in client.get("/run/first/samples?tag=odd").text
    assert len((runs / "first" / "notes.jsonl").read_text().splitlines()) == 2


def test_two_viewers_at_once_lose_nothing(runs, open_viewer):
    clients = [open_viewer(runs), open_viewer(runs)]

    def leave(number: int) -> int:
        posted = {"task": TASK, "sample": f"row-{number:04}", "text": f"note {number}"}
        return clients[number % 2].post("/run/first/notes", data=posted, headers=OWN).status_code

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(leave, range(60))} == {303}
    for client in clients:
        assert "60 samples" in client.get("/run/first/samples?tag=*").text
    assert {note.text for note in read_notes(runs / "first")} == {f"note {number}" for number in range(60)}


def test_hostile_notes_are_text(client):
    posted = {"task": TASK, "sample": "row-0003", "text": "\n".join(HOSTILE[:6]), "tags": HOSTILE[0], "by": HOSTILE[2]}
    assert client.post("/run/first/notes", data=posted, headers=OWN).status_code == 303
    for path in (f"/run/first/sample?task={TASK}&index=3", "/run/first/samples?tag=*", "/run/first"):
        page = client.get(path).text
        assert "<script>window" not in page
        assert "<img src=x" not in page


@pytest.mark.parametrize(
    "back", ["//evil.example/", "/\\evil.example", "https://evil.example", "/run/first\r\nx: y", ""]
)
def test_a_form_leads_nowhere_else(client, back):
    posted = {"task": TASK, "sample": "row-0003", "text": "x", "back": back}
    assert client.post("/run/first/notes", data=posted, headers=OWN).headers["location"] == "/run/first"


def test_lines_that_cannot_be_read_are_kept_and_passed_over(runs):
    run = runs / "first"
    leave_note(run, TASK, "a", "first", ())
    with (run / "notes.jsonl").open("a") as file:
        file.write('[1]\n{"id": 3}\nnot json\n{"unfinished": ')
    leave_note(run, TASK, "b", "second", ())
    assert [note.text for note in read_notes(run)] == ["first", "second"]
    assert "not json" in (run / "notes.jsonl").read_text()


def test_a_link_is_not_written_through(runs, tmp_path):
    outside = tmp_path / "outside.jsonl"
    outside.touch()
    (runs / "first" / "notes.jsonl").symlink_to(outside)
    with pytest.raises(StorageError):
        leave_note(runs / "first", TASK, "a", "x", ())
    assert outside.read_text() == ""


@pytest.mark.parametrize(("text", "tags"), [("", ()), ("  \n", ()), ("x" * (LONGEST_NOTE + 1), ()), ("x", ("t" * 61,))])
def test_nothing_and_too_much_are_refused(runs, text, tags):
    with pytest.raises(PlanError):
        leave_note(runs / "first", TASK, "a", text, tags)
    assert read_notes(runs / "first") == []


def test_a_form_that_is_too_long_is_refused(client):
    answer = client.post("/run/first/notes", data={"text": "x" * 300_000}, headers=OWN)
    assert answer.status_code == 413


def test_tags():
    assert tags_in(" #one,two words ;; one,\n three ") == ("one", "two words", "three")


def test_tags_are_counted_by_sample(runs):
    for name in ("a", "b", "b"):
        leave_note(runs / "first", TASK, name, "", ("odd",))
    notes = read_notes(runs / "first")
    assert tag_counts(notes) == {"odd": 2}
    take_back(runs / "first", notes[0].id)
    assert tag_counts(read_notes(runs / "first")) == {"odd": 1}


def test_a_note_on_a_task_that_is_not_there_is_refused(client, runs):
    answer = client.post("/run/first/notes", data={"task": "none", "sample": "a", "text": "x"}, headers=OWN)
    assert answer.status_code == 404
    assert not (runs / "first" / "notes.jsonl").exists()
