"""The search over all runs: which samples it finds, how it is bounded, and how it continues."""

from __future__ import annotations

import re
from html import unescape

import pytest

from polymeter.api.viewing import services
from polymeter.viewer import indexes as index_module
from polymeter.viewer.indexes import Found, Indexes
from polymeter.viewer.pages import search as module
from polymeter.viewer.pages.search import search, words_of
from polymeter.viewer.shelf import Shelf
from polymeter.viewer.site import Viewer
from tests.helpers.viewed_runs import TASK, sample, write_run
from tests.viewer.test_samples import about_file


@pytest.fixture(autouse=True)
def patience(monkeypatch) -> None:
    """Requests are not ended by their time, which depends on the machine."""
    monkeypatch.setattr(module, "_BUDGET_S", float("inf"))


@pytest.fixture
def shelf(tmp_path) -> Shelf:
    """Five runs of six samples each."""
    for n in range(5):
        write_run(tmp_path / "many" / f"run-{n}", [sample(index) for index in range(6)], started=f"2026-05-0{9 - n}")
    return Shelf([tmp_path / "many"])


@pytest.fixture
def viewer(shelf, tmp_path):
    indexes = Indexes(tmp_path / "cache")
    yield Viewer(shelf, indexes, services(), [])
    indexes.close()


def tasks_of(viewer: Viewer):
    return [(run, TASK) for run in viewer.shelf.runs()]


def groups_of(page: str) -> dict[str, str]:
    """The number of samples that a page says of each run."""
    found = re.findall(
        r'<h2><a href="[^"]+">([^<]+)</a></h2>.*?search-all"><a href="[^"]+">([^<]+)</a>', page, re.DOTALL
    )
    return dict(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("two words", ["two", "words"]),
        ('"two words" more', ["two words", "more"]),
        ("twice twice", ["twice"]),
        ('a "b', ["a", "b"]),
        ("  ", []),
        (" ".join(map(str, range(20))), [str(n) for n in range(8)]),
    ],
)
def test_words_of_a_text(text, words):
    assert words_of(text) == words


def test_all_words_must_occur_in_any_text_of_a_sample(client):
    assert groups_of(client.get("/search?q=Lyon+row-0008").text) == {"first": "1 sample", "failing": "1 sample"}
    found = groups_of(client.get("/search?q=lyon").text)
    assert found == {"first": "All 30 samples", "nested/second": "All 40 samples", "failing": "All 15 samples"}
    assert "No sample has all of these words" in client.get("/search?q=lyon+nowhere").text
    assert groups_of(client.get('/search?q="capital of country 17?"').text).keys() == {
        "first",
        "nested/second",
        "failing",
    }


def test_file_names_and_ids_are_found_and_judges_are_not(tmp_path, open_viewer):
    write_run(tmp_path / "runs" / "run", [sample(0, exchanges=about_file("photos/harbour.png")), sample(5)])
    client = open_viewer(tmp_path / "runs")
    assert groups_of(client.get("/search?q=HARBOUR.png").text) == {"run": "1 sample"}
    assert groups_of(client.get("/search?q=row-0005").text) == {"run": "1 sample"}
    assert groups_of(client.get("/search?q=verdict").text) == {}


def test_each_sample_is_a_link_and_all_of_them_too(client):
    page = client.get("/search?q=lyon+paris&run=first").text
    assert len(re.findall(r'<a class="row"', page)) == 5
    listed = unescape(re.search(r'search-all"><a href="([^"]+)"', page)[1])
    assert "<strong>30 samples</strong>" in client.get(listed).text
    first = unescape(re.search(r'<a class="row" href="([^"]+)"', page)[1])
    assert "row-0000" in client.get(first).text


def test_only_chosen_runs_are_searched(client):
    page = client.get("/search?q=capital&run=first&run=failing").text
    assert groups_of(page).keys() == {"first", "failing"}
    assert 'value="first" checked' in page
    assert groups_of(client.get("/search?q=capital&run=nosuch").text) == {}


