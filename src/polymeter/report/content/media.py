"""The media of a run on a page: the URL of each file, its true size, or the reason why it is missing.

Only files that the run keeps are shown, and only those whose bytes are of a format that browsers show: neither a URL
that a model was given nor a drawing that could hold a script is ever fetched.
"""

from __future__ import annotations

import re
import wave
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import sniff_audio_mime, sniff_mime, sniff_video_mime
from polymeter.report.formatting import clip, one_line
from polymeter.store.media import media_path

_HEAD_BYTES = 64
_ROW_KEY = re.compile(r"[0-9a-f]{32}:\d+:")
"""The beginning of the key of a medium in a dataset: its fingerprint and the row."""
_PREVIEW = ".preview."
_LONGEST_NAME = 160


@dataclass(frozen=True, slots=True)
class Picture:
    """An image.

    Attributes:
        url: The URL of its file; empty if it has none.
        width: Its true width in pixels; 0 if it is unknown.
        height: Its true height.
        kept: Width and height of the file, if it is a smaller preview.
        name: The name that the dataset gives it; may be empty.
        why_absent: The reason why it has no file, as a sentence.
    """

    url: str = ""
    width: int = 0
    height: int = 0
    kept: tuple[int, int] | None = None
    name: str = ""
    why_absent: str = ""

    @property
    def size(self) -> str:
        """Its true size as text; empty if it is unknown."""
        return f"{self.width} × {self.height} px" if self.width and self.height else ""


@dataclass(frozen=True, slots=True)
class ShownClip:
    """A video or a recording.

    Attributes:
        kind: ``video`` or ``audio``.
        url: Its URL for a player; empty if the run does not keep it.
        seconds: Its duration; ``None`` if it is unknown.
        source: The name of its file, or its URL.
        span: The segment that the model was shown; ``None``: all of it.
        strip: A few frames side by side; ``None`` for audio, or if none were kept.
        width: The width of the video in pixels; 0 if it is unknown.
        height: Its height.
        why_absent: The reason why it cannot be played, as a sentence.
    """

    kind: str
    url: str = ""
    seconds: float | None = None
    source: str = ""
    span: tuple[float | None, float | None] | None = None
    strip: Picture | None = None
    width: int = 0
    height: int = 0
    why_absent: str = ""


