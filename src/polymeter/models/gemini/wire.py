"""Translation between messages and the JSON of ``generateContent``: parts in the API's form, and outputs from its
answers. An answer that was blocked or broken off becomes an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from mimetypes import guess_type
from posixpath import splitext
from typing import TYPE_CHECKING, Any

from polymeter.core.acting.tools import read_call
from polymeter.core.content import Audio, Image, Media, Part, Text, Video
from polymeter.core.errors import ModelError
from polymeter.core.media.showing import stated
from polymeter.core.media.sources import mime_of_suffix
from polymeter.core.request import Message, Output, Usage
from polymeter.models.endpoint.hosted import HostedTurn
from polymeter.models.endpoint.media import Encoded, MediaEncoder, decode_received, fetched_there, subtitles_beside
from polymeter.models.endpoint.shapes import count, incomplete, kind_of, malformed, only_calls

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_PARTS = "parts"
"""The name, in what is carried with a turn, of the answer's parts."""
_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
_BROKEN = frozenset({"OTHER", "MALFORMED_RESPONSE", "FINISH_REASON_UNSPECIFIED", "IMAGE_OTHER", "NO_IMAGE"})
_REFUSED = frozenset(
    {
        "BLOCKLIST", "ESCALATION", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_SAFETY", "LANGUAGE",
        "MODEL_ARMOR", "PROHIBITED_CONTENT", "PUP_LIMITED_DISABLED", "RECITATION", "SAFETY", "SPII",
    }
)  # fmt: skip


_FOLLOWED = {
    "fps": None, "audio": "track", "timestamps": "none",
    "subtitles": "whole", "subtitles_from": None, "subtitles_missing": None,
}  # fmt: skip
"""The settings of a rule that are followed with a whole video, and their only values; ``None``: any."""


class PartWriter:
    """Writes parts in the API's form.

    Args:
        encoder: Encodes media.
        sends_frames: Whether videos are sent as frames.
        fps: Frames per second at which the API samples a video that is sent whole; ``None``: its default.
    """

    def __init__(self, encoder: MediaEncoder, *, sends_frames: bool, fps: float | None) -> None:
        self._encoder = encoder
        self._sends_frames = sends_frames
        self._fps = fps

    def contents(self, turns: Sequence[HostedTurn]) -> list[dict[str, Any]]:
        """Turns as the API's contents. A result names its call's tool, and its id only if the API gave one."""
        called: dict[str, dict[str, Any]] = {}
        contents = []
        for turn in turns:
            pieces: list[dict[str, Any]] = []
            for part in turn.parts:
                if not isinstance(part, Message):
                    pieces += self.pieces(part)
                elif part.role == "tool":
                    pieces.append(self._result(part, called.get(part.call_id, {"name": "unnamed"})))
                else:
                    written, named = self._calls(part)
                    pieces += written
                    called |= named
            contents.append({"role": "model" if turn.role == "assistant" else "user", "parts": pieces})
        return contents

    def _calls(self, message: Message) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
        """A turn with calls, and by which name and id the results name each: the API's own parts where it gave them,
        because it demands their signatures back.
        """
        if message.carried:
            own = [dict(piece) for piece in message.carried[_PARTS]]
            functions = [piece["functionCall"] for piece in own if "functionCall" in piece]
        else:
            functions = [{"name": call.sent_name, "args": call.sent_arguments} for call in message.calls]
            own = [piece for part in message.parts for piece in self.pieces(part)]
            own += [{"functionCall": function} for function in functions]
        names = [{key: each[key] for key in ("id", "name") if each.get(key)} for each in functions]
        return own, {call.id: name for call, name in zip(message.calls, names, strict=False)}

    def _result(self, message: Message, named: Mapping[str, Any]) -> dict[str, Any]:
        response: dict[str, Any] = {**named, "response": {"result": message.text}}
        media = [piece for part in message.parts if not isinstance(part, Text) for piece in self.pieces(part)]
        return {"functionResponse": {**response, "parts": media} if media else response}

    def pieces(self, part: Part) -> list[dict[str, Any]]:
        """A part as one part of the API or, for the frames of a video, as several."""
        if isinstance(part, Text):
            return [{"text": part.text}]
        if isinstance(part, Video):
            return self._video(part)
        address = _by_address(part)
        if address is not None:
            return [address]
        encoded = (self._encoder.image(part),) if isinstance(part, Image) else self._encoder.audio(part)
        return [_inline(one) for one in encoded]

    def decodes(self, medium: Media) -> bool:
        """Return whether a medium is not sent unchanged."""
        is_whole = isinstance(medium, Video) and not self._as_frames(medium)
        return not is_whole and self._encoder.decodes(medium)

    def _as_frames(self, video: Video) -> bool:
        """Return whether a video is sent as frames: the API does not follow its rule."""
        rule = {} if video.rule is None else stated(video.rule)
        return self._sends_frames or not all(_FOLLOWED.get(name, "") in (None, value) for name, value in rule.items())

    def _video(self, video: Video) -> list[dict[str, Any]]:
        """A video, whole if the API can follow its rule: it samples by a rate of its own, and hears the sound."""
        if self._as_frames(video):
            pieces = self._encoder.video(video)
            return [{"text": piece} if isinstance(piece, str) else _inline(piece) for piece in pieces]
        rule = {} if video.rule is None else stated(video.rule)
        fps = rule.get("fps", self._fps)
        followed = rule if fps is None else {**rule, "fps": fps}
        whole = _by_address(video, followed) or _inline(self._encoder.whole_video(video, followed))
        shown = {"startOffset": video.start_s, "endOffset": video.end_s}
        metadata: dict[str, Any] = {name: f"{time:g}s" for name, time in shown.items() if time is not None}
        if fps is not None:
            metadata["fps"] = fps
        if metadata:
            whole["videoMetadata"] = metadata
        subtitles = subtitles_beside(video)
        return [whole, {"text": subtitles}] if subtitles else [whole]


