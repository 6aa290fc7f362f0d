"""A sample as run folders store it: what it says of prompt, answers, numbers and media, to be written elsewhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.core.text.json_text import json_text

StoredSample = Mapping[str, Any]
"""A line of ``samples/<task>.jsonl``."""
MEDIA_KINDS = ("image", "audio", "video")
_FILE_NAME = re.compile(r".+\.[A-Za-z0-9]{1,5}")
"""The last part of a path or URL if it names a file. A source may also be the type of an object or a column's key."""


def model_exchanges(sample: StoredSample) -> list[Mapping[str, Any]]:
    """The requests to the model that is measured, with their responses; not those to a judge."""
    return [exchange for exchange in sample["exchanges"] if exchange["role"] == "model"]


def model_outputs(sample: StoredSample) -> list[Mapping[str, Any]]:
    """The outputs of the model in the order of its requests."""
    return [output for exchange in model_exchanges(sample) for output in exchange["response"]["outputs"]]


def messages_of(exchange: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The messages of a request; none if the request is not stored."""
    messages: Sequence[Mapping[str, Any]] = (exchange.get("request") or {}).get("messages", ())
    return messages


def first_messages(sample: StoredSample) -> Sequence[Mapping[str, Any]]:
    """The messages of the first request."""
    exchanges = model_exchanges(sample)
    return messages_of(exchanges[0]) if exchanges else ()


def text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of messages, without media; messages are separated by a blank line."""
    if len(messages) == 1 and len(messages[0]["parts"]) == 1:  # as in most prompts
        return str(messages[0]["parts"][0].get("text", ""))
    return "\n\n".join("".join(part["text"] for part in message["parts"] if "text" in part) for message in messages)


def media_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The media of messages: the kind, and what the run folder keeps of each (``file``, if there is one)."""
    for message in messages:
        for part in message["parts"]:
            yield from ((kind, part[kind]) for kind in MEDIA_KINDS if kind in part)


def media_names(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names that the dataset gives the files of messages, each once, in order. Files without one are left out."""
    if len(messages) == 1 and len(messages[0]["parts"]) == 1 and "text" in messages[0]["parts"][0]:
        return []  # as in most prompts
    return [*dict.fromkeys(name for _, note in media_of(messages) if (name := _file_name(note)))]


def _file_name(note: Mapping[str, Any]) -> str:
    """The name in the note on a medium, else the last part of its source or URL."""
    if note.get("name"):
        return str(note["name"])
    where = str(note.get("source") or note.get("url") or "")
    if where.startswith("data:"):
        return ""
    path = re.split("[?#]", where, maxsplit=1)[0] if "://" in where else where
    last = path.replace("\\", "/").rpartition("/")[2]
    return last if _FILE_NAME.fullmatch(last) else ""


def answer_text(sample: StoredSample) -> str | None:
    """The text that was scored; if none was, the first text of the model. ``None``: it wrote none."""
    if sample["answer"] is not None:
        return str(sample["answer"])
    return next((output["text"] for output in model_outputs(sample) if output.get("text") is not None), None)


def answer_digest(sample: StoredSample) -> str:
    """Identify what the model answered to a sample: all of its texts and images, or the choice that it prefers. Times,
    tokens and log-probabilities, which can differ for equal answers, do not count; neither does what scoring reads.
    """
    texts = [text for output in model_outputs(sample) if (text := output.get("text")) is not None]
    content = json_text([texts, images_of(sample)] if texts or images_of(sample) else [sample["answer"]])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def images_of(sample: StoredSample) -> list[str]:
    """The names of the files of generated images."""
    return [name for output in model_outputs(sample) for name in output.get("images") or ()]


def error_text(sample: StoredSample) -> str:
    """Return the reason why a sample has no score; empty if it has one."""
    return str((sample["error"] or {}).get("message") or "")


def tokens_of(sample: StoredSample) -> tuple[int, int] | None:
    """The tokens of prompts and answers; ``None`` if the model does not count them."""
    counts = [output["usage"] for output in model_outputs(sample) if output.get("usage")]
    if not counts:
        return None
    return sum(usage[0] or 0 for usage in counts), sum(usage[1] or 0 for usage in counts)


def numbers_of(sample: StoredSample) -> dict[tuple[str, str], float]:
    """The numbers of a sample by metric and filter. Those of a value with keys are each under ``metric/key``; values
    that are not finite numbers are left out.
    """
    return dict(_finite_scores((score["metric"], score["filter"], score["value"]) for score in sample["scores"]))


def _finite_scores(scores: Any) -> Iterator[tuple[tuple[str, str], float]]:
    for metric, name, value in scores:
        if isinstance(value, Mapping):
            yield from _finite_scores((f"{metric}/{key}", name, item) for key, item in value.items())
        elif isinstance(value, (int, float)) and abs(value) != float("inf") and value == value:  # noqa: PLR0124  (NaN)
            yield (metric, name), float(value)


def named(metric: str, name: str) -> str:
    """A metric under a filter as one name: ``metric``, or ``metric,filter`` where answers went through a filter."""
    return metric if name == "none" else f"{metric},{name}"
