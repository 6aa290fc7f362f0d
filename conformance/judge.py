"""A judge on this machine: an OpenAI-compatible endpoint whose verdicts depend on nothing but the request's content.

Both tools reach the same one, so that equal questions get equal verdicts. The form of a verdict is taken from words of
the question, as far as they tell it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conformance.endpoint import ChatHandler, serving


def verdict(text: str) -> str:
    """What the judge says about a question."""
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4], "big")
    words = text.lower()
    keys = list(dict.fromkeys(re.findall(r"[\"']([A-Za-z_]\w*)[\"']\s*:", text)))
    if keys and ("json" in words or "{" in words):
        return json.dumps({key: _value(key, number >> position) for position, key in enumerate(keys[:8])})
    if re.search(r"[\"'`]?\b[01]\b[\"'`]?\s*(or|/)\s*[\"'`]?\b[01]\b", text):
        return str(number % 2)
    if "incorrect" in words and "correct" in words:
        return "CORRECT" if number % 2 else "INCORRECT"
    if re.search(r"\[\[[A-C]\]\]", text):
        return f"[[{'ABC'[number % 3]}]]"
    if re.search(r"\byes\b", words) and re.search(r"\bno\b", words):
        return "yes" if number % 2 else "no"
    if re.search(r"\b0\b", words) and re.search(r"\b1\b", words) and not re.search(r"\b([2-9]|10|100)\b", words):
        return str(number % 2)
    if "score" in words or "rating" in words or "rate" in words:
        return f"{number % 5 + 1}"
    return "yes" if number % 2 else "no"


def _value(key: str, number: int) -> Any:
    if re.search(r"score|rating|grade|points|mark", key, re.I):
        return number % 5 + 1
    if re.search(r"reason|explanation|analysis|comment|rationale", key, re.I):
        return "as the answer says"
    if re.search(r"correct|match|valid|is_|pass", key, re.I):
        return bool(number % 2)
    return "yes" if number % 2 else "no"


class _Handler(ChatHandler):
    models = ("judge",)

    def do_POST(self) -> None:
        asked = json.loads(self.read_body() or b"{}")
        self.send_text(verdict("\n".join(_texts(asked.get("messages") or asked.get("prompt") or ""))), "judge")


def _texts(messages: Any) -> Iterator[str]:
    if isinstance(messages, str):
        yield messages
    elif isinstance(messages, list):
        for one in messages:
            yield from _texts(one)
    elif isinstance(messages, dict):
        yield from _texts(messages.get("content") or messages.get("text") or "")


@contextmanager
def judge_endpoint() -> Iterator[str]:
    """Serve verdicts; the address, up to ``/v1``."""
    with serving(_Handler) as address:
        yield address