def test_without_words_the_page_says_what_it_finds(client):
    assert "Finds samples in all 4 runs" in client.get("/search").text
    assert "Finds samples in all 4 runs" in client.get("/search?q=+").text
    assert '<a href="/search">Search</a>' in client.get("/").text


def test_a_request_ends_after_its_time_and_the_next_one_continues(viewer, monkeypatch):
    monkeypatch.setattr(module, "_BUDGET_S", 0.5)
    seconds = iter(range(100))
    found = search(viewer, tasks_of(viewer), ["capital"], clock=lambda: next(seconds))
    assert (found.n_searched, len(found.groups)) == (1, 1)
    rest = search(viewer, tasks_of(viewer)[found.n_searched :], ["capital"], clock=lambda: 0.0)
    assert [group.run.name for group in rest.groups] == ["run-1", "run-2", "run-3", "run-4"]


def test_a_page_says_how_many_runs_are_left_and_leads_to_them(shelf, open_viewer, monkeypatch):
    monkeypatch.setattr(module, "_MOST_GROUPS", 2)
    client = open_viewer(*shelf.folders)
    address, names = "/search?q=capital", []
    for n_left in ("3 runs left", "1 run left", "All runs are searched"):
        page = client.get(address, headers={"hx-request": "true"} if names else {}).text
        assert n_left in page
        assert ("<html" in page) == (not names)
        names += groups_of(page)
        address = unescape(re.search(r'hx-get="([^"]+)"', page)[1]) if "left" in n_left else ""
    assert names == [f"run-{n}" for n in range(5)]


def test_a_run_that_is_still_being_read_is_named_and_asked_for_again(shelf, open_viewer, monkeypatch):
    real = Indexes.find

    def find(self, run, task):
        return Found(None, False, 1, 4) if run.path.name == "run-2" else real(self, run, task)

    client = open_viewer(*shelf.folders)
    monkeypatch.setattr(index_module.Indexes, "find", find)
    page = client.get("/search?q=capital").text
    assert "Still being read: run-2 (25%)" in page
    assert "All runs are searched" not in page
    monkeypatch.setattr(index_module.Indexes, "find", real)
    again = unescape(re.search(r'hx-get="([^"]+)"', page)[1])
    part = client.get(again, headers={"hx-request": "true"}).text
    assert groups_of(part) == {"run-2": "All 6 samples"}
    assert "hx-get" not in part


def test_a_damaged_run_hides_no_other(shelf, open_viewer, tmp_path):
    (tmp_path / "many" / "run-1" / "run.json").write_text("{")
    (tmp_path / "many" / "run-3" / "journal.db").write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    page = open_viewer(*shelf.folders).get("/search?q=capital").text
    assert groups_of(page).keys() == {"run-0", "run-2", "run-4"}
    assert "2 runs cannot be searched" in page


def test_an_index_that_does_not_exist_is_made(viewer, shelf):
    found = search(viewer, tasks_of(viewer), ["capital"], clock=lambda: 0.0)
    assert len(found.groups) == 5
    assert all(viewer.indexes.known(shelf.open(run), TASK) for run in shelf.runs())


def test_hostile_texts_are_inert(client):
    page = client.get("/search", params={"q": "window.hacked"}).text
    assert groups_of(page) == {"hostile": "3 samples"}
    assert "<script>window" not in page
    page = client.get(
        "/search", params={"q": '"><script>window.hacked=1</script>\0\ud83d'.encode("utf-8", "replace").decode()}
    )
    assert page.status_code == 200
    assert "<script>window" not in page.text


@pytest.mark.parametrize("query", ["from=999999999999999999999", "from=-1&q=capital", "q=%ff%00&from=x", "q=a&run="])
def test_odd_addresses_are_no_errors(client, query):
    assert client.get(f"/search?{query}").status_code == 200
