"""One sample of a run as text: its requests, with the files of their media, its answers, and its score."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.acting.tools import stored_calls
from polymeter.report.formatting import clean, number
from polymeter.report.sample_values import sample_value
from polymeter.report.shown_text import shown_in_sample
from polymeter.store.media import media_path
from polymeter.store.reading.reused import origin_in

_MEDIA = ("image", "audio", "video")


def sample_text(task: str, sample: Mapping[str, Any], media: Path) -> str:
    """A sample, whole.

    Args:
        task: Its task.
        sample: Its line in ``samples/<task>.jsonl``.
        media: The folder of the run's media; files are given relative to the working directory as this is.
    """
    return clean("\n".join(_lines(task, sample, media)))


def failure_line(task: str, sample: Mapping[str, Any]) -> str:
    """A sample without a score on one line: task, id, status and reason."""
    return clean(" ".join(f"{task}  {sample.get('id')}  {sample.get('status')}  {_why(sample)}".split()))


def _lines(task: str, sample: Mapping[str, Any], media: Path) -> Iterator[str]:
    yield f"task     {task}"
    subset = "/".join(map(str, sample.get("subset") or ()))
    yield f"sample   {sample.get('id')} (number {sample.get('index')}{f', {subset}' if subset else ''})"
    yield f"status   {sample.get('status')}"
    if sample.get("error"):
        yield f"error    {_why(sample)}"
    exchanges = list(sample.get("exchanges") or ())
    for count, exchange in enumerate(exchanges, 1):
        role = str(exchange.get("role"))
        of_many = f" {count} of {len(exchanges)}" if len(exchanges) > 1 else ""
        model = f" {exchange['model']}" if exchange.get("model") else ""
        yield f"\n── {'request' if role == 'model' else f'request to the {role}{model}'}{of_many}"
        yield from _request(exchange.get("request") or {}, media)
        yield f"\n── {'answer' if role == 'model' else f'answer of the {role}'}{of_many}"
        yield from _answer(exchange.get("response") or {}, media)
        if (origin := origin_in(exchange.get("response"))) is not None:
            yield f"→ reused from {origin.describe()}"
    if not exchanges:
        yield "\n── No request of this sample was answered."
    if shown := shown_in_sample(sample):
        yield "\n── shown"
        yield from (one.line for one in shown)
    yield "\n── score"
    for name in ("target", "answer", "explanation"):
        if sample.get(name) is not None:
            yield f"{name}: {_visible(sample[name])}"
    for score in sample.get("scores") or ():
        of_filter = "" if score.get("filter") in (None, "none") else f" ({score['filter']})"
        yield f"{score.get('metric')}{of_filter} = {sample_value(str(score.get('metric')), score.get('value'))}"
    if sample.get("judge_rules"):
        yield f"verdict read by: {', '.join(str(rule) for rule in sample['judge_rules'] if rule)}"
    if not sample.get("scores"):
        yield "none"
    if sample.get("log"):
        yield f"log: {_json(sample['log'])}"
    yield "\n── row"
    yield _json(sample.get("doc"))


def _why(sample: Mapping[str, Any]) -> str:
    error = sample.get("error") or {}
    return str(error.get("message") or "")


def _request(request: Mapping[str, Any], media: Path) -> Iterator[str]:
    for message in request.get("messages") or ():
        of_call = f", result of {message['call_id']}" if message.get("call_id") else ""
        yield f"[{message.get('role')}{of_call}]"
        for part in message.get("parts") or ():
            yield _part(part, media)
        yield from _calls(message.get("calls"))
    if request.get("ask"):
        yield f"→ {json.dumps(_ask(request['ask']), ensure_ascii=False)}"


def _ask(ask: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a request, with the names of its tools alone: their schemas are long, and the same each time."""
    tools = ask.get("tools")
    return ask if not tools else {**ask, "tools": [tool.get("name") for tool in tools]}


def _part(part: Mapping[str, Any], media: Path) -> str:
    for kind in _MEDIA:
        if kind in part:
            note = part[kind] or {}
            size = f", {note['width']}×{note['height']}" if note.get("width") else ""
            name = f", from {note['name']}" if note.get("name") else ""
            return f"<{kind}: {_place(note, media)}{size}{name}>"
    return str(part.get("text", _json(part)))


def _place(note: Mapping[str, Any], media: Path) -> str:
    if isinstance(note.get("file"), str):
        return str(media_path(media, note["file"]))
    return str(note.get("url") or note.get("source") or "not kept")


def _answer(response: Mapping[str, Any], media: Path) -> Iterator[str]:
    for output in response.get("outputs") or ():
        if output.get("reasoning"):
            yield f"(reasoning) {output['reasoning']}"
        if output.get("text") is not None:
            yield _visible(output["text"])
        for name in output.get("images") or ():
            yield f"<image: {media_path(media, str(name))}>"
        if output.get("logprobs"):
            yield f"log-probabilities: {', '.join(number(choice[0]) for choice in output['logprobs'])}"
        yield from _calls(output.get("tool_calls"))
        if output.get("finish_reason") not in (None, "stop"):
            yield f"→ ended by: {output['finish_reason']}"
        if "images" in (output.get("cut") or {}):
            yield "→ the processor scaled images down"
        if "prompt" in (output.get("cut") or {}):
            yield "→ the prompt was truncated"


def _calls(stored: Any) -> Iterator[str]:
    """The calls of tools of a turn, one on a line."""
    for call in stored_calls(stored):
        arguments = call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
        problem = f"; {call.problem}" if call.problem else ""
        yield f"→ calls {call.name or 'a tool without a name'} {arguments} ({call.id or 'without an id'}{problem})"


def _visible(text: Any) -> str:
    return str(text) if str(text).strip() else "(empty)"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
