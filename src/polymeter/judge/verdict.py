"""Reading verdicts, strictly: a verdict stands where a verdict is expected, or there is none.

Where a verdict counts:

- as the whole answer;
- as the whole first or the whole last line of the answer;
- after a marker that begins a line and names it (``Verdict: A``, ``**Final grade:** B``).

Quotes, brackets, emphasis and a closing full stop around a verdict do not matter. Where it stands in several of these
places it must be the same in all. A letter somewhere in a sentence is never a verdict, so neither the candidate's
answer that a judge repeats nor the first letter of "As the reference says …" is taken for one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from polymeter.core.errors import UnscoredError

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")
T = TypeVar("T")

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
    """The error of an answer that is no verdict.

    Args:
        text: What the judge said.
        expected: What was looked for, with its article.
    """
    shown = " ".join(text.split())[:_SHOWN]
    return UnscoredError(
        f"The judge's answer does not show {expected}: {shown!r}.", hint="Look at the judge and its prompt."
    )


def the_only(found: Iterable[T], text: str, expected: str) -> T:
    """The one value that all readings of an answer agree on.

    Raises:
        UnscoredError: There is none, or there are two.
    """
    values = set(found)
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
        pattern: A regular expression of a verdict, in place of the grades themselves; its match, else its first group
            that matched, names the grade. A pattern whose match is more than that group brings its own anchor
            (``GRADE: (A|B)``) and counts anywhere.
        labels: What a grade may be followed by, if it is followed by anything (``A: CORRECT``).

    Raises:
        UnscoredError: No grade stands where a grade counts, or two that differ do.
    """
    text = text or ""
    known = tuple(grades)
    expected = f"a verdict ({', '.join(known)})"
    verdict = re.compile(pattern if pattern is not None else "|".join(map(re.escape, known)))
    found = [_named(match, known) for match in _matches(verdict, text, labels or {})]
    if None in found:
        raise unreadable(text, expected)
    return the_only((name for name in found if name is not None), text, expected)


def read_rating(
    text: str | None, *, pattern: str | None = None, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> float:
    """The number that a judge gave, ``[[0.5]]``.

    Args:
        text: The judge's answer.
        pattern: A regular expression in place of ``[[number]]``; its first group that is a number counts, else its
            whole match. One without an anchor of its own must stand where a verdict counts.
        bounds: The least and the greatest rating; ``None``: any number.

    Raises:
        UnscoredError: There is no rating, there are several that differ, or it is out of bounds.
    """
    text = text or ""
    expected = "a rating" if bounds is None else f"a rating from {bounds[0]:g} to {bounds[1]:g}"
    verdict = RATING if pattern is None else re.compile(pattern)
    found = [_number(match) for match in _matches(verdict, text, {})]
    if None in found:
        raise unreadable(text, expected)
    rating = the_only((value for value in found if value is not None), text, expected)
    if not math.isfinite(rating) or (bounds is not None and not bounds[0] <= rating <= bounds[1]):
        raise unreadable(text, expected)
    return rating


def read_bit(text: str) -> int:
    """The 1 or 0 that a judge gave: of the lines that are nothing but a verdict, else of the whole text.

    Raises:
        UnscoredError: if there is no verdict, or both. ``10`` is none.
    """
    return int(_sole(_BIT, text))


def read_yes_no(text: str) -> bool:
    """The yes or no that a judge gave, read as ``read_bit`` reads its digits.

    Raises:
        UnscoredError: if there is no verdict, or both.
    """
    return _sole(_YES_NO, text) == "yes"


def read_correctness(text: str) -> bool:
    """Whether a judge called an answer right, anywhere in a text: CORRECT or INCORRECT (also NOT_ATTEMPTED), yes or no,
    true or false, 1 or 0.

    Raises:
        UnscoredError: if the text shows no verdict, or both. (lmms-eval takes the first for a no.)
    """
    found = {_CORRECTNESS[word.lower()] is not bool(negated) for negated, word in _CORRECT_OR_NOT.findall(text)}
    return the_only(found, text, "a verdict")


class Contract(Generic[M]):
    """A verdict of several fields: a pydantic model says what they are, both to the judge and to the reader.

    Args:
        model: The fields, their types and bounds.
    """

    def __init__(self, model: type[M]) -> None:
        self.model = model

    def instruction(self) -> str:
        """What to tell the judge: the JSON schema of the answer."""
        schema = json.dumps(self.model.model_json_schema(), ensure_ascii=False, sort_keys=True)
        return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"

    def read(self, text: str | None) -> M:
        """The verdict: one JSON object, alone or in the answer's only code block.

        Raises:
            UnscoredError: The answer is something else, or the object does not fit the schema.
        """
        from pydantic import ValidationError

        said = (text or "").strip()
        blocks = _FENCE.findall(said)
        body = blocks[0] if len(blocks) == 1 else said
        try:
            return self.model.model_validate_json(body, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            raise unreadable(said, f"an object of the schema ({place}: {first['msg']})") from None


def _sole(verdict: re.Pattern[str], text: str) -> str:
    """The only verdict, in lower case: of the lines that are nothing but one, else of the whole text."""
    alone = [line for line in text.splitlines() if _NOTHING_ELSE.fullmatch(line)]
    for part in ("\n".join(alone), text):
        found = {str(item).lower() for item in verdict.findall(part)}
        if found:
            return the_only(found, text, "a verdict")
    raise unreadable(text, "a verdict")


def _matches(verdict: re.Pattern[str], text: str, labels: Mapping[str, str]) -> Iterator[re.Match[str]]:
    """Matches of a verdict where one counts."""
    anchored = [match for match in verdict.finditer(text) if _brings_anchor(match)]
    if anchored:
        yield from anchored
        return
    for place in _places(text):
        match = _alone(verdict, place, labels)
        if match is not None:
            yield match


def _brings_anchor(match: re.Match[str]) -> bool:
    """Whether a match is more than the verdict in it."""
    groups = [group for group in match.groups() if group is not None]
    return bool(groups) and groups[0].strip() != match[0].strip()


def _places(text: str) -> Iterator[str]:
    """What stands where a verdict counts."""
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


def _alone(verdict: re.Pattern[str], place: str, labels: Mapping[str, str]) -> re.Match[str] | None:
    """The verdict that a place consists of, but for what may stand around it."""
    core = place.strip(_AROUND)
    for said in (core, core.rstrip(".!" + _AROUND), core.strip(".![]{}" + _AROUND)):
        match = verdict.fullmatch(said)
        if match is not None:
            return match
    head, _, label = core.partition(":")
    match = verdict.fullmatch(head.strip(_AROUND))
    wanted = labels.get(match[0]) if match is not None else None
    return match if wanted is not None and label.strip(".!" + _AROUND).lower() == wanted.lower() else None


def _named(match: re.Match[str], grades: tuple[str, ...]) -> str | None:
    """The grade that a match names: by the whole of it, else by its first group that matched."""
    names = (match[0], *(group for group in match.groups() if group is not None))
    return next((name for name in names if name in grades), None)


def _number(match: re.Match[str]) -> float | None:
    for text in (*match.groups(), match[0]):
        if text is not None and _NUMBER.fullmatch(text.strip()):
            return float(text)
    return None
