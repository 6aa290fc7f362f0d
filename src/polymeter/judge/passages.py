"""Where in a judge's answer a verdict counts, and what each such place is called.

``verdict`` reads what stands there. The name of the place is the *rule* that a verdict was read by, which is kept
beside the verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.errors import UnscoredError
from polymeter.core.records import dataclass

PATTERN = "its pattern"
BRACKETS = "double brackets"
MARKER = "after a marker"
JSON = "JSON"
BLOCK = "a code block"
WHOLE = "the whole answer"
FIRST = "its first line"
LAST = "its last line"
LINE = "a line of its own"
ANYWHERE = "the only one in the text"

RULES = (PATTERN, BRACKETS, JSON, MARKER, BLOCK, WHOLE, LAST, FIRST, LINE, ANYWHERE)
"""All rules; where several read the same verdict, the earliest of them is named."""

AROUND = " \t\r\n*_`'\"“”‘’#>()"
_VERDICT_NAME = r"(?:the\s+|my\s+)?(?:final\s+|overall\s+)?(?:verdict|grade|rating|score|judge?ment|decision)"
_MARKED = re.compile(
    rf"{_VERDICT_NAME}\s*(?:\*\*|__|`)?\s*(?:\bis\b\s*:?|[:=])\s*(?P<verdict>.*)",
    re.IGNORECASE,
)
_KEY = re.compile(_VERDICT_NAME, re.IGNORECASE)
_CORRECT_KEY = re.compile(r"(?:is\s+)?correct", re.IGNORECASE)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
# An object that begins and ends with a line, on one line or on several.
_OWN_LINES = re.compile(r"^[ \t]*(\{[^{}]*\})[ \t]*$", re.MULTILINE)
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of an answer that counts if it is a verdict.

    Attributes:
        rule: What the place is called.
        text: The part.
    """

    rule: str
    text: str


def passages(text: str) -> Iterator[Passage]:
    """The passages that count if they are a verdict: the whole answer, its first and last line, what follows a marker
    at the beginning of a line, the content of a code block, and the verdict of a JSON object.
    """
    yield Passage(WHOLE, text)
    lines = [line for line in text.splitlines() if line.strip(AROUND)]
    if lines:
        yield Passage(FIRST, lines[0])
        yield Passage(LAST, lines[-1])
    for line in lines:
        marked = _MARKED.fullmatch(line.strip(AROUND))
        if marked:
            yield Passage(MARKER, marked["verdict"])
    for block in code_blocks(text):
        yield Passage(BLOCK, block)
    yield from (Passage(JSON, value) for value in json_verdicts(text))


def code_blocks(text: str) -> list[str]:
    """The contents of the fenced blocks of an answer."""
    return _FENCE.findall(text)


def json_verdicts(text: str, *, with_correct: bool = False) -> list[str]:
    """The verdicts of the JSON objects that an answer, a code block or whole lines consist of: the values of those
    keys that name a verdict (``score``, ``Final Grade``, ``overall_rating``).

    Args:
        text: The answer.
        with_correct: Whether ``correct`` and ``is_correct`` name one, too.
    """
    verdicts = []
    for part in (text, *code_blocks(text), *_OWN_LINES.findall(text)):
        for key, value in _object(part).items():
            name = re.sub(r"[\s_-]+", " ", str(key)).strip()
            names_one = _KEY.fullmatch(name) or (with_correct and _CORRECT_KEY.fullmatch(name))
            if names_one and isinstance(value, (str, int, float)):
                verdicts.append(json.dumps(value) if isinstance(value, bool) else str(value))
    return verdicts


def unreadable(text: str, expected: str) -> UnscoredError:
    """The error for an answer that is not a verdict.

    Args:
        text: The judge's answer.
        expected: What it should have shown, with its article.
    """
    shown = " ".join(text.split())[:_SHOWN]
    return UnscoredError(
        f"The judge's answer does not show {expected}: {shown!r}.", hint="Look at the judge and its prompt."
    )


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object that a text consists of; empty if it is anything else."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return {}
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
