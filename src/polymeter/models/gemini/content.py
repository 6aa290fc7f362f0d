"""Parts of messages as the API takes them."""

from __future__ import annotations

from typing import Any

from polymeter.core.parts import Audio, Image, Part, Text, Video
from polymeter.models.endpoint.media import Encoded, MediaEncoder


class PartWriter:
    """Writes parts.

    Args:
        encoder: Encodes media.
        sends_frames: Whether videos are sent as frames.
        fps: Frames per second at which the API samples a video that is sent whole; ``None``: as it does.
    """

    def __init__(self, encoder: MediaEncoder, *, sends_frames: bool, fps: float | None) -> None:
        self._encoder = encoder
        self._sends_frames = sends_frames
        self._fps = fps

    def pieces(self, part: Part) -> list[dict[str, Any]]:
        """A part as one or, for the frames of a video, several parts of the API."""
        if isinstance(part, Text):
            return [{"text": part.text}]
        if isinstance(part, Video) and self._sends_frames:
            return [_inline(frame) for frame in self._encoder.frames(part)]
        piece = _by_address(part) or _inline(self._encoded(part))
        if isinstance(part, Video):
            shown = {"startOffset": part.start_s, "endOffset": part.end_s}
            metadata: dict[str, Any] = {name: f"{time:g}s" for name, time in shown.items() if time is not None}
            if self._fps is not None:
                metadata["fps"] = self._fps
            if metadata:
                piece["videoMetadata"] = metadata
        return [piece]

    def _encoded(self, part: Image | Audio | Video) -> Encoded:
        if isinstance(part, Image):
            return self._encoder.image(part)
        return self._encoder.audio(part) if isinstance(part, Audio) else self._encoder.whole_video(part)


def _inline(medium: Encoded) -> dict[str, Any]:
    mime = "audio/mp3" if medium.mime == "audio/mpeg" else medium.mime
    return {"inlineData": {"mimeType": mime, "data": medium.base64.decode("ascii")}}


def _by_address(part: Image | Audio | Video) -> dict[str, Any] | None:
    """A medium that the API fetches itself: a web address, an uploaded file, an object of Cloud Storage."""
    source = part.source if isinstance(part, Image) or isinstance(part.source, str) else part.origin()
    if not isinstance(source, str) or not source.startswith(("http://", "https://", "gs://")):
        return None
    from mimetypes import guess_type

    mime = guess_type(source.partition("?")[0])[0]
    return {"fileData": {"fileUri": source, **({"mimeType": mime} if mime else {})}}
