"""Addresses, data URIs, and the formats of media that they name."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from polymeter.data.fetching.fetch import bytes_named_by_data

VideoFormat = Literal["mp4", "mpeg", "mov", "avi"]
AudioFormat = Literal["mp3", "wav"]
SUPPORTED_VIDEO_FORMATS = ("mp4", "mpeg", "mov", "avi")
SUPPORTED_AUDIO_FORMATS = ("mp3", "wav")
VIDEO_FORMAT_TO_MIME_TYPE = {
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mov": "video/quicktime",
    "avi": "video/x-msvideo",
}
_VIDEO_NAMES = {"quicktime": "mov", "x-msvideo": "avi", **{name: name for name in SUPPORTED_VIDEO_FORMATS}}
_AUDIO_NAMES = {
    **{name: name for name in SUPPORTED_AUDIO_FORMATS},
    **dict.fromkeys(("mpeg", "mpga", "x-mp3"), "mp3"),
    **dict.fromkeys(("x-wav", "wave", "vnd.wave"), "wav"),
}


def is_http_url(url: str) -> bool:
    """Return whether a text begins as an address."""
    return url.startswith(("http://", "https://"))


def is_data_uri(url: str) -> bool:
    """Return whether a text begins as a data URI in Base64."""
    return re.match(r"^data:[^;]+;base64,", url) is not None


def data_uri_mime_type(data_url: str) -> str | None:
    """The type that a data URI names, or ``None``."""
    match = re.match(r"^data:([^;]+);.*", data_url)
    return match.group(1) if match else None


def data_uri_to_base64(data_uri: str) -> str:
    """The content of a data URI, still in Base64."""
    return re.sub(r"^data:[^,]+,", "", data_uri)


def file_as_data(file: str, default_mime_type: str = "image/png") -> tuple[bytes, str]:
    """The content and the type of a data URI, of an address or of a file.

    Args:
        file: One of them.
        default_mime_type: The type where the name shows none.

    Raises:
        FileNotFoundError: if there is no such file.
        DataError: if an address gives nothing.
    """
    if is_data_uri(file):
        return base64.b64decode(data_uri_to_base64(file)), data_uri_mime_type(file) or default_mime_type
    mime_type = mimetypes.guess_type(file, strict=False)[0] or default_mime_type
    return bytes_named_by_data(file) if is_http_url(file) else Path(file).read_bytes(), mime_type


def file_as_data_uri(file: str, default_mime_type: str = "image/png") -> str:
    """The data URI of an address or a file; a data URI is unchanged. See ``file_as_data``."""
    if is_data_uri(file):
        return file
    content, mime_type = file_as_data(file, default_mime_type)
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


def sanitize_endpoint(url: str | None) -> str | None:
    """The host and the port of an address, without anything secret; ``None`` if it is none."""
    if not isinstance(url, str) or not url.strip():
        return None
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or any(char.isspace() for char in host):
        return None
    shown = f"[{host.lower()}]" if ":" in host else host.lower()
    return shown if port is None else f"{shown}:{port}"


def video_format_to_mime_type(video_format: str) -> str:
    """The type of a format."""
    return VIDEO_FORMAT_TO_MIME_TYPE[video_format]


def guess_video_format(video: str | None, default: str = "mp4") -> str:
    """The format of a video by its data URI, address or path."""
    return _format(video, "video", _VIDEO_NAMES, SUPPORTED_VIDEO_FORMATS) or default


def guess_audio_format(audio: str | None, default: str = "mp3") -> str:
    """The format of a sound by its data URI, address or path."""
    return _format(audio, "audio", _AUDIO_NAMES, tuple(_AUDIO_NAMES)) or default


def video_as_data_uri(video: str, video_format: str | None = None) -> str:
    """The data URI of a video; see ``file_as_data``."""
    kind = video_format or guess_video_format(video)
    return file_as_data_uri(video, default_mime_type=video_format_to_mime_type(kind))


def _format(medium: str | None, kind: str, names: Mapping[str, str], endings: tuple[str, ...]) -> str | None:
    if not medium:
        return None
    place = re.split(r"[?#]", medium, maxsplit=1)[0]
    mime_type = data_uri_mime_type(medium) or mimetypes.guess_type(place, strict=False)[0] or ""
    family, _, name = mime_type.partition("/")
    if family == kind and name.lower() in names:
        return names[name.lower()]
    ending = Path(place).suffix.lstrip(".").lower()
    return names[ending] if ending in endings else None
