"""The answer that a judge sees, and the judge's reply, both without reasoning.

A judge that reached its token limit inside its reasoning has given no verdict, so its sample has no score. The
reasoning may be in its text, between tags, or in a separate field beside an empty text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import guest_context, refuse_verdict
from polymeter.reading.reasoning import separated

if TYPE_CHECKING:
    from polymeter.core.request import Output, Response, Tags

CUT_OFF = (
    "The judge's answer ended inside its reasoning (token limit), before a verdict. Raise the judge's max_new_tokens."
)
_LIMIT = "length"


def spoken(text: str | None) -> str:
    """Return the answer without its reasoning and without white space around it.

    Raises:
        UnscoredError: if the reasoning has no end.
    """
    found = separated(text or "", guest_context().reasoning_tags)
    if found.is_unfinished:
        raise UnscoredError(CUT_OFF)
    return found.text.strip()


def shown(answer: str, tags: Tags | None = None) -> str:
    """Return an answer as a judge sees it: without the model's reasoning. Without reasoning the answer is unchanged.
    The result is empty if the reasoning has no end.

    Args:
        answer: The answer.
        tags: The tags around reasoning; ``None``: those of the run, else the known ones.
    """
    found = separated(answer, guest_context().reasoning_tags if tags is None else tags)
    return found.text.strip() if found.has_reasoning else answer


def is_cut_off(response: Response) -> bool:
    """Check whether a judge's answer ended inside its reasoning."""
    return bool(response.outputs) and _is_cut_off(response.outputs[0])


def reply_of(response: Response) -> str:
    """Return the text of a judge's answer, with its reasoning.

    Raises:
        UnscoredError: if the judge failed, or its answer ended inside its reasoning. The sample that is being scored
            then has no score, even if the caller catches this.
    """
    if response.error is None and is_cut_off(response):
        refuse_verdict(CUT_OFF)
    return whole_reply_of(response)


def whole_reply_of(response: Response) -> str:
    """Return the same text as ``reply_of``, for a caller that asks again if the answer was cut off.

    Raises:
        UnscoredError: if the judge failed, or its answer ended inside its reasoning.
    """
    if response.error is not None:
        raise UnscoredError(f"The judge could not be asked: {response.error.message}")
    if is_cut_off(response):
        raise UnscoredError(CUT_OFF)
    return (response.outputs[0].text if response.outputs else None) or ""


def _is_cut_off(output: Output) -> bool:
    text = output.text or ""
    if text.strip():
        return separated(text, guest_context().reasoning_tags).is_unfinished
    thought = bool(output.reasoning) or bool(output.usage and output.usage.reasoning_tokens)
    return thought and output.finish_reason == _LIMIT
