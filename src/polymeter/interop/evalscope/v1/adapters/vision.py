"""``VisionLanguageAdapter``: helpers for prompts of text with images, videos and sounds."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.types.content import (
    Content,
    ContentAudio,
    ContentImage,
    ContentText,
    ContentVideo,
)
from polymeter.interop.evalscope.v1.utils.images import bytes_to_base64, compress_image_to_limit, parse_size
from polymeter.interop.evalscope.v1.utils.uris import (
    SUPPORTED_AUDIO_FORMATS,
    SUPPORTED_VIDEO_FORMATS,
    guess_audio_format,
    guess_video_format,
)

_LOG = logging.getLogger("polymeter")
MediaType = Literal["audio", "image", "video"]
MediaValue = str | dict[str, Any]
"""An address, a path or a data URI; or a dictionary with one of them under ``url``."""
MediaMap = Mapping[int, MediaValue]
"""Media by number, from 1."""
MEDIA_PLACEHOLDER_PATTERN = re.compile(r"<(image|video|audio)[_ ](\d+)>")
SUPPORTED_MEDIA_FORMATS: Mapping[str, Sequence[str]] = {
    "audio": SUPPORTED_AUDIO_FORMATS,
    "video": SUPPORTED_VIDEO_FORMATS,
}
_SHOWN = 30


class VisionLanguageAdapter(DefaultDataAdapter):
    """A benchmark with images, and perhaps videos and sounds.

    Attributes:
        MAX_IMAGES: How many numbered columns of images a record may have.
        MAX_VIDEOS: The same of videos.
        MAX_AUDIOS: The same of sounds.
    """

    MAX_IMAGES: ClassVar[int] = 100
    MAX_VIDEOS: ClassVar[int] = 100
    MAX_AUDIOS: ClassVar[int] = 100

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._max_image_bytes: int | None = parse_size(self._benchmark_meta.max_image_bytes)
        self._missing_media_warned: set[str] = set()

    def _image_bytes_to_base64(
        self, image_bytes: bytes, default_format: str = "png", guess_mimetype: bool = False
    ) -> str:
        """Return an image as a data URI; where ``max_image_bytes`` is set, smaller than that.

        Args:
            image_bytes: The encoded image.
            default_format: Its format.
            guess_mimetype: Whether to find the format in its bytes.
        """
        image, form = image_bytes, default_format
        if self._max_image_bytes is not None:
            image, found = compress_image_to_limit(image_bytes, self._max_image_bytes)
            form = default_format if found == "png" else found  # "png": it was small enough, whatever it is
        return bytes_to_base64(image, format=form, add_header=True, guess_mimetype=guess_mimetype)

    def _parse_text_with_images(self, text: str, image_map: MediaMap) -> list[Content]:
        """Return a text with images in place of ``<image 1>``."""
        return self._parse_text_with_media(text=text, image_map=image_map)

    def _parse_text_with_media(
        self,
        text: str,
        image_map: MediaMap | None = None,
        video_map: MediaMap | None = None,
        audio_map: MediaMap | None = None,
    ) -> list[Content]:
        """Return a text with media in place of ``<image 1>``, ``<video_2>`` and so on.

        A placeholder without media is left out, with one warning. Text between them keeps its white space; text that is
        nothing else is left out.
        """
        maps = {"image": image_map or {}, "video": video_map or {}, "audio": audio_map or {}}
        found: list[Content] = []
        end = 0
        for match in MEDIA_PLACEHOLDER_PATTERN.finditer(text):
            found.extend(_text(text[end : match.start()]))
            end = match.end()
            kind, number = match[1], int(match[2])
            value = maps[kind].get(number)
            if not value:
                self._warn_missing_media(kind, number)
            elif kind == "image":
                found.append(self._content_image_from_value(value))
            elif kind == "video":
                found.append(self._content_video_from_value(value))
            else:
                found.append(self._content_audio_from_value(value))
        found.extend(_text(text[end:]))
        return found

    def _warn_missing_media(self, media_type: str, media_num: int) -> None:
        """Warn once of a placeholder without media."""
        placeholder = f"<{media_type} {media_num}>"
        if placeholder not in self._missing_media_warned:
            self._missing_media_warned.add(placeholder)
            _LOG.warning("There is no %s for %s, which is left out of the prompt.", media_type, placeholder)

    def _normalize_media_value(
        self, media_value: MediaValue, *, media_type: MediaType, media_format: str | None = None
    ) -> dict[str, Any]:
        """Return a cell with media as a dictionary: ``url``, ``format``, and further keys of the cell.

        Args:
            media_value: An address, a path or a data URI; or a dictionary with ``bytes``, ``path``, ``url``, ``data``
                or the kind of media as key.
            media_type: The kind.
            media_format: Its format, if the record says so.

        Raises:
            ValueError: if there is no media in it, the bytes are of another kind, or its format is not supported.
        """
        found: dict[str, Any] = {}
        if isinstance(media_value, str):
            address = media_value
        else:
            found = {key: value for key, value in media_value.items() if key not in ("bytes", "path")}
            address = self._address(media_value, media_type)
        found.setdefault("format", media_format)
        supported = SUPPORTED_MEDIA_FORMATS.get(media_type)
        if found["format"] and supported and found["format"] not in supported:
            raise ValueError(f"{found['format']!r} is no format of {media_type}; known: {', '.join(supported)}")
        found["url"] = address
        return found

    def _address(self, cell: Mapping[str, Any], media_type: MediaType) -> str:
        content, path = cell.get("bytes"), cell.get("path")
        if isinstance(content, (bytes, bytearray)):
            encoded = bytes(content)
            if media_type == "image":
                address = self._image_bytes_to_base64(encoded, guess_mimetype=True)
            else:
                address = bytes_to_base64(encoded, add_header=True, guess_mimetype=True)
            if not address.startswith(f"data:{media_type}/"):
                raise ValueError(f"the bytes are no {media_type}: {address[:_SHOWN]!r}…")
            return address
        if isinstance(path, str):
            return path
        other = cell.get("url") or cell.get("data") or cell.get(media_type)
        if not isinstance(other, str):
            raise ValueError(f"no 'bytes', 'path', 'url', 'data' or {media_type!r} in {sorted(cell)}")
        return other

    def _extract_media(
        self, record: Mapping[str, Any], media_type: MediaType, indices: set[int] | None = None
    ) -> dict[int, dict[str, Any]]:
        """Return the media of one kind in a record, by number: from columns ``image_1``, ``image_2`` and so on, else
        from a list in ``images``. Empty cells are left out.

        Args:
            record: The record.
            media_type: The kind.
            indices: Only these numbers.

        Raises:
            TypeError: if ``images`` is no list, or a cell is neither text nor a dictionary.
            ValueError: if there is no media in a cell.
        """
        if indices is not None and not indices:
            return {}
        most = {"audio": self.MAX_AUDIOS, "image": self.MAX_IMAGES, "video": self.MAX_VIDEOS}[media_type]
        numbers = range(1, most + 1) if indices is None else sorted(n for n in indices if 1 <= n <= most)
        cells = {n: record.get(f"{media_type}_{n}") for n in numbers}
        cells = {n: cell for n, cell in cells.items() if not _is_empty(cell)}
        has_formats = bool(cells) and media_type in SUPPORTED_MEDIA_FORMATS
        if not cells:
            listed = record.get(f"{media_type}s")
            if not listed:
                return {}
            if not isinstance(listed, list):
                raise TypeError(f"{media_type}s must be a list, and is {type(listed).__name__}.")
            cells = {
                n: cell for n, cell in enumerate(listed, 1) if not _is_empty(cell) and (indices is None or n in indices)
            }
        found = {}
        for number, cell in cells.items():
            if not isinstance(cell, (str, dict)):
                raise TypeError(f"{media_type} {number} must be text or a dictionary, and is {type(cell).__name__}.")
            form = record.get(f"{media_type}_{number}_format") if has_formats else None
            try:
                found[number] = self._normalize_media_value(cell, media_type=media_type, media_format=form)
            except ValueError as error:
                raise ValueError(f"{media_type} {number} cannot be read: {error}") from error
        return found

    @staticmethod
    def _content_video_from_value(video_value: MediaValue) -> ContentVideo:
        """Return a video as part of a message."""
        own, address = _own(video_value, "video")
        hints: dict[str, Any] = {key: own.get(key) for key in ("start", "end", "fps")}
        return ContentVideo(video=address, **_form(own, guess_video_format(address)), **hints)

    @staticmethod
    def _content_audio_from_value(audio_value: MediaValue) -> ContentAudio:
        """Return a sound as part of a message."""
        own, address = _own(audio_value, "audio")
        return ContentAudio(audio=address, **_form(own, guess_audio_format(address)))

    @staticmethod
    def _content_image_from_value(image_value: MediaValue) -> ContentImage:
        """Return an image as part of a message."""
        return ContentImage(image=_own(image_value, "image")[1])

    @staticmethod
    def _media_placeholder_indices(messages: Sequence[Any]) -> dict[MediaType, set[int]]:
        """Return the numbers of media that texts of the user name."""
        found: dict[MediaType, set[int]] = {"image": set(), "video": set(), "audio": set()}
        for message in messages:
            if _is_text_of_user(message):
                for kind, number in MEDIA_PLACEHOLDER_PATTERN.findall(message["content"]):
                    found[kind].add(int(number))
        return found

    def _resolve_media_placeholders(
        self,
        messages: Sequence[Any],
        image_map: MediaMap | None = None,
        video_map: MediaMap | None = None,
        audio_map: MediaMap | None = None,
    ) -> list[Any]:
        """Return messages (dictionaries) with media in place of the placeholders in texts of the user. Other messages
        are unchanged.
        """
        found = []
        for message in messages or ():
            parts: list[Content] = []
            if _is_text_of_user(message) and MEDIA_PLACEHOLDER_PATTERN.search(message["content"]):
                parts = self._parse_text_with_media(message["content"], image_map, video_map, audio_map)
            found.append({**message, "content": parts} if parts else message)
        return found


def _text(text: str) -> Iterator[Content]:
    if text.strip():
        yield ContentText(text=text)


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell)


def _own(value: MediaValue, kind: str) -> tuple[Mapping[str, Any], str]:
    """The fields of a value, and its address."""
    if isinstance(value, str):
        return {}, value
    address = value.get("url")
    if not address:
        raise ValueError(f"The {kind} has no 'url': {value!r}")
    return value, address


def _form(own: Mapping[str, Any], guess: str) -> dict[str, Any]:
    return {"format": own.get("format") or guess}


def _is_text_of_user(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "user" and isinstance(message.get("content"), str)
