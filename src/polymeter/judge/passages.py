"""The places in a judge's answer in which a verdict counts, and their names.

``verdict`` reads these places, and ``forms`` has the written forms of verdicts. The name of the place is the *rule* by
which a verdict was read. It is stored with the verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from polymeter.core.errors import UnscoredError
from polymeter.judge.forms import AROUND, keyed, marked, names_verdict

T = TypeVar("T")

PATTERN = "its pattern"
BRACKETS = "double brackets"
MARKER = "after a marker"
JSON = "JSON"
BLOCK = "a code block"
WHOLE = "the whole answer"
FIRST = "its first line"
LAST = "its last line"
LINE = "a line of its own"
OPENING = "its first word"
ANYWHERE = "the only one in the text"

RULES = (PATTERN, BRACKETS, JSON, MARKER, BLOCK, WHOLE, LAST, FIRST, LINE, OPENING, ANYWHERE)
"""All rules. If several read the same verdict, the first of them is stored."""

_CORRECT_KEY = re.compile(r"(?:is\s+)?correct|(?:是否)?正[确確]|정답|correct[oa]|richtig|верно|صحيح", re.IGNORECASE)
# <score>8</score>, alone on its lines.
_TAGGED = re.compile(r"^[ \t]*<(?P<name>[^<>/]{1,30})>\s*(?P<verdict>[^<>]*?)\s*</(?P=name)>[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
# An object that begins and ends with a line, on one line or on several.
_OWN_LINES = re.compile(r"^[ \t]*(\{[^{}]*\})[ \t]*$", re.MULTILINE)
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of an answer that may be a verdict.

    Attributes:
        rule: The name of the place.
        text: The part.
    """

    rule: str
    text: str


def passages(text: str) -> Iterator[Passage]:
    """Yield the passages that may be a verdict: the whole answer, its first and its last line, the text after a marker
    at the beginning of a line or between tags with such a name, the content of a code block, and the verdict of a JSON
    object.
    """
    yield Passage(WHOLE, text)
    lines = [line for line in text.splitlines() if line.strip(AROUND)]
    if lines:
        yield Passage(FIRST, lines[0])
        yield Passage(LAST, lines[-1])
    for line in lines:
        verdict = marked(line)
        if verdict is not None:
            yield Passage(MARKER, verdict)
    for tagged in _TAGGED.finditer(text):
        if names_verdict(_spaced(tagged["name"])):
            yield Passage(MARKER, keyed(_spaced(tagged["name"]), tagged["verdict"]))
    for block in code_blocks(text):
        yield Passage(BLOCK, block)
    yield from (Passage(JSON, value) for value in json_verdicts(text))


def code_blocks(text: str) -> list[str]:
    """Return the contents of the fenced blocks of an answer."""
    return _FENCE.findall(text)


def json_verdicts(text: str, *, with_correct: bool = False) -> list[str]:
    """Return the verdicts in JSON objects: the values of keys that name a verdict (``score``, ``Final Grade``,
    ``overall_rating``). An object counts if it is a whole answer, a whole code block or whole lines.

    Args:
        text: The answer.
        with_correct: Whether ``correct`` and ``is_correct`` also name a verdict.
    """
    verdicts = []
    for part in (text, *code_blocks(text), *_OWN_LINES.findall(text)):
        for key, value in _object_or_nothing(part).items():
            name = _spaced(str(key))
            names_one = names_verdict(name) or (with_correct and _CORRECT_KEY.fullmatch(name))
            if names_one and isinstance(value, (str, int, float)):
                verdicts.append(json.dumps(value) if isinstance(value, bool) else keyed(name, str(value)))
    return verdicts


def _spaced(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip()


def the_only(readings: Iterable[tuple[T, str]], text: str, expected: str) -> tuple[T, str]:
    """Return the value on which all readings of an answer agree, and the rule by which it was read.

    Args:
        readings: Values, each with the rule by which it was read.
        text: The answer.
        expected: The expected content, with its article.

    Raises:
        UnscoredError: if there are no readings, or two of them differ.
    """
    found = list(readings)
    if len({value for value, _ in found}) != 1:
        raise unreadable(text, f"{expected} that is the same throughout" if found else expected)
    return min(found, key=lambda reading: RULES.index(reading[1]))


def unreadable(text: str, expected: str) -> UnscoredError:
    """Return the error for an answer that is not a verdict.

    Args:
        text: The judge's answer.
        expected: The expected content, with its article.
    """
    shown = " ".join(text.split())[:_SHOWN]
    return UnscoredError(
        f"The judge's answer does not show {expected}: {shown!r}.", hint="Look at the judge and its prompt."
    )


def _object_or_nothing(text: str) -> Mapping[str, Any]:
    """Return the JSON object in a text that contains nothing else; otherwise an empty one."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return {}
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
