"""Restrictions of a server. Each is learned once, from an error that names it."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from polymeter.core.request import Tags
from polymeter.models.endpoint.errors import EndpointError
from polymeter.models.tool_texts import PARSER_HINT
from polymeter.reading.reasoning import separated

_LOG = logging.getLogger("polymeter")
_UNKNOWN = (
    "unsupported",
    "not supported",
    "does not support",
    "unrecognized",
    "unexpected",
    "unknown",
    "extra inputs",
    "extra_forbidden",
    "extra fields",
    "not permitted",
    "not allowed",
)
_LENGTH_KEYS = ("max_tokens", "max_completion_tokens")
_DROPPED: Mapping[str, str] = {
    "seed": "The endpoint accepts no seed: sampled answers cannot be reproduced.",
    "stop": "The endpoint accepts no stop strings: answers are cut when they arrive.",
    "response_format": "",
}
"""Settings that can be left out, each with its warning; none for the format of images, because every format is read."""
_SAMPLING = ("temperature", "top_p")
_FEWER_TOP = 5


class Quirks:
    """The names that a server accepts.

    Args:
        length_key: Name of the maximum number of new tokens, until the server rejects it.
    """

    def __init__(self, length_key: str) -> None:
        self._length_key = length_key
        self._dropped: set[str] = set()
        self._most_top: int | None = None
        self.takes_n = True
        self.shown: list[str] = []
        self.sends_stops: bool | None = None
        self.refused: dict[str, str] = {}

    def decide_stops(self, tags: Tags | None) -> None:
        """Decide, once, whether stop strings are sent with chat requests: not if the texts that the preflight request
        was answered with (``shown``) hold reasoning, begun or ended.
        """
        if self.sends_stops is None:
            self.sends_stops = not any(separated(text, tags).has_reasoning for text in self.shown)

    @property
    def takes_seeds(self) -> bool:
        """True if the server accepts seeds, as far as is known."""
        return "seed" not in self._dropped

    def put(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings as this server accepts them."""
        body = {
            name: value
            for name, value in settings.items()
            if not (name in self._dropped and _can_drop(name, value)) and name not in self.refused
        }
        if "max_tokens" in body and self._length_key != "max_tokens":
            body[self._length_key] = body.pop("max_tokens")
        if self._most_top is not None and body.get("top_logprobs", 0) > self._most_top:
            body["top_logprobs"] = self._most_top
        return body

    def learn(self, error: EndpointError, sent: Mapping[str, Any]) -> bool:
        """Return whether a retry with other names can help. Several requests may learn the same at the same time."""
        if error.status not in (400, 422):
            return False
        text = error.what.lower()
        if sent.get("top_logprobs", 0) > _FEWER_TOP and "logprobs" in text:
            self._most_top = _FEWER_TOP
            return True
        droppable = (name for name in _DROPPED if name in sent and _can_drop(name, sent[name]))
        lengths = (name for name in _LENGTH_KEYS if name in sent)
        named = [name for name in (*lengths, *droppable) if re.search(rf"\b{name}\b", text)]
        if not named or not any(word in text for word in _UNKNOWN):
            return False
        for name in named:
            if name in _LENGTH_KEYS:
                self._length_key = _LENGTH_KEYS[1 - _LENGTH_KEYS.index(name)]
                return True
            if name not in self._dropped:
                self._dropped.add(name)
                if _DROPPED[name]:
                    _LOG.warning("%s", _DROPPED[name])
        return True

    def learn_ahead(self, error: EndpointError, sent: Mapping[str, Any]) -> bool:
        """Return whether the preflight request shows that the model rejects sampling settings, as reasoning models
        often do. The run then continues without them, and a note reports it; once the run has begun they are never
        dropped.
        """
        refused = [name for name in _sampling_named(error) if name in sent and name not in self.refused]
        self.refused |= dict.fromkeys(refused, "the model accepts only its own value")
        return bool(refused)


def _can_drop(name: str, value: Any) -> bool:
    """The format of images can be left out; a schema for answers has the same name and cannot."""
    return name != "response_format" or isinstance(value, str)


def hinted(error: EndpointError) -> EndpointError:
    """The error, with a hint if a model rejects a sampling setting in the middle of a run, or there is no parser."""
    if "tool-call-parser" in error.what.lower() and not error.hint:  # as vLLM names what it needs
        error.hint = PARSER_HINT
    named = _sampling_named(error)
    if named and not error.hint:
        error.hint = f"Leave it out with --model-args omit={named[0]}."
    return error


def _sampling_named(error: EndpointError) -> list[str]:
    text = error.what.lower()
    if error.status not in (400, 422) or not any(word in text for word in _UNKNOWN):
        return []
    return [name for name in _SAMPLING if re.search(rf"\b{name}\b", text)]


def refuses_several(error: EndpointError) -> bool:
    """Return whether a server reports that it returns only one answer per request."""
    text = error.what.lower()
    return error.status in (400, 422) and bool(
        re.search(r"['\"`]n['\"`]|\bn\s*(?:>|=|must)|one (?:choice|comp|image)", text)
    )
