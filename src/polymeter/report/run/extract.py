"""The samples in an HTML report: cut to a readable size, as plain JSON data that a browser reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.acting.tools import stored_calls
from polymeter.core.text.codec import json_encoder
from polymeter.report.formatting import number
from polymeter.report.sample_values import sample_value
from polymeter.report.scales import MainMetric, number_of, score_label
from polymeter.report.shown_text import shown_in_sample

TEXT_LENGTH = 6000
"""The most characters of a text that are shown, outside of rows and logs."""
DOC_TEXT_LENGTH = 1500
"""The most characters of a text that are shown in a row or a log."""
LIST_LENGTH = 60
"""The most items of a list that are shown."""
MAX_DEPTH = 8
"""The most levels of nested lists and objects that are shown as such; deeper ones are shown as text."""
BLIND = "answered_blind"
"""The key that a reader of run folders adds to a sample that was answered right without its media: the ablations."""
_EXCHANGES = 40
_strict_json = json_encoder(allows_nan=False)
_SHOWN_MEDIA = ("image", "video", "audio")


def sample_data(sample: Mapping[str, Any], task: int, main: MainMetric | None) -> dict[str, Any]:
    """One sample as the report shows it.

    Args:
        sample: A line of ``samples/<task>.jsonl``.
        task: Number of its task in the report.
        main: The metric that orders the samples.
    """
    exchanges = [*sample.get("exchanges", ())]
    data = {
        "task": task,
        "id": str(sample.get("id")),
        "index": sample.get("index"),
        "blind": ", ".join(sample.get(BLIND) or ()),
        "subset": [str(part) for part in sample.get("subset") or ()],
        "status": str(sample.get("status")),
        "error": _plain(sample.get("error"), TEXT_LENGTH),
        "target": _text(sample.get("target")),
        "answer": _text(sample.get("answer")),
        "explanation": _text(sample.get("explanation")),
        "read_by": ", ".join(dict.fromkeys(rule for rule in sample.get("judge_rules") or () if rule)),
        **_sample_scores(sample, main),
        "doc": _plain(sample.get("doc"), DOC_TEXT_LENGTH),
        "log": _plain(sample.get("log"), DOC_TEXT_LENGTH),
        "exchanges": _plain([_with_calls(one) for one in exchanges[:_EXCHANGES]], TEXT_LENGTH),
        "shown": [
            [_text(one.title), [[label, _text(fact)] for label, fact in one.facts]]
            for one in shown_in_sample(sample)[:LIST_LENGTH]
        ],
        "more": len(exchanges) - _EXCHANGES if len(exchanges) > _EXCHANGES else None,
    }
    return {key: item for key, item in data.items() if item not in (None, [], {}, "") or key in ("answer", "id")}


def _sample_scores(sample: Mapping[str, Any], main: MainMetric | None) -> dict[str, Any]:
    """Return the report's data on a sample's scores: names and values, and the place of the main one."""
    value = main.value(sample) if main and sample.get("status") == "ok" else None
    scores = [_score(score) for score in sample.get("scores", ())]
    shown = {} if value is None else {"value": number(value), "at": value}
    return {**({"scores": scores} if scores else {}), **shown}


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


def clip_files(sample: Mapping[str, Any]) -> Iterator[str]:
    """File names of the videos of a sample's prompts that a browser can play."""
    for exchange in _objects(sample.get("exchanges")):
        for message in _objects((exchange.get("request") or {}).get("messages")):
            for part in _objects(message.get("parts")):
                video = part.get("video")
                if isinstance(video, dict) and isinstance(video.get("clip"), str):
                    yield video["clip"]


def script_json(value: Any) -> str:
    """JSON that is safe inside a ``<script>`` element: nothing in it can end the element or begin a comment."""
    text = _strict_json(value)
    for character in "<>&\u2028\u2029":
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _with_calls(exchange: Any) -> Any:
    """A stored exchange whose calls of tools have their arguments as text, and whose tools are names: both are nested
    deeply. One without tools stays unchanged.
    """
    if not isinstance(exchange, Mapping):
        return exchange
    request, response = (exchange.get(name) or {} for name in ("request", "response"))
    messages, outputs = [*_objects(request.get("messages"))], [*_objects(response.get("outputs"))]
    offered = [*_objects((request.get("ask") or {}).get("tools"))]
    if not (offered or any(one.get("calls") for one in messages) or any(one.get("tool_calls") for one in outputs)):
        return exchange
    told = [{**one, "calls": _calls(one["calls"])} if one.get("calls") else one for one in messages]
    said = [{**one, "tool_calls": _calls(one["tool_calls"])} if one.get("tool_calls") else one for one in outputs]
    ask = {**(request.get("ask") or {}), **({"tools": [tool.get("name") for tool in offered]} if offered else {})}
    return {**exchange, "request": {**request, "messages": told, "ask": ask}, "response": {**response, "outputs": said}}


def _calls(stored: Any) -> list[dict[str, str]]:
    return [
        {
            "id": call.id,
            "name": call.name,
            "arguments": call.raw
            if call.arguments is None
            else json.dumps(call.arguments, ensure_ascii=False, indent=2),
            **({"problem": call.problem} if call.problem else {}),
        }
        for call in stored_calls(stored)
    ]


def _objects(values: Any) -> Iterator[Mapping[str, Any]]:
    return (value for value in values or () if isinstance(value, Mapping))


def _score(score: Mapping[str, Any]) -> list[Any]:
    name = score_label(str(score.get("metric")), str(score.get("filter") or "none"))
    return [name, sample_value(str(score.get("metric")), score.get("value")), number_of(score)]


def _text(value: Any) -> str | None:
    return None if value is None else _cut(str(value), TEXT_LENGTH)


def _plain(value: Any, length: int, depth: int = MAX_DEPTH) -> Any:
    if isinstance(value, str):
        return value if len(value) <= length else _cut(value, length)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else number(value)
    if depth == 0:
        return _cut(json.dumps(value, ensure_ascii=False, default=str), length)
    if isinstance(value, (dict, Mapping)):  # nearly always the first, which is found much faster
        return {str(key): _plain(item, length, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kept = [_plain(item, length, depth - 1) for item in value[:LIST_LENGTH]]
        return kept if len(value) <= LIST_LENGTH else [*kept, f"… and {len(value) - LIST_LENGTH:,} more"]
    return _cut(str(value), length)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}… [{len(text) - length:,} more characters]"
