"""Samples of the viewer's tests as blocks and as pages."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from typing import Any

from PIL import Image

from polymeter.report.content import BlockView, RunMedia, blocks
from tests.helpers.content_app import environment
from tests.report.synthetic import exchange, sample


def put(media: RunMedia, name: str, data: bytes) -> str:
    path = media.folder / name[:2] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return name


def picture(media: RunMedia, name: str = "ab01.png", size: tuple[int, int] = (400, 300)) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", size, "white").save(buffer, format="JPEG" if name.endswith(".jpg") else "PNG")
    return put(media, name, buffer.getvalue())


def view(media: RunMedia, stored: dict[str, Any], **more: Any) -> BlockView:
    return BlockView("task", stored, media, **more)


def made(media: RunMedia, stored: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {block.name: block for block in blocks(view(media, stored, **more))}


def html(media: RunMedia, stored: dict[str, Any], **more: Any) -> str:
    found = blocks(view(media, stored, **more))
    return environment().get_template("content/blocks.html").render(blocks=found)


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def texts(exchange_shown: Any) -> list[tuple[str, str]]:
    return [
        (turn.role, "".join(run.text for part in turn.parts if part.text for run in part.text.runs))
        for turn in exchange_shown.turns
    ]


def weighed(values: list[float | None], texts: list[str], **more: Any) -> dict[str, Any]:
    asked = exchange(None, "Which?", "")
    asked["request"]["ask"] = {"kind": "loglikelihood", "continuations": texts}
    asked["response"]["outputs"] = [{"logprobs": [[value, False, 2] for value in values]}]
    return sample(0, exchanges=[asked], **more)
