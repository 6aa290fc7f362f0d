"""Who may ask the viewer for pages, from where, and what its headers allow."""

from __future__ import annotations

import pytest

from polymeter.viewer.guard import POLICY, Guard

OWN = {"origin": "http://testserver"}


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost:8642", True),
        ("127.0.0.1:1", True),
        ("[::1]:8642", True),
        ("LOCALHOST", True),
        ("evil.example", False),
        ("localhost.evil.example:8642", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.7:8642", False),
        ("localhost:8642@evil.example", False),
        ("", False),
        ("localhost:", False),
    ],
)
def test_only_names_of_this_machine_are_answered(host, is_own):
    assert Guard(None).is_own_host(host) is is_own


def test_a_server_on_all_addresses_answers_to_addresses_but_not_to_foreign_names():
    guard = Guard(None, has_addresses=True)
    assert guard.is_own_host("192.168.3.4:8642")
    assert not guard.is_own_host("evil.example:8642")


def test_a_foreign_host_header_is_refused(client):
    answer = client.get("/", headers={"host": "evil.example"})
    assert answer.status_code == 421
    assert "polymeter view" in answer.text
    assert "first" not in answer.text


def test_every_answer_has_the_policy(client):
    for path in ("/", "/run/first", "/no/such/page", "/static/viewer.css", "/static/../site.py"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


@pytest.mark.parametrize("headers", [{}, {"origin": "http://evil.example"}, {"origin": "null"}])
def test_a_note_from_a_foreign_page_is_refused(client, runs, headers):
    posted = {"task": "capitals", "sample": "row-0001", "text": "planted"}
    answer = client.post("/run/first/notes", data=posted, headers=headers)
    assert answer.status_code == 403
    assert not (runs / "first" / "notes.jsonl").exists()


def test_other_methods_are_refused(client):
    assert client.put("/run/first/notes", headers=OWN).status_code == 405
    assert client.delete("/", headers=OWN).status_code == 405


def test_a_token_in_the_address_becomes_a_cookie(runs, open_viewer):
    client = open_viewer(runs, token="open sesame")
    assert client.get("/").status_code == 401
    assert client.get("/static/viewer.css").status_code == 401
    assert client.get("/?token=open").status_code == 401
    answer = client.get("/?token=open+sesame&q=first")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?q=first"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_the_cookie_lets_in(runs, open_viewer):
    client = open_viewer(runs, token="sesame")
    client.get("/?token=sesame")
    assert client.get("/").status_code == 200
    client.cookies.clear()
    assert client.get("/", headers={"cookie": "polymeter_view_0=wrong"}).status_code == 401


def test_the_way_in_leads_nowhere_else(runs, open_viewer):
    client = open_viewer(runs, token="sesame")
    answer = client.get("http://testserver//evil.example/?token=sesame")
    assert answer.headers["location"] == "/evil.example/"
