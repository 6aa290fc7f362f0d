"""The conversation: requests and responses in their order, with roles, rounds, reasoning and tool calls.

A conversation of several rounds sends its history again each time; messages above are not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from polymeter.core.acting.tools import Call, stored_calls
from polymeter.report.content.media import Picture
from polymeter.report.content.players import ShownPlayer, played
from polymeter.report.content.text import ShownText, visible
from polymeter.report.content.view import (
    Block,
    BlockView,
    as_json,
    entry,
    messages_of,
    objects,
    outputs_of,
    parts_of,
    question_at,
)
from polymeter.report.formatting import clip, count, duration, one_line
from polymeter.store.reading.reused import origin_in

ORDER = 40
MOST_EXCHANGES = 60
_LONGEST_FACT = 80


@dataclass(frozen=True, slots=True)
class ChatPart:
    """A part of a message: a text, a picture, or a clip, which may stand beside the chat already."""

    text: ShownText | None = None
    picture: Picture | None = None
    played: ShownPlayer | None = None
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call of a tool: its name, its arguments, indented if they are an object, and what is wrong with it."""

    name: str
    arguments: ShownText
    problem: str


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message.

    Attributes:
        role: Its role.
        parts: Its parts.
        calls: The calls of tools in it.
        answers: The call whose result it is, by name and id; empty: it is none.
    """

    role: str
    parts: tuple[ChatPart, ...]
    calls: tuple[ShownCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """One output.

    Attributes:
        facts: Its end and its usage.
        reasoning: The model's reasoning before it; ``None``: nothing is stored.
        text: Its text; ``None``: no text.
        pictures: The images of the message.
        n_scored_choices: The number of continuations that it scored instead.
        calls: Its calls of tools.
        note: The backend's note on it; may be empty.
    """

    facts: tuple[str, ...]
    reasoning: ShownText | None
    text: ShownText | None
    pictures: tuple[Picture, ...]
    n_scored_choices: int
    calls: tuple[ShownCall, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with its response.

    Attributes:
        title: Its number; empty if it is the only one.
        facts: The settings of the request.
        above: The part of the request that stands above already, in words; empty: nothing.
        turns: Its other messages.
        answers: The outputs.
        has_request: Whether the request is stored.
    """

    title: str
    facts: tuple[str, ...]
    above: str
    turns: tuple[ChatTurn, ...]
    answers: tuple[ChatAnswer, ...]
    has_request: bool = True


@dataclass(frozen=True, slots=True)
class Chat:
    """The exchanges that are shown, the number of others, and whether they are unfolded.

    Rounds and tool calls are what a reader of such a sample looks for. The raw exchange of a plain question holds what
    stands above already, so it is folded.
    """

    exchanges: tuple[Exchange, ...]
    n_more: int
    is_open: bool = False


def make(view: BlockView) -> Block | None:
    """Return all exchanges with the measured model; ``None``: it has none."""
    found = view.exchanges()
    if not found:
        return None
    n_more, is_open = max(len(found) - MOST_EXCHANGES, 0), _has_rounds(found)
    shown = exchanges_of(found[:MOST_EXCHANGES], view, has_beside=True, is_below_question=is_open)
    if is_open and not n_more:
        shown[-1] = _without_answer(shown[-1], outputs_of(found[-1]), view.answer)
    title = "Conversation" if len(found) == 1 else f"Conversation · {count(len(found), 'request')}"
    return Block("chat", title, "content/chat.html", Chat(tuple(shown), n_more, is_open), "below")


