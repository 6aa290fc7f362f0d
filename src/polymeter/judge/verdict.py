"""Strict reading of verdicts: a verdict counts only where a verdict is expected.

A verdict counts in these places (``judge.passages``):

- as the whole answer, or as the content of a code block;
- as the whole first or the whole last line of the answer;
- after a marker that begins a line and names it (``Verdict: A``, ``**Final grade:** B``, ``Rating: **7**``);
- as the value of a key that names it, in a JSON object that is the whole answer or a code block (``{"score": 7}``);
- anywhere in double brackets, if it is a rating (``[[7]]``).

Quotes, brackets, emphasis, a LaTeX box and a closing full stop around a verdict do not matter, and neither does the
width of its letters and digits. Names, units and words count in eleven languages (``judge.forms``). If several of these
places hold a verdict, it must be the same in all of them. A letter or a number elsewhere in a sentence is never a
verdict. So a candidate's answer that the judge repeats is not mistaken for one, and neither is the first letter of "As
the reference says …". A judge's reasoning (``polymeter.reading.reasoning``) is not searched. A judge whose answer ended
inside its reasoning has given no verdict.

Each reader reports its rule to the run, which stores it with the verdict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from polymeter.core.guest_context import note_reading
from polymeter.judge.either import bit, correctness, yes_no
from polymeter.judge.forms import AROUND, CORRECTNESS, OF_MOST, RATED, RATING, STOPS, folded, number, plain
from polymeter.judge.passages import BLOCK, BRACKETS, JSON, PATTERN, code_blocks, passages, the_only, unreadable
from polymeter.judge.reply import spoken
from polymeter.metrics.bounded import LONG, named_in_process
from polymeter.metrics.patterns import is_quick

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")
T = TypeVar("T")
P = ParamSpec("P")

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)")
_BRACKETED = re.compile(rf"\[\[\s*{RATED}\s*\]\]", re.IGNORECASE)


def read_grade(
    text: str | None,
    grades: Iterable[str] = ("A", "B"),
    *,
    pattern: str | None = None,
    labels: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
) -> str:
    """Read the grade that a judge gave.

    Args:
        text: The judge's answer.
        grades: The allowed grades.
        pattern: A regular expression for a verdict, instead of the grades themselves. Its match names the grade, else
            its first group that matched. A pattern that matches more than this group has its own anchor (such as
            ``GRADE: (A|B)``) and counts anywhere.
        labels: The word that may follow each grade after a colon (``A: CORRECT``).
        words: Words that stand for a grade, in lower case, each with the grade; not with a pattern.

    Raises:
        UnscoredError: if the places that count hold no grade, or different ones.
    """
    answer = spoken(text)
    return _noted(_within_limits(_read_grade, answer, pattern, tuple(grades), dict(labels or {}), dict(words or {})))


def _read_grade(
    text: str, pattern: str | None, allowed: tuple[str, ...], labels: Mapping[str, str], words: Mapping[str, str]
) -> tuple[str, str]:
    expected = f"a verdict ({', '.join(allowed)})"
    named = [*map(re.escape, allowed), *(f"(?i:{re.escape(word)})" for word in words)]
    verdict = re.compile(pattern if pattern is not None else "|".join(named))
    readings = [(_grade_in(match, allowed, words), rule) for match, rule in _matches(verdict, text, labels)]
    if any(name is None for name, _ in readings):
        raise unreadable(text, expected)
    return the_only(((name, rule) for name, rule in readings if name is not None), text, expected)


def read_rating(
    text: str | None, *, pattern: str | None = None, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> float:
    """Read the number that a judge gave: ``7``, ``7/10``, ``Score: 7``, ``Rating: **7**``, ``[[7]]``, ``{"score": 7}``.

    Args:
        text: The judge's answer.
        pattern: A regular expression instead of these forms. Its first group that is a number counts, else its whole
            match. Without an anchor in the pattern, the match must be in a place where a verdict counts.
        bounds: The lowest and the highest rating; ``None``: any number. If a number names its scale (``7/10``), the
            scale must end at the highest rating.

    Raises:
        UnscoredError: if the answer has no rating or different ones, or the rating is out of bounds or on another
            scale.
    """
    return _noted(_within_limits(_read_rating, spoken(text), pattern, bounds))


def _read_rating(text: str, pattern: str | None, bounds: tuple[float, float] | None) -> tuple[float, str]:
    expected = "a rating" if bounds is None else f"a rating from {bounds[0]:g} to {bounds[1]:g}"
    if pattern is None:
        found = [*_rated(text, bounds, expected)]
    else:
        numbers = [(_number_in(match), rule) for match, rule in _matches(re.compile(pattern), text, {})]
        if any(number is None for number, _ in numbers):
            raise unreadable(text, expected)
        found = [(number, rule) for number, rule in numbers if number is not None]
    rating, rule = the_only(found, text, expected)
    if not math.isfinite(rating) or (bounds is not None and not bounds[0] <= rating <= bounds[1]):
        raise unreadable(text, expected)
    return rating, rule


def _rated(text: str, bounds: tuple[float, float] | None, expected: str) -> Iterator[tuple[float, str]]:
    """Yield the ratings in an answer, each with its rule. A rating on another scale than the declared one does not
    count.
    """
    bracketed = [(match, BRACKETS) for match in _BRACKETED.finditer(folded(text))]
    standing = [(_rating(passage.text), passage.rule) for passage in passages(text)]
    for match, rule in [*bracketed, *standing]:
        if match is None:
            continue
        value = number(match["value"])
        scales = {number(match[name]) for name in ("most", "full") if match.groupdict().get(name)}
        for most in scales:
            if most != (max(most, value) if bounds is None else bounds[1]):
                raise unreadable(text, f"{expected}, but one on a scale to {most:g}")
        yield value, rule


def _rating(passage: str) -> re.Match[str] | None:
    """Return the rating that is the whole of a passage."""
    return _alone(RATING, passage, {}) or OF_MOST.fullmatch(plain(passage))


def read_bit(text: str) -> int:
    """Read the 1 or 0 that a judge gave: in a JSON object, else in lines with nothing but a verdict, else in sentences
    that state one (``judge.claims``).

    Raises:
        UnscoredError: if the answer shows no verdict, or both. ``10`` is not a verdict.
    """
    return int(_noted(bit(spoken(text))))


def read_yes_no(text: str) -> bool:
    """Read the yes or no that a judge gave, in the same places as ``read_bit``.

    Raises:
        UnscoredError: if the answer shows no verdict, or both.
    """
    return _noted(yes_no(spoken(text))) == "yes"


def read_correctness(text: str) -> bool:
    """Check whether a judge called an answer right, anywhere in a text: CORRECT or INCORRECT (also NOT_ATTEMPTED), yes
    or no, true or false, 1 or 0. In a JSON object its verdict counts.

    Raises:
        UnscoredError: if the text shows no verdict, or both. (lmms-eval counts a missing verdict as *no*.)
    """
    return _noted(correctness(spoken(text)))


class Contract(Generic[M]):
    """A verdict with several fields. One pydantic model describes them to the judge and validates its answer.

    Args:
        model: The fields, their types and bounds.
    """

    def __init__(self, model: type[M]) -> None:
        self.model = model

    def instruction(self) -> str:
        """Return the instruction for the judge: the JSON schema of the answer."""
        schema = json.dumps(self.model.model_json_schema(), ensure_ascii=False, sort_keys=True)
        return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"

    def read(self, text: str | None) -> M:
        """Read the verdict: one JSON object, alone or in the answer's only code block.

        Raises:
            UnscoredError: if the answer is anything else, or the object does not fit the schema.
        """
        from pydantic import ValidationError

        answer = spoken(text)
        blocks = code_blocks(answer)
        body = blocks[0] if len(blocks) == 1 else answer
        try:
            verdict = self.model.model_validate_json(body, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the whole"
            raise unreadable(answer, f"an object of the schema ({field}: {first['msg']})") from None
        note_reading(BLOCK if blocks else JSON)
        return verdict


def _noted(reading: tuple[T, str]) -> T:
    """Return the value of a reading, and report its rule to the run."""
    value, rule = reading
    note_reading(rule)
    return value


def _within_limits(
    read: Callable[Concatenate[str, str | None, P], T],
    text: str,
    pattern: str | None,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Read a verdict. If the answer is long, or the pattern may backtrack for long, a process that can be killed reads
    it.
    """
    if len(text) <= LONG and (pattern is None or is_quick(pattern, len(text))):
        return read(text, pattern, *args, **kwargs)
    what = "a judge's verdict" if pattern is None else f"a judge's verdict by the regular expression {pattern!r}"
    return named_in_process(what, read, text, pattern, *args, **kwargs)


