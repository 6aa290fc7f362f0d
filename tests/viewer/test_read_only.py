"""A read-only viewer accepts nothing, and offers nothing to write."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from polymeter.api.viewing import services
from polymeter.viewer.guard import Guard
from polymeter.viewer.indexes import Indexes
from polymeter.viewer.notes import leave_note, read_notes
from polymeter.viewer.shelf import Shelf
from polymeter.viewer.site import Viewer, find_pages, make_site
from tests.helpers.viewed_runs import TASK

NOTE = {"task": TASK, "sample": "row-0001", "text": "no", "tags": "", "by": "Ada", "back": "/run/first"}
OWN = {"origin": "http://testserver"}


def client(runs, cache, token: str = "", *, is_read_only: bool = True) -> TestClient:
    viewer = Viewer(Shelf([runs]), Indexes(cache), services(), find_pages(), is_read_only)
    guarded = Guard(make_site(viewer), ["testserver"], token)
    return TestClient(guarded, base_url="http://testserver", follow_redirects=bool(token))


@pytest.mark.parametrize("token", ["", "sesame"])
def test_what_is_posted_is_refused_with_a_page(runs, tmp_path, token):
    asked = client(runs, tmp_path / "cache", token)
    if token:
        assert asked.get(f"/?token={token}").status_code == 200
    answer = asked.post("/run/first/notes", data=NOTE, headers=OWN)
    assert answer.status_code == 403
    assert "<h1>Read-only</h1>" in answer.text
    assert "without --read-only" in answer.text
    assert read_notes(runs / "first") == []


def test_every_page_that_posts_is_refused(runs, tmp_path):
    asked = client(runs, tmp_path / "cache")
    posted = [page for page in find_pages() if page.method == "POST"]
    assert posted
    for page in posted:
        path = page.path.replace("{run}", "first")
        assert asked.post(path, data=NOTE, headers=OWN).status_code == 403, path


def test_notes_are_shown_without_forms(runs, tmp_path):
    leave_note(runs / "first", TASK, "row-0001", "the label is wrong", ("label",), "Ada")
    page = client(runs, tmp_path / "cache").get(f"/run/first/sample?task={TASK}&index=1").text
    assert "the label is wrong" in page
    assert 'method="post"' not in page
    assert "write a note" not in page
    writable = client(runs, tmp_path / "other", is_read_only=False)
    assert 'method="post"' in writable.get(f"/run/first/sample?task={TASK}&index=1").text
    assert writable.post("/run/first/notes", data=NOTE, headers=OWN).status_code == 303