def read_output(answer: Mapping[str, Any], *, where: str, offers_tools: bool = False) -> Output:
    """Return the output in an answer: text, images, reasoning. It may be empty if the model ended its turn or reached
    its token limit, for example when all tokens went into thinking.

    Raises:
        ModelError: if the answer was blocked, is missing, or is not in the API's form.
    """
    blocked = _object_at(answer, "promptFeedback", where).get("blockReason")
    if blocked:
        raise ModelError(f"The prompt was blocked: {blocked}", kind="refused", where=where)
    candidates = answer.get("candidates")
    if not isinstance(candidates, list) or not candidates:
        raise ModelError("The answer has no candidates.", kind="transient", where=where)
    candidate = candidates[0]
    if not isinstance(candidate, dict):
        raise incomplete(f"a candidate is {kind_of(candidate)}", where=where)
    told = candidate.get("finishReason")
    reason = told if isinstance(told, str) and told else None
    why = candidate.get("finishMessage") or reason
    if reason in _REFUSED:
        raise ModelError(f"The answer was blocked: {why}", kind="refused", where=where)
    parts = _content_parts(candidate, where)
    text = _joined_text((part for part in parts if not part.get("thought")), where)
    images = tuple(_images(parts, where))
    calls = tuple(
        read_call(call.get("id"), call.get("name"), call.get("args"))
        for part in parts
        if isinstance(call := part.get("functionCall"), dict)
    )
    if not text and not images:
        if reason in _BROKEN:
            raise ModelError(f"The model stopped without an answer: {why}", kind="transient", where=where)
        if calls and not offers_tools:
            raise only_calls(where=where)
        if reason is None:
            raise incomplete("neither a text nor why the model stopped", where=where)
        if reason not in _FINISHES and not calls:
            raise ModelError(f"The model stopped without an answer: {why}", where=where)
        if not offers_tools and not all("text" in part or part.get("thought") for part in parts):
            raise malformed("no part of the content is text", where=where)
    finish = None if reason is None else _FINISHES.get(reason, reason.lower())
    return Output(
        text=None if images and not text else text,
        images=images,
        reasoning=_joined_text((part for part in parts if part.get("thought")), where) or None,
        calls=calls,
        finish_reason="tool_calls" if calls and finish == "stop" else finish,
        usage=_usage(answer.get("usageMetadata")),
        carried={_PARTS: [part for part in parts if _is_sent_back(part)]} if calls else None,
    )


def _is_sent_back(part: Mapping[str, Any]) -> bool:
    return not part.get("thought") and "inlineData" not in part


def _content_parts(candidate: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    parts = _object_at(candidate, "content", where).get("parts")
    if parts is None:
        return []
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise malformed("the parts of the content are not a list of objects", where=where)
    return parts


def _object_at(value: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    inner = value.get(name)
    if inner is not None and not isinstance(inner, dict):
        raise malformed(f"{name} is {kind_of(inner)}", where=where)
    return inner or {}


def _joined_text(parts: Iterable[Mapping[str, Any]], where: str) -> str:
    texts = [part["text"] for part in parts if part.get("text") is not None]
    for text in texts:
        if not isinstance(text, str):
            raise malformed(f"the text of a part is {kind_of(text)}", where=where)
    return "".join(texts)


def _inline(medium: Encoded) -> dict[str, Any]:
    mime = "audio/mp3" if medium.mime == "audio/mpeg" else medium.mime
    return {"inlineData": {"mimeType": mime, "data": medium.base64.decode("ascii")}}


def _by_address(part: Image | Audio | Video, followed: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """A medium that the API fetches itself: a web URL, an uploaded file, an object in Cloud Storage."""
    source = fetched_there(part, ("http://", "https://", "gs://"), followed)
    if source is None:
        return None
    name = source.partition("?")[0]
    mime = mime_of_suffix(splitext(name)[1].lower()) or guess_type(name)[0]
    return {"fileData": {"fileUri": source, **({"mimeType": mime} if mime else {})}}


def _images(parts: Sequence[Mapping[str, Any]], where: str) -> Iterator[PILImage]:
    """The images of an answer, without sketches that were made while thinking."""
    for part in parts:
        inline = _object_at(part, "inlineData", where)
        if inline and not part.get("thought") and str(inline.get("mimeType")).startswith("image/"):
            yield decode_received(str(inline.get("data") or ""), where=where)


def _usage(counts: Any) -> Usage:
    """Output tokens are those of the answer and of thinking, as other providers count them."""
    output, thoughts = count(counts, "candidatesTokenCount"), count(counts, "thoughtsTokenCount")
    is_counted = output is not None or thoughts is not None
    total = (output or 0) + (thoughts or 0) if is_counted else None
    return Usage(
        count(counts, "promptTokenCount"),
        total,
        thoughts,
        count(counts, "cachedContentTokenCount"),
        audio_tokens=_of_modality(counts, "promptTokensDetails", "AUDIO"),
        image_tokens=_of_modality(counts, "promptTokensDetails", "IMAGE"),
        image_output_tokens=_of_modality(counts, "candidatesTokensDetails", "IMAGE"),
    )


def _of_modality(counts: Any, name: str, modality: str) -> int | None:
    """Return the tokens of a modality, which have prices of their own; ``None`` if they are not counted apart."""
    details = counts.get(name) if isinstance(counts, dict) else None
    if not isinstance(details, list) or not details:
        return None
    found = [one for one in details if isinstance(one, dict) and one.get("modality") == modality]
    return sum(count(one, "tokenCount") or 0 for one in found)
