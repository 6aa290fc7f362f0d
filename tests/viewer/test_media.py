"""What the viewer serves of a run's media, and as what."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.helpers.viewed_runs import add_media


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(buffer, "PNG")
    return buffer.getvalue()


def test_an_image_is_served_as_it_is(client, runs):
    add_media(runs / "first", "ab12.png", png())
    answer = client.get("/run/first/media/ab12.png")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/png"
    assert answer.content == png()
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<!doctype html><script>alert(1)</script>",
        b"<?xml version='1.0'?><svg/>",
        b"%PDF-1.7",
        b"plain text",
        b"",
    ],
)
@pytest.mark.parametrize("name", ["ab12.png", "ab12.svg", "ab12.html"])
def test_anything_else_is_a_file_to_be_saved(client, runs, data, name):
    add_media(runs / "first", name, data)
    answer = client.get(f"/run/first/media/{name}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_players_get_the_range_that_they_ask_for(client, runs):
    data = b"\0\0\0\x18ftypisom" + bytes(range(256)) * 40
    add_media(runs / "first", "cd34.mp4", data)
    answer = client.get("/run/first/media/cd34.mp4", headers={"range": "bytes=100-199"})
    assert answer.status_code == 206
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["content-range"] == f"bytes 100-199/{len(data)}"
    assert answer.content == data[100:200]
