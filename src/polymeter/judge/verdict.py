"""Reading verdicts, strictly: a verdict stands where a verdict is expected, or there is none.

Where a verdict counts:

- as the whole answer;
- as the whole first or the whole last line of the answer;
- after a marker that begins a line and names it (``Verdict: A``, ``**Final grade:** B``).

Quotes, brackets, emphasis and a closing full stop around a verdict do not matter. If it stands in several of these
places, it must be the same in all. A letter somewhere in a sentence is never a verdict, so neither the candidate's
answer that a judge repeats nor the first letter of "As the reference says …" is mistaken for one. What a judge thinks
aloud, between the tags of ``polymeter.core.reasoning`` or before a closing one, is not searched.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from polymeter.core.errors import UnscoredError
from polymeter.core.reasoning import strip_reasoning
from polymeter.metrics.bounded import LONG, bounded, named_in_process
from polymeter.metrics.patterns import is_quick

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")
T = TypeVar("T")
P = ParamSpec("P")

RATING = re.compile(r"\[\[\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+))\s*\]\]")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)")
_MARKER = re.compile(
    r"(?:the\s+|my\s+)?(?:final\s+|overall\s+)?(?:verdict|grade|rating|score|judge?ment|decision)"
    r"\s*(?:\*\*|__|`)?\s*(?:\bis\b\s*:?|[:=])\s*(?P<verdict>.*)",
    re.IGNORECASE,
)
_AROUND = " \t\r\n*_`'\"“”‘’#>()"
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_SHOWN = 120

# A lone 0 or 1: not part of a longer number, a fraction or a word.
_BIT = re.compile(r"(?<![\w.,/-])([01])(?:\.0+)?(?![\w/]|[.,]\d)")
_YES_NO = re.compile(r"(?<!\w)(yes|no)(?!\w)", re.IGNORECASE)
# A line that is nothing but a verdict, perhaps marked up, perhaps with a name in front: "**Score: 1**".
_NOTHING_ELSE = re.compile(
    r"[^\w-]*(?:[\w ]{1,30}[:=][^\w-]*)?(?P<verdict>[01](?=\W|$)(?:\.0+)?|yes|no)\W*", re.IGNORECASE
)
_CORRECTNESS = {
    "correct": True,
    "yes": True,
    "true": True,
    "1": True,
    "incorrect": False,
    "not_attempted": False,
    "no": False,
    "false": False,
    "0": False,
}
_CORRECT_OR_NOT = re.compile(rf"(?<![\w.])(?:(not)\s+)?({'|'.join(_CORRECTNESS)})(?![\w]|\.\d)", re.IGNORECASE)


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


def the_only(readings: Iterable[T], text: str, expected: str) -> T:
    """The one value that all readings of an answer agree on.

    Raises:
        UnscoredError: if there is no reading, or two differ.
    """
    values = set(readings)
    if len(values) != 1:
        raise unreadable(text, f"{expected} that is the same throughout" if values else expected)
    return values.pop()


def read_grade(
    text: str | None,
    grades: Iterable[str] = ("A", "B"),
    *,
    pattern: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> str:
    """The grade that a judge gave.

    Args:
        text: The judge's answer.
        grades: The grades that it may give.
        pattern: A regular expression for a verdict, in place of the grades themselves; its match, else its first group
            that matched, names the grade. A pattern that matches more than that group has its own anchor
            (``GRADE: (A|B)``) and counts anywhere.
        labels: The word that may follow each grade after a colon (``A: CORRECT``).

    Raises:
        UnscoredError: if no grade stands where a grade counts, or different ones do.
    """
    return _within_limits(_read_grade, strip_reasoning(text or ""), pattern, tuple(grades), dict(labels or {}))


def _read_grade(text: str, pattern: str | None, allowed: tuple[str, ...], labels: Mapping[str, str]) -> str:
    expected = f"a verdict ({', '.join(allowed)})"
    verdict = re.compile(pattern if pattern is not None else "|".join(map(re.escape, allowed)))
    readings = [_named(match, allowed) for match in _matches(verdict, text, labels)]
    if None in readings:
        raise unreadable(text, expected)
    return the_only((name for name in readings if name is not None), text, expected)


def read_rating(
    text: str | None, *, pattern: str | None = None, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> float:
    """The number that a judge gave, ``[[0.5]]``.

    Args:
        text: The judge's answer.
        pattern: A regular expression in place of ``[[number]]``; its first group that is a number counts, else its
            whole match. Without an anchor in the pattern, the match must stand where a verdict counts.
        bounds: The lowest and the highest rating; ``None``: any number.

    Raises:
        UnscoredError: if there is no rating, several differ, or it is out of bounds.
    """
    return _within_limits(_read_rating, strip_reasoning(text or ""), pattern, bounds)


def _read_rating(text: str, pattern: str | None, bounds: tuple[float, float] | None) -> float:
    expected = "a rating" if bounds is None else f"a rating from {bounds[0]:g} to {bounds[1]:g}"
    verdict = RATING if pattern is None else re.compile(pattern)
    readings = [_number(match) for match in _matches(verdict, text, {})]
    if None in readings:
        raise unreadable(text, expected)
    rating = the_only((value for value in readings if value is not None), text, expected)
    if not math.isfinite(rating) or (bounds is not None and not bounds[0] <= rating <= bounds[1]):
        raise unreadable(text, expected)
    return rating


@bounded
def read_bit(text: str) -> int:
    """The 1 or 0 that a judge gave: from the lines that are nothing but a verdict, else from the whole text.

    Raises:
        UnscoredError: if there is no verdict, or both. ``10`` is not a verdict.
    """
    return int(_sole(_BIT, strip_reasoning(text)))


@bounded
def read_yes_no(text: str) -> bool:
    """The yes or no that a judge gave, read as ``read_bit`` reads its digits.

    Raises:
        UnscoredError: if there is no verdict, or both.
    """
    return _sole(_YES_NO, strip_reasoning(text)) == "yes"


@bounded
def read_correctness(text: str) -> bool:
    """Whether a judge called an answer right, anywhere in a text: CORRECT or INCORRECT (also NOT_ATTEMPTED), yes or no,
    true or false, 1 or 0.

    Raises:
        UnscoredError: if the text shows no verdict, or both. (lmms-eval counts the former as *no*.)
    """
    text = strip_reasoning(text)
    readings = {_CORRECTNESS[word.lower()] is not bool(negated) for negated, word in _CORRECT_OR_NOT.findall(text)}
    return the_only(readings, text, "a verdict")


class Contract(Generic[M]):
    """A verdict with several fields; one pydantic model describes them to the judge and validates its answer.

    Args:
        model: The fields, their types and bounds.
    """

    def __init__(self, model: type[M]) -> None:
        self.model = model

    def instruction(self) -> str:
        """The instruction for the judge: the JSON schema of the answer."""
        schema = json.dumps(self.model.model_json_schema(), ensure_ascii=False, sort_keys=True)
        return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"

    def read(self, text: str | None) -> M:
        """The verdict: one JSON object, alone or in the answer's only code block.

        Raises:
            UnscoredError: if the answer is anything else, or the object does not fit the schema.
        """
        from pydantic import ValidationError

        answer = strip_reasoning(text or "")
        blocks = _FENCE.findall(answer)
        body = blocks[0] if len(blocks) == 1 else answer
        try:
            return self.model.model_validate_json(body, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the whole"
            raise unreadable(answer, f"an object of the schema ({field}: {first['msg']})") from None


def _within_limits(
    read: Callable[Concatenate[str, str | None, P], T],
    text: str,
    pattern: str | None,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Read a verdict; in a process that can be ended, if the answer is long or the pattern may backtrack for long."""
    if len(text) <= LONG and (pattern is None or is_quick(pattern, len(text))):
        return read(text, pattern, *args, **kwargs)
    what = "a judge's verdict" if pattern is None else f"a judge's verdict by the regular expression {pattern!r}"
    return named_in_process(what, read, text, pattern, *args, **kwargs)


