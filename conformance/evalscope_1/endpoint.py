"""A scripted endpoint on this machine: three models that answer from a book, and a judge. It notes what it was asked.

A request's key names its side and its case (``theirs|gsm8k``), so both tools may ask at the same time.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from conformance.endpoint import ChatHandler, serving
from conformance.evalscope_1.images import as_answer, read_question
from conformance.evalscope_1.stand_ins import key_of, texts_of
from conformance.frame import MODELS
from conformance.judge import verdict

JUDGES = ("judge", "judge-that-rambles")
_UNEXPECTED = ("I cannot tell.", "ANSWER: B", "The answer is 3.", "yes", "")


class Script:
    """What the models say and what they were asked.

    Args:
        book: The answers by case, key of the request, and model.
    """

    def __init__(self, book: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
        self._book = book
        self._lock = threading.Lock()
        self.asked: dict[tuple[str, str, str], list[str]] = defaultdict(list)

    def answer(self, side: str, case: str, model: str, asked: Mapping[str, Any]) -> str:
        """The text of an answer."""
        messages = asked["messages"]
        with self._lock:
            self.asked[side, case, model].append(json.dumps([_plain(one) for one in messages], ensure_ascii=False))
        if model not in MODELS:
            shown = [part for one in messages for part in _plain(one)[1:] if not isinstance(part, str)]
            return judged(model, "\n".join(text for one in messages for text in texts_of(one.get("content"))), shown)
        said = self._book.get(case.partition("@")[0], {}).get(key_of(messages))
        return said[model] if said else _UNEXPECTED[zlib.crc32(key_of(messages).encode()) % len(_UNEXPECTED)]


def judged(judge: str, prompt: str, shown: Sequence[Any] = ()) -> str:
    """What a judge says: by a contract where the prompt states one, else by words of the prompt.

    Args:
        judge: Which judge.
        prompt: The text of the request.
        shown: Digests of its media.
    """
    number = zlib.crc32((prompt + json.dumps(shown) if shown else prompt).encode("utf-8", "replace"))
    stated = re.findall(r'^- "(\w+)": (.*)$', prompt, re.M)
    if not stated and (keys := re.search(r"json format with keys \[(.*?)\]", prompt)):
        stated = [(key, "an integer" if key == "score" else "a text") for key in re.findall(r'"(\w+)"', keys[1])]
    if not stated:
        return verdict(prompt)
    value = json.dumps({key: _value(key, form, number >> place) for place, (key, form) in enumerate(stated)})
    if judge == "judge-that-rambles" and number % 3 == 0:
        return ("No verdict.", f"{value}\n{value}", value[:-1])[number // 3 % 3]
    return value if number % 5 else f"Here it is:\n```json\n{value}\n```"


def _value(key: str, form: str, number: int) -> Any:
    labels = re.findall(r'"([^"]*)"', form)
    if labels:
        return labels[number % len(labels)]
    bounds = [float(one) for one in re.findall(r"[<>]=? (-?\d+(?:\.\d+)?)", form)]
    low, high = (bounds[0], bounds[-1]) if len(bounds) > 1 else (0, 1)
    if "true or false" in form:
        return bool(number % 2)
    if "integer" in form:
        return int(low) + number % (int(high - low) + 1)
    if "number" in form:
        return low + (high - low) * (number % 5) / 4
    if "a list" in form:
        return [number % 10, number % 7] if "score" in key else []
    return "as the answer says"


def _plain(message: Mapping[str, Any]) -> list[Any]:
    """A message's role and content; media by their digests, whatever their form on the wire."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else list(content or [])
    return [message.get("role"), *[_part(one) for one in parts]]


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return part
    if part.get("type") == "text":
        return part["text"]
    kind = part.get("type", "")
    value = part.get(kind, {})
    data = value.get("url") or value.get("data") or "" if isinstance(value, Mapping) else str(value)
    return [kind, hashlib.sha256(str(data).rpartition("base64,")[2].encode()).hexdigest()[:16]]


@contextmanager
def serve(script: Script) -> Iterator[str]:
    """The endpoint's address, up to ``/v1``, as long as it is needed."""

    with serving(_Handler, said=script) as address:
        yield address


class _Handler(ChatHandler):
    models = (*MODELS, *JUDGES)
    said: Script

    def do_POST(self) -> None:
        body = self.read_body()
        is_drawn = "/images/" in self.path
        asked = read_question(self.headers["Content-Type"], body) if is_drawn else json.loads(body)
        side, _, case = self.headers.get("Authorization", "").removeprefix("Bearer ").partition("|")
        model = asked["model"]
        text = self.said.answer(side, case, model, asked)
        if is_drawn:
            self.send_content(as_answer(text))
        else:
            self.send_text(text, model, asked.get("n") or 1)


def in_order(asked: Sequence[str]) -> dict[str, str]:
    """Requests by their place in their alphabetical order: tools ask in orders of their own."""
    return {f"{place:04}": one for place, one in enumerate(sorted(asked))}