def _has_rounds(exchanges: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a request continues the one before it, or the model called a tool."""
    asked = [messages_of(exchange) for exchange in exchanges]
    is_continued = any(0 < len(before) < len(now) and now[: len(before)] == before for before, now in pairwise(asked))
    return is_continued or any(output.get("tool_calls") for one in exchanges for output in outputs_of(one))


def _without_answer(exchange: Exchange, outputs: Sequence[Mapping[str, Any]], answer: str | None) -> Exchange:
    """Return the last exchange; an answer that stands above already is only mentioned."""
    text = outputs[-1].get("text") if outputs else None
    if not isinstance(text, str) or not text.strip() or answer is None or text.strip() != answer.strip():
        return exchange
    last = replace(exchange.answers[-1], text=None, note="The answer above.")
    return replace(exchange, answers=(*exchange.answers[:-1], last))


def exchanges_of(
    exchanges: Sequence[Mapping[str, Any]],
    view: BlockView,
    *,
    has_beside: bool = False,
    is_below_question: bool = False,
) -> list[Exchange]:
    """Exchanges that follow each other, as they are shown.

    Args:
        exchanges: They.
        view: The sample.
        has_beside: Whether the clips of the first stand beside them.
        is_below_question: Whether the question of the first stands above, so it is not repeated.
    """
    shown: list[Exchange] = []
    before: list[Mapping[str, Any]] = []
    said: list[Mapping[str, Any]] = []
    n_rounds = n_repeats = 0
    for exchange in exchanges:
        messages = messages_of(exchange)
        n_same = _n_shared(before, messages)
        is_repeat = bool(shown) and bool(messages) and n_same == len(messages) == len(before)
        # In the next round the history holds the last answer, too.
        n_above = n_same if shown else 0
        if n_above == len(before) and n_above < len(messages) and _is_said(messages[n_above], said):
            n_above += 1
        n_repeats = n_repeats + 1 if is_repeat else 0
        n_rounds += 0 if is_repeat else 1
        title = ""
        if len(exchanges) > 1:
            title = f"Request {n_rounds}" + (f", repeat {n_repeats + 1}" if is_repeat else "")
        fresh = [] if is_repeat else messages[n_above:]
        above = (
            "the same prompt as above" if is_repeat else f"after {count(n_above, 'message')} above" if n_above else ""
        )
        if is_below_question and not shown and fresh:
            fresh.pop(question_at(fresh))
            above = "the question above"
        names = {call.id: call.name for message in messages for call in stored_calls(message.get("calls"))}
        turns = tuple(_turn(message, view, names, is_beside=has_beside and not shown) for message in fresh)
        answers = tuple(_answer(output, view) for output in outputs_of(exchange))
        shown.append(Exchange(title, tuple(_facts(exchange)), above, turns, answers, bool(exchange.get("request"))))
        before = messages
        said = outputs_of(exchange)
    return shown


def _n_shared(before: Sequence[Any], now: Sequence[Any]) -> int:
    """Return the number of equal messages at the start."""
    return next(
        (place for place, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]),
        min(len(before), len(now)),
    )


def _is_said(message: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a message is the turn of the assistant that one of some outputs was."""
    parts = parts_of(message)
    if message.get("role") != "assistant" or len(parts) > 1:
        return False
    text, calls = (parts[0].get("text") if parts else ""), stored_calls(message.get("calls"))
    return any(
        (output.get("text") or "") == text and stored_calls(output.get("tool_calls")) == calls for output in said
    )


def _turn(message: Mapping[str, Any], view: BlockView, names: Mapping[str, str], *, is_beside: bool) -> ChatTurn:
    parts = tuple(_part(part, view, is_beside=is_beside) for part in parts_of(message))
    calls = tuple(map(_shown_call, stored_calls(message.get("calls"))))
    call_id = str(message.get("call_id") or "")
    answers = clip(one_line(f"{names.get(call_id, 'a call')} ({call_id})"), _LONGEST_FACT) if call_id else ""
    return ChatTurn(one_line(str(message.get("role") or "?")), parts, calls, answers)


def _part(part: Mapping[str, Any], view: BlockView, *, is_beside: bool) -> ChatPart:
    if isinstance(part.get("text"), str):
        return ChatPart(text=visible(part["text"]))
    for kind in ("image", "video", "audio"):
        if kind in part:
            note = part[kind] if isinstance(part[kind], Mapping) else {"source": part[kind]}
            if kind == "image":
                return ChatPart(picture=view.media.picture(note))
            clip = view.media.clip(kind, note)
            return ChatPart(played=played(clip, [clip]), is_beside=is_beside)
    return ChatPart(text=visible(as_json(dict(part))))


def _answer(output: Mapping[str, Any], view: BlockView) -> ChatAnswer:
    text, reasoning = output.get("text"), output.get("reasoning")
    images = output.get("images")
    logprobs = output.get("logprobs")
    return ChatAnswer(
        tuple(_outcome(output)),
        visible(reasoning) if isinstance(reasoning, str) and reasoning else None,
        visible(text) if isinstance(text, str) and (text or not output.get("tool_calls")) else None,
        tuple(view.media.picture({"file": name}) for name in (images if isinstance(images, list) else ())),
        len(logprobs) if isinstance(logprobs, list) else 0,
        tuple(map(_shown_call, stored_calls(output.get("tool_calls")))),
        one_line(str(output.get("note") or "")),
    )


def _shown_call(call: Call) -> ShownCall:
    name = clip(one_line(call.name or "a tool without a name"), _LONGEST_FACT)
    arguments = call.raw if call.arguments is None else as_json(call.arguments)
    return ShownCall(name, visible(arguments), one_line(call.problem))


_CUTS = {"images": "images scaled down by the processor", "prompt": "prompt truncated"}


def _outcome(output: Mapping[str, Any]) -> list[str]:
    reason = output.get("finish_reason")
    facts = []
    if reason == "length":
        facts.append("reached the token limit")
    elif isinstance(reason, str) and reason != "stop":
        facts.append(f"ended by {one_line(reason)}")
    facts += [_CUTS[kind] for kind in entry(output, "cut") if kind in _CUTS]
    usage = output.get("usage")
    words = ("{} in", "{} out", "{} of them reasoning", "{} in from a cache", "{} in written to a cache")
    counts = usage if isinstance(usage, list) else []
    facts += [word.format(count(n, "token")) for n, word in zip(counts, words, strict=False) if isinstance(n, int)]
    return facts


def _facts(exchange: Mapping[str, Any]) -> list[str]:
    request = entry(exchange, "request")
    ask = dict(entry(request, "ask"))
    continuations = ask.pop("continuations", None)
    kind = {"generate": "", "loglikelihood": "log-probabilities", "generate_image": "image"}.get(
        str(ask.pop("kind", "")), "other"
    )
    facts = [kind] if kind else []
    if isinstance(continuations, list):
        facts.append(count(len(continuations), "continuation"))
    extra = ask.pop("extra", None)
    for name, value in (*ask.items(), *(extra.items() if isinstance(extra, Mapping) else ())):
        if name == "seeds" and isinstance(value, list) and len(value) == 1:
            facts.append(f"seed {value[0]}")
        elif name == "size" and isinstance(value, list):
            facts.append("×".join(map(str, value)))
        elif name == "tools" and (offered := [str(each.get("name")) for each in objects(value) if each.get("name")]):
            facts.append(clip(one_line(f"tools {', '.join(offered)}"), _LONGEST_FACT))
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            facts.append(clip(one_line(f"{str(name).replace('_', ' ')} {text}"), _LONGEST_FACT))
    if request.get("judge_prompt"):
        facts.append(f"prompt {clip(one_line(str(request['judge_prompt'])), _LONGEST_FACT)}")
    if isinstance(exchange.get("endpoint"), str):
        facts.append(f"at {clip(one_line(exchange['endpoint']), _LONGEST_FACT)}")
    origin = origin_in(entry(exchange, "response"))
    if origin is not None:
        facts.append(f"reused from {one_line(origin.describe())}")
    latency = entry(exchange, "response").get("latency_ms")
    if isinstance(latency, (int, float)) and not isinstance(latency, bool):
        facts.append(
            duration(latency / 1000) if latency >= 1000 else f"{latency:.0f} ms" if latency >= 1 else "under 1 ms"
        )
    return facts
