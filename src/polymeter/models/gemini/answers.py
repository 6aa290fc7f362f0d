"""From the JSON of ``generateContent`` to an output. What is blocked or broken off becomes an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.core.request import Output, Usage
from polymeter.models.endpoint.pictures import decoded

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


def read_output(answer: Mapping[str, Any], *, where: str) -> Output:
    """The output of an answer: its text, its images, its thoughts.

    Raises:
        ModelError: It was blocked, or there is none.
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


def _images(parts: Sequence[Mapping[str, Any]], where: str) -> Iterator[PILImage]:
    """The images of an answer; sketches made while thinking are none."""
    for part in parts:
        inline = part.get("inlineData")
        if inline and not part.get("thought") and str(inline.get("mimeType")).startswith("image/"):
            yield decoded(str(inline.get("data") or ""), where=where)


def _usage(told: Mapping[str, Any]) -> Usage:
    """Output tokens are those of the answer and of thinking, as other providers count them."""
    output, thoughts = told.get("candidatesTokenCount"), told.get("thoughtsTokenCount")
    is_told = output is not None or thoughts is not None
    total = (output or 0) + (thoughts or 0) if is_told else None
    return Usage(told.get("promptTokenCount"), total, thoughts, told.get("cachedContentTokenCount"))
