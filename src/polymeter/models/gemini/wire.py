"""Between messages and the JSON of ``generateContent``: parts as the API takes them, and outputs from its answers. An
answer that was blocked or broken off becomes an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.core.parts import Audio, Image, Part, Text, Video
from polymeter.core.request import Output, Usage
from polymeter.models.endpoint.media import Encoded, MediaEncoder, decode_received

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
_BROKEN = frozenset({"OTHER", "MALFORMED_RESPONSE", "FINISH_REASON_UNSPECIFIED", "IMAGE_OTHER", "NO_IMAGE"})
_REFUSED = frozenset(
    {
        "BLOCKLIST", "ESCALATION", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_SAFETY", "LANGUAGE",
        "MODEL_ARMOR", "PROHIBITED_CONTENT", "PUP_LIMITED_DISABLED", "RECITATION", "SAFETY", "SPII",
    }
)  # fmt: skip


class PartWriter:
    """Writes parts as the API takes them.

    Args:
        encoder: Encodes media.
        sends_frames: Whether videos are sent as frames.
        fps: Frames per second at which the API samples a video that is sent whole; ``None``: its default.
    """

    def __init__(self, encoder: MediaEncoder, *, sends_frames: bool, fps: float | None) -> None:
        self._encoder = encoder
        self._sends_frames = sends_frames
        self._fps = fps

    def pieces(self, part: Part) -> list[dict[str, Any]]:
        """A part as one part of the API or, for the frames of a video, as several."""
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


def read_output(answer: Mapping[str, Any], *, where: str) -> Output:
    """The output in an answer: text, images, reasoning.

    Raises:
        ModelError: if the answer was blocked, or there is none.
    """
    blocked = (answer.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        raise ModelError(f"The prompt was blocked: {blocked}", kind="refused", where=where)
    candidates = answer.get("candidates")
    if not isinstance(candidates, list) or not candidates:
        raise ModelError("The answer has no candidates.", kind="transient", where=where)
    candidate = candidates[0]
    reason = candidate.get("finishReason")
    why = candidate.get("finishMessage") or reason
    if reason in _REFUSED:
        raise ModelError(f"The answer was blocked: {why}", kind="refused", where=where)
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    images = tuple(_images(parts, where))
    if reason in _BROKEN and not text and not images:
        raise ModelError(f"The model stopped without an answer: {why}", kind="transient", where=where)
    calls = tuple(
        {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args") or {}}
        for part in parts
        if (call := part.get("functionCall"))
    )
    finish = _FINISHES.get(str(reason), str(reason).lower() if reason else None)
    return Output(
        text=None if images and not text else text,
        images=images,
        reasoning="".join(part.get("text") or "" for part in parts if part.get("thought")) or None,
        tool_calls=calls,
        finish_reason="tool_calls" if calls and finish == "stop" else finish,
        usage=_usage(answer.get("usageMetadata") or {}),
    )


def _inline(medium: Encoded) -> dict[str, Any]:
    mime = "audio/mp3" if medium.mime == "audio/mpeg" else medium.mime
    return {"inlineData": {"mimeType": mime, "data": medium.base64.decode("ascii")}}


def _by_address(part: Image | Audio | Video) -> dict[str, Any] | None:
    """A medium that the API fetches itself: a web URL, an uploaded file, an object in Cloud Storage."""
    source = part.source if isinstance(part, Image) or isinstance(part.source, str) else part.origin()
    if not isinstance(source, str) or not source.startswith(("http://", "https://", "gs://")):
        return None
    from mimetypes import guess_type

    mime = guess_type(source.partition("?")[0])[0]
    return {"fileData": {"fileUri": source, **({"mimeType": mime} if mime else {})}}


def _images(parts: Sequence[Mapping[str, Any]], where: str) -> Iterator[PILImage]:
    """The images of an answer, without sketches that were made while thinking."""
    for part in parts:
        inline = part.get("inlineData")
        if inline and not part.get("thought") and str(inline.get("mimeType")).startswith("image/"):
            yield decode_received(str(inline.get("data") or ""), where=where)


def _usage(counts: Mapping[str, Any]) -> Usage:
    """Output tokens are those of the answer and of thinking, as other providers count them."""
    output, thoughts = counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")
    is_counted = output is not None or thoughts is not None
    total = (output or 0) + (thoughts or 0) if is_counted else None
    return Usage(counts.get("promptTokenCount"), total, thoughts, counts.get("cachedContentTokenCount"))
