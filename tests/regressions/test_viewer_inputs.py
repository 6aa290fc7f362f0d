"""The viewer answers what nobody should ask with an error of the one who asks, not with one of its own."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.regressions.copies import here, run

__all__ = ["here"]
pytest.importorskip("starlette")


@pytest.fixture
def port(here: Path) -> Iterator[int]:
    """The port of a viewer over one run, ``run``."""
    assert run(here, "--model", "mock", "--limit", "3").returncode == 0
    words = [sys.executable, "-m", "polymeter", "view", "run", "--no-open"]
    with subprocess.Popen(words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        said = next((line for line in server.stdout if "http://" in line), "")
        found = re.search(r"http://[^:]+:(\d+)/", said)
        assert found is not None, said
        yield int(found[1])
        server.terminate()


def asked(port: int, path: str, body: str | None = None, **headers: str) -> tuple[int, str]:
    """The status and the text of an answer; with a body a form of the viewer's own page is posted."""
    if body is not None:
        headers = {"origin": f"http://127.0.0.1:{port}", "content-type": "application/x-www-form-urlencoded", **headers}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


NOTE = "task=copies&sample=0&text="


def test_a_note_that_cannot_be_left_is_an_error_of_the_form(port: int) -> None:
    for body, status, said in (
        (NOTE, 400, "The note is empty."),
        (f"{NOTE}{'x' * 20_001}", 400, "A note has at most 20,000 characters"),
        (f"{NOTE}&tags={'t' * 61}", 400, "20 tags of 60 characters each"),
        (f"{NOTE}&tags={','.join(f't{n}' for n in range(21))}", 400, "20 tags of 60 characters each"),
        (f"{NOTE}{'x' * 300_000}", 413, "The note is too long."),
        (f"{NOTE}fine{'&more=1' * 200}", 303, ""),
        ("%ff%fe{", 404, "has no task"),
    ):
        code, text = asked(port, "/run/run/notes", body)
        assert (code, said in text) == (status, True), (body[:60], code, text[:300])


def test_a_page_that_cannot_be_shown_is_an_error_of_its_address(port: int) -> None:
    for path, status in (
        ("/compare?run=none", 404),
        ("/run/run/samples?category=none:1", 400),
        ("/run/run/samples?metric=none&min=1", 400),
        (f"/run/run/media/{'x' * 3000}", 404),
        (f"/static/{'x' * 3000}", 404),
        ("/run/run/samples?page=-1&min=nan&sort=%ff&q=%00", 200),
    ):
        assert asked(port, path)[0] == status, path


def test_an_origin_that_is_no_address_is_another_page(port: int) -> None:
    assert asked(port, "/run/run/notes", f"{NOTE}fine", origin="http://[")[0] == 403
