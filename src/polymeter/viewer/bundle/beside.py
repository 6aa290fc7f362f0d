"""The files beside the pages of a bundle: the viewer's own styles and scripts, and each distinct medium once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from polymeter.core.errors import PolymeterError
from polymeter.core.media.sources import digest_file
from polymeter.store.media import media_path
from polymeter.viewer.pages.media import media_kind
from polymeter.viewer.site import Viewer, static_file

_ENDINGS = {
    "image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "video/mp4": ".mp4",
    "video/webm": ".webm", "audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/flac": ".flac", "audio/ogg": ".ogg",
    "audio/mp4": ".m4a",
}  # fmt: skip
_HEAD_BYTES = 64
_IS_MODULE = re.compile(rb"^\s*(?:import|export)\b", re.M)


class FilesBeside:
    """Copies files when a page names them first.

    Args:
        viewer: The viewer.
        folder: The folder of the bundle.
        has_media: Whether media are copied.
    """

    def __init__(self, viewer: Viewer, folder: Path, *, has_media: bool) -> None:
        self._viewer = viewer
        self._folder = folder
        self._has_media = has_media
        self._media: dict[tuple[str, str], str | None] = {}
        self._static: dict[str, str | None] = {}

    def medium(self, run: str, name: str) -> str | None:
        """The path of a medium of a run below the folder; ``None`` if there is none."""
        if not self._has_media:
            return None
        if (run, name) not in self._media:
            self._media[run, name] = self._copied(run, name)
        return self._media[run, name]

    def static(self, name: str) -> str | None:
        """The path of one of the viewer's own files below the folder; ``None`` if there is none."""
        if name not in self._static:
            data = static_file(name)
            self._static[name] = None if data is None else f"static/{name}"
            if data is not None:
                path = self._folder / "static" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_as_script(name, data))
        return self._static[name]

    def _copied(self, run: str, name: str) -> str | None:
        if "\0" in name or "\\" in name or Path(name).name != name or name in (".", ".."):
            return None
        try:
            source = media_path(self._viewer.shelf.open(self._viewer.run_named(run)).media, name)
        except PolymeterError:
            return None
        if not source.is_file() or not self._viewer.shelf.is_inside(source):
            return None
        with source.open("rb") as file:
            ending = _ENDINGS.get(media_kind(file.read(_HEAD_BYTES)))
        if ending is None:  # such as SVG and HTML, which can carry scripts: a web server would run them
            return None
        shown = f"media/{digest_file(source)}{ending}"
        target = self._folder / shown
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        return shown


def _as_script(name: str, data: bytes) -> bytes:
    """A script without names of its own in the page: modules become plain scripts, which browsers load from files."""
    if not name.endswith(".js") or "/" in name or _IS_MODULE.search(data):
        return data
    return b"(() => {\n" + data + b"\n})();\n"