@dataclass(frozen=True, slots=True)
class RunMedia:
    """The media of one run.

    Attributes:
        folder: The run's media folder.
        url_of: Gives the URL of a file by its name within that folder (``ab12….png``).
    """

    folder: Path
    url_of: Callable[[str], str]

    def picture(self, note: Mapping[str, Any]) -> Picture:
        """Return an image from a request's note on it.

        Args:
            note: ``file``, ``width``, ``height``, ``name``, ``source`` or ``url``, as far as they are known.
        """
        name = _line(note.get("name"))
        width, height = _pixels(note.get("width")), _pixels(note.get("height"))
        file = note.get("file")
        if not isinstance(file, str) or not file:
            return Picture("", width, height, None, name, _why_absent("image", note))
        head = self._head(file)
        if head is None:
            return Picture("", width, height, None, name, "Its file is missing from the run's media folder.")
        if sniff_mime(head) is None:
            return Picture("", width, height, None, name, "Browsers cannot show the format of its file safely.")
        kept = self._size(file)
        if kept is None:
            return Picture("", width, height, None, name, "Its file cannot be read as an image.")
        # A strip of frames is noted with the size of its video, and an image may have been turned upright.
        is_whole = _PREVIEW not in file or not (width and height)
        true = kept if is_whole else (width, height)
        return Picture(self.url_of(file), *true, None if is_whole or kept == true else kept, name)

    def clip(self, kind: str, note: Mapping[str, Any]) -> ShownClip:
        """Return a video or a recording from a request's note on it."""
        source = _file_name(origin_of(note))
        seconds = _seconds(note.get("duration_s"))
        bounds = (_seconds(note.get("start_s")), _seconds(note.get("end_s")))
        span = None if bounds == (None, None) else bounds
        width, height = _pixels(note.get("width")), _pixels(note.get("height"))
        strip, url = None, ""
        for name in ("clip", "file"):
            file = note.get(name)
            head = self._head(file) if isinstance(file, str) and file else None
            if head is None:
                continue
            if sniff_mime(head) is not None:
                strip = self.picture({"file": file})
            elif not url and (mime := playable(head)):
                url = self.url_of(str(file)) + _fragment(span)
                seconds = self._wave_seconds(str(file)) if seconds is None and mime == "audio/wav" else seconds
        why_absent = "" if url else _why_absent(kind, note)
        return ShownClip(kind, url, seconds, source, span, strip, width, height, why_absent)

    def _path(self, name: str) -> Path | None:
        """The path of a file; ``None`` if it does not exist, or the name leads out of the folder."""
        if "\0" in name:
            return None
        path = media_path(self.folder, name)
        try:
            is_inside = path.resolve().is_relative_to(self.folder.resolve()) and path.is_file()
        except (OSError, RuntimeError, ValueError):  # a name that is too long, a loop of links
            return None
        return path if is_inside else None

    def _head(self, name: str) -> bytes | None:
        path = self._path(name)
        if path is None:
            return None
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)

    def _size(self, name: str) -> tuple[int, int] | None:
        """Width and height of an image file as browsers show it: upright. Its pixels are not decoded."""
        path = self._path(name)
        if path is None:
            return None
        try:
            with boundary(DataError, "Reading the head of an image"), opened_image(path) as image:
                turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
                return (image.height, image.width) if turned else (image.width, image.height)
        except DataError:
            return None

    def _wave_seconds(self, name: str) -> float | None:
        path = self._path(name)
        if path is None:
            return None
        try:
            with boundary(DataError, "Reading the head of a recording"), closing(wave.open(str(path))) as found:
                n_frames, rate = found.getnframes(), found.getframerate()
                return float(n_frames / rate)
        except DataError:
            return None


def playable(head: bytes) -> str | None:
    """The MIME type of audio or video that browsers play, by the first bytes of a file; ``None`` if it is none."""
    return sniff_audio_mime(head) or sniff_video_mime(head)


def _fragment(span: tuple[float | None, float | None] | None) -> str:
    """The part of a URL that makes a player play a segment (W3C Media Fragments)."""
    if span is None:
        return ""
    start, end = span
    return f"#t={start or 0:g}" + ("" if end is None else f",{end:g}")


def origin_of(note: Mapping[str, Any]) -> str:
    """Return the name, path or address of a medium; empty if the note names only its place in a dataset, or holds the
    start of the medium itself.
    """
    named = next((note[key] for key in ("name", "source", "url") if isinstance(note.get(key), str) and note[key]), "")
    return "" if _ROW_KEY.match(named) or named.startswith("data:") else named


def _why_absent(kind: str, note: Mapping[str, Any]) -> str:
    thing = {"image": "image", "video": "video", "audio": "recording"}[kind]
    where = _line(note.get("url") or note.get("source"))
    if where.startswith("data:"):
        where = ""
    elif isinstance(note.get("url"), str):
        return f"The model was given a URL, which the viewer does not fetch: {where}"
    if kind == "video" and isinstance(note.get("file"), str):
        return "The run keeps frames of this video, not the video itself."
    return f"The run keeps no copy of this {thing}" + (f": {where}" if where else ".")


def _file_name(value: Any) -> str:
    """The last part of a path; a URL whole."""
    line = _line(value)
    return line if "://" in line else line.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _line(value: Any) -> str:
    return clip(one_line(value), _LONGEST_NAME) if isinstance(value, str) else ""


def _pixels(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e7 else 0


def _seconds(value: Any) -> float | None:
    return (
        float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9 else None
    )
