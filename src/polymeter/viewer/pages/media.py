"""The media of a run: images, audio and video as such, and anything else only as a file to be saved.

The first bytes of a file determine its type, not its name. SVG and HTML can carry scripts: neither is ever served under
its own type.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from polymeter.core.media.sources import sniff_mime
from polymeter.report.content.media import playable
from polymeter.store.media import media_path
from polymeter.viewer.site import NotFoundError, PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_HEAD_BYTES = 64
_SAVED = "application/octet-stream"


def address_of(run: str, name: str) -> str:
    """The address of a media file of the run with this key."""
    return f"/run/{quote(run)}/media/{quote(name, safe='')}"


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The file. Its name is a digest of its content, so it never changes."""
    from starlette.responses import FileResponse

    run = viewer.run(asked)
    name = asked.path["name"]
    if "\0" in name or "\\" in name or Path(name).name != name or name in (".", ".."):
        raise NotFoundError("The media file does not exist.", where=name)
    path = media_path(viewer.shelf.open(run).media, name)
    if not os.path.isfile(path) or not viewer.shelf.is_inside(path):
        raise NotFoundError("The media file does not exist.", where=name)
    with path.open("rb") as file:
        kind = media_kind(file.read(_HEAD_BYTES))
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    if kind == _SAVED:
        return FileResponse(path, media_type=kind, filename=name, headers=headers)
    return FileResponse(path, media_type=kind, headers=headers)


def media_kind(head: bytes) -> str:
    """The MIME type under which a file is served, by its first bytes."""
    return sniff_mime(head) or playable(head) or _SAVED


PAGES = (ViewerPage("/run/{run}/media/{name}", show),)
