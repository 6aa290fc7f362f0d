"""What an HTML report holds of the samples: cut to a readable size, as plain JSON data that a browser reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.codec import json_encoder
from polymeter.report.formatting import number
from polymeter.report.scales import MainMetric, number_of, score_label

_TEXT_LENGTH = 6000
_DOC_TEXT_LENGTH = 1500
_LIST_LENGTH = 60
_EXCHANGES = 40
_MAX_DEPTH = 8
_AS_THEY_ARE = frozenset({int, bool, type(None)})
_strict_json = json_encoder(allows_nan=False)
_SHOWN_MEDIA = ("image", "video", "audio")


def sample_data(sample: Mapping[str, Any], task: int, main: MainMetric | None) -> dict[str, Any]:
    """One sample as the report shows it.

    Args:
        sample: A line of ``samples/<task>.jsonl``.
        task: Number of its task in the report.
        main: The metric that orders the samples.
    """
    value = main.value(sample) if main and sample.get("status") == "ok" else None
    exchanges = [*sample.get("exchanges", ())]
    data = {
        "task": task,
        "id": str(sample.get("id")),
        "index": sample.get("index"),
        "subset": [str(part) for part in sample.get("subset") or ()],
        "status": str(sample.get("status")),
        "error": _plain(sample.get("error"), _TEXT_LENGTH),
        "target": _text(sample.get("target")),
        "answer": _text(sample.get("answer")),
        "explanation": _text(sample.get("explanation")),
        "read_by": ", ".join(dict.fromkeys(rule for rule in sample.get("judge_rules") or () if rule)),
        "scores": [_score(score) for score in sample.get("scores", ())],
        "value": None if value is None else number(value),
        "at": value,
        "doc": _plain(sample.get("doc"), _DOC_TEXT_LENGTH),
        "log": _plain(sample.get("log"), _DOC_TEXT_LENGTH),
        "exchanges": _plain(exchanges[:_EXCHANGES], _TEXT_LENGTH),
        "more": len(exchanges) - _EXCHANGES if len(exchanges) > _EXCHANGES else None,
    }
    return {key: item for key, item in data.items() if item or item == 0 or key in ("answer", "id")}


def media_files(sample: Mapping[str, Any]) -> Iterator[str]:
    """File names of the images, audio and strips of video frames of a sample in the report, in the order in which it
    shows them.
    """
    for exchange in _objects(sample.get("exchanges")):
        for message in _objects((exchange.get("request") or {}).get("messages")):
            for part in _objects(message.get("parts")):
                for kind in _SHOWN_MEDIA:
                    medium = part.get(kind)
                    if isinstance(medium, dict) and isinstance(medium.get("file"), str):
                        yield medium["file"]
        for output in _objects((exchange.get("response") or {}).get("outputs")):
            yield from (name for name in output.get("images") or () if isinstance(name, str))
    for value in (sample.get("log") or {}).values():
        image = value.get("image") if isinstance(value, Mapping) else None
        if isinstance(image, Mapping) and isinstance(image.get("file"), str):
            yield image["file"]


def script_json(value: Any) -> str:
    """JSON that is safe inside a ``<script>`` element: nothing in it can end the element or begin a comment."""
    text = _strict_json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _objects(values: Any) -> Iterator[Mapping[str, Any]]:
    return (value for value in values or () if type(value) is dict or isinstance(value, Mapping))


def _score(score: Mapping[str, Any]) -> list[Any]:
    name = score_label(str(score.get("metric")), str(score.get("filter") or "none"))
    return [name, number(score.get("value")), number_of(score)]


def _text(value: Any) -> str | None:
    return None if value is None else _cut(str(value), _TEXT_LENGTH)


def _plain(value: Any, length: int, depth: int = _MAX_DEPTH) -> Any:
    kind = type(value)
    if depth and (kind is dict or kind is list or isinstance(value, (Mapping, list, tuple))):
        return _plain_within(value, length, depth - 1)
    if isinstance(value, str):
        return _cut(value, length)
    if isinstance(value, float) and not math.isfinite(value):
        return number(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth == 0:
        return _cut(json.dumps(value, ensure_ascii=False, default=str), length)
    return _cut(str(value), length)


def _plain_within(value: Any, length: int, depth: int) -> Any:
    """What an object or a list consists of. Short texts and integers, which are most of it, are kept without a call."""
    if type(value) is dict or isinstance(value, Mapping):
        return {
            str(key): item
            if type(item) in _AS_THEY_ARE or (type(item) is str and len(item) <= length)
            else _plain(item, length, depth)
            for key, item in value.items()
        }
    kept = [_plain(item, length, depth) for item in value[:_LIST_LENGTH]]
    return kept if len(value) <= _LIST_LENGTH else [*kept, f"… and {len(value) - _LIST_LENGTH:,} more"]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}… [{len(text) - length:,} more characters]"