def _matches(verdict: re.Pattern[str], text: str, labels: Mapping[str, str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield matches of a verdict in the places that count, each with its rule."""
    anchored = [match for match in verdict.finditer(text) if _has_anchor(match)]
    if anchored:
        yield from ((match, PATTERN) for match in anchored)
        return
    for passage in passages(text):
        match = _alone(verdict, passage.text, labels)
        if match is not None:
            yield match, passage.rule


def _has_anchor(match: re.Match[str]) -> bool:
    """Check whether a match is more than the verdict in it."""
    groups = [group for group in match.groups() if group is not None]
    return bool(groups) and groups[0].strip() != match[0].strip()


def _alone(verdict: re.Pattern[str], passage: str, labels: Mapping[str, str]) -> re.Match[str] | None:
    """Return the verdict that is the whole of a passage, apart from punctuation and markup around it."""
    core = passage.strip(AROUND)
    # A full stop is removed only at the end: at the beginning it belongs to a number (".5").
    bare = core.rstrip(STOPS + AROUND)
    inner = core.rstrip(STOPS + "![]{}" + AROUND).lstrip("![]{}" + AROUND)
    for candidate in (core, bare, inner, plain(passage)):
        match = verdict.fullmatch(candidate)
        if match is not None:
            return match
    head, _, label = folded(core).partition(":")
    match = verdict.fullmatch(head.strip(AROUND))
    expected = labels.get(match[0]) if match is not None else None
    if expected is None:
        return None
    said, meant = plain(label).lower(), expected.lower()
    is_same = said == meant or (said in CORRECTNESS and CORRECTNESS[said] is CORRECTNESS.get(meant))
    return match if is_same else None


def _grade_in(match: re.Match[str], grades: tuple[str, ...], words: Mapping[str, str]) -> str | None:
    """Return the grade that a match names: by the whole of it, else by its first group that matched."""
    names = (match[0], *(group for group in match.groups() if group is not None))
    return next((name for name in names if name in grades), words.get(match[0].lower()))


def _number_in(match: re.Match[str]) -> float | None:
    for text in (*match.groups(), match[0]):
        if text is not None and _NUMBER.fullmatch(text.strip()):
            return float(text)
    return None
