"""Counts of answers that rest on less than was asked or written, from answers as a journal stores them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from polymeter.core.records.truncation import EMPTY, IMAGES, KINDS, LENGTH, PROMPT, Truncation
from polymeter.core.task import ReadingRules
from polymeter.reading.reasoning import separated

_HINTS = ('"finish_reason":"length"', '"cut":', '"reasoning":')
_MAY_BE_EMPTY = re.compile(r'"text":"(?:\s|\\[nrtf]|\\u[0-9a-fA-F]{4})*"')
"""Every stored text of white space alone matches this."""
_MAY_REASON = ("<", "◁", "\\u25c1", "\\u003c", "[t", "[/t", "analysis")
"""Every stored answer with a known tag around reasoning has one of these, in lower case."""
_REASONING_TOKENS = 2
"""The place of the tokens of reasoning in a stored usage."""


def truncation_of(bodies: Iterable[str], rules: ReadingRules | None) -> Truncation:
    """Count the answers of one task.

    Args:
        bodies: Its answers, as JSON.
        rules: How they are read; ``None``: unknown, so that only reasoning that arrived apart is known to be reasoning.
    """
    counted = Truncation(0)
    for body in bodies:
        kinds: set[str] = set()
        advice: dict[str, str] = {}
        if not _is_plain(body, rules):  # most are, and need not be parsed
            with suppress(ValueError, TypeError, LookupError, AttributeError):  # damaged, but an answer too
                outputs = json.loads(body)["outputs"]
                kinds, advice = cuts_in(outputs, rules), _advice(outputs)
        counted.add(kinds, advice)
    return counted


def cuts_in(outputs: Sequence[Mapping[str, Any]], rules: ReadingRules | None) -> set[str]:
    """Return the kinds of truncation of one answer.

    Args:
        outputs: Its outputs, as stored.
        rules: As of ``truncation_of``.
    """
    found = {kind for output in outputs for kind in (IMAGES, PROMPT) if kind in (output.get("cut") or {})}
    if any(output.get("finish_reason") == "length" for output in outputs):
        found.add(LENGTH)
    if any(_is_empty_after_reasoning(output, rules) for output in outputs):
        found.add(EMPTY)
    return found


def _is_plain(body: str, rules: ReadingRules | None) -> bool:
    if any(hint in body for hint in _HINTS) or _MAY_BE_EMPTY.search(body):
        return False
    if rules is None or not (rules.is_separated or rules.is_scored_apart):
        return True
    if rules.tags is not None:
        return not rules.tags
    lowered = body.lower()
    return not any(mark in lowered for mark in _MAY_REASON)


def _is_empty_after_reasoning(output: Mapping[str, Any], rules: ReadingRules | None) -> bool:
    text = output.get("text")
    if text is None or output.get("tool_calls") or output.get("images"):
        return False
    if not text.strip():
        usage = output.get("usage") or ()
        # A provider may count the tokens of reasoning that it does not show.
        n_hidden = usage[_REASONING_TOKENS] if len(usage) > _REASONING_TOKENS else None
        return bool(output.get("reasoning") or n_hidden)
    if rules is None or not (rules.is_separated or rules.is_scored_apart):
        return False
    apart = separated(text, rules.tags)
    return apart.has_reasoning and not apart.text.strip()


def _advice(outputs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    stated = [output["cut"] for output in outputs if output.get("cut")]
    return {kind: str(cut[kind]) for cut in stated for kind in KINDS if kind in cut}