def _sole(verdict: re.Pattern[str], text: str) -> str:
    """The only verdict, in lower case: from the lines that are nothing but one, else from the whole text."""
    bare_lines = [line for line in text.splitlines() if _NOTHING_ELSE.fullmatch(line)]
    for part in ("\n".join(bare_lines), text):
        readings = {str(item).lower() for item in verdict.findall(part)}
        if readings:
            return the_only(readings, text, "a verdict")
    raise unreadable(text, "a verdict")


def _matches(verdict: re.Pattern[str], text: str, labels: Mapping[str, str]) -> Iterator[re.Match[str]]:
    """Matches of a verdict where one counts."""
    anchored = [match for match in verdict.finditer(text) if _has_anchor(match)]
    if anchored:
        yield from anchored
        return
    for passage in _passages(text):
        match = _alone(verdict, passage, labels)
        if match is not None:
            yield match


def _has_anchor(match: re.Match[str]) -> bool:
    """Whether a match is more than the verdict in it."""
    groups = [group for group in match.groups() if group is not None]
    return bool(groups) and groups[0].strip() != match[0].strip()


def _passages(text: str) -> Iterator[str]:
    """The passages that count if they are a verdict."""
    yield text
    lines = [line for line in text.splitlines() if line.strip(_AROUND)]
    if not lines:
        return
    yield lines[0]
    yield lines[-1]
    for line in lines:
        marked = _MARKER.fullmatch(line.strip(_AROUND))
        if marked:
            yield marked["verdict"]


def _alone(verdict: re.Pattern[str], passage: str, labels: Mapping[str, str]) -> re.Match[str] | None:
    """The verdict that a passage consists of, apart from punctuation and markup around it."""
    core = passage.strip(_AROUND)
    for candidate in (core, core.rstrip(".!" + _AROUND), core.strip(".![]{}" + _AROUND)):
        match = verdict.fullmatch(candidate)
        if match is not None:
            return match
    head, _, label = core.partition(":")
    match = verdict.fullmatch(head.strip(_AROUND))
    expected_label = labels.get(match[0]) if match is not None else None
    if expected_label is None:
        return None
    return match if label.strip(".!" + _AROUND).lower() == expected_label.lower() else None


def _named(match: re.Match[str], grades: tuple[str, ...]) -> str | None:
    """The grade that a match names: by the whole of it, else by its first group that matched."""
    names = (match[0], *(group for group in match.groups() if group is not None))
    return next((name for name in names if name in grades), None)


def _number(match: re.Match[str]) -> float | None:
    for text in (*match.groups(), match[0]):
        if text is not None and _NUMBER.fullmatch(text.strip()):
            return float(text)
    return None
