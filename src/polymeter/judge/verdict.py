"""Reading verdicts, strictly: a verdict stands where a verdict is expected, or there is none.

Where a verdict counts (``judge.passages``):

- as the whole answer, or as the content of a code block;
- as the whole first or the whole last line of the answer;
- after a marker that begins a line and names it (``Verdict: A``, ``**Final grade:** B``, ``Rating: **7**``);
- as the value of a key that names it, in a JSON object that is the whole answer or a code block (``{"score": 7}``);
- a rating anywhere in double brackets (``[[7]]``).

Quotes, brackets, emphasis, a LaTeX box and a closing full stop around a verdict do not matter, nor the width of its
letters and digits; names, units and words count in eleven languages (``judge.forms``). If it stands in several of these
places, it must be the same in all. A letter or a number somewhere in a sentence is never a verdict, so neither the
candidate's answer that a judge repeats nor the first letter of "As the reference says …" is mistaken for one. What a
judge thinks aloud (``polymeter.reading.reasoning``) is not searched, and a judge whose answer ended inside its
reasoning has given no verdict.

Each reader tells the run by which rule it read the verdict, which is kept beside it.
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
    """The grade that a judge gave.

    Args:
        text: The judge's answer.
        grades: The grades that it may give.
        pattern: A regular expression for a verdict, in place of the grades themselves; its match, else its first group
            that matched, names the grade. A pattern that matches more than that group has its own anchor
            (``GRADE: (A|B)``) and counts anywhere.
        labels: The word that may follow each grade after a colon (``A: CORRECT``).
        words: Words that stand for a grade, in lower case, each with the grade; not with a pattern.

    Raises:
        UnscoredError: if no grade stands where a grade counts, or different ones do.
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
    """The number that a judge gave: ``7``, ``7/10``, ``Score: 7``, ``Rating: **7**``, ``[[7]]``, ``{"score": 7}``.

    Args:
        text: The judge's answer.
        pattern: A regular expression in place of these; its first group that is a number counts, else its whole match.
            Without an anchor in the pattern, the match must stand where a verdict counts.
        bounds: The lowest and the highest rating; ``None``: any number. A number that names its scale (``7/10``) must
            name the highest rating.

    Raises:
        UnscoredError: if there is no rating, several differ, or it is out of bounds or on another scale.
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
    """The ratings in an answer, each with its rule. One on another scale than the declared one is no rating."""
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
    """The rating that a passage consists of."""
    return _alone(RATING, passage, {}) or OF_MOST.fullmatch(plain(passage))


def read_bit(text: str) -> int:
    """The 1 or 0 that a judge gave: of a JSON object, else from the lines that are nothing but a verdict, else from the
    sentences that give one (``judge.claims``).

    Raises:
        UnscoredError: if there is no verdict, or both. ``10`` is not a verdict.
    """
    return int(_noted(bit(spoken(text))))


def read_yes_no(text: str) -> bool:
    """The yes or no that a judge gave, read as ``read_bit`` reads its digits.

    Raises:
        UnscoredError: if there is no verdict, or both.
    """
    return _noted(yes_no(spoken(text))) == "yes"


def read_correctness(text: str) -> bool:
    """Whether a judge called an answer right, anywhere in a text: CORRECT or INCORRECT (also NOT_ATTEMPTED), yes or no,
    true or false, 1 or 0; of a JSON object its verdict counts.

    Raises:
        UnscoredError: if the text shows no verdict, or both. (lmms-eval counts the former as *no*.)
    """
    return _noted(correctness(spoken(text)))


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
    """The value of a reading; the run is told its rule."""
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
    """Read a verdict; in a process that can be ended, if the answer is long or the pattern may backtrack for long."""
    if len(text) <= LONG and (pattern is None or is_quick(pattern, len(text))):
        return read(text, pattern, *args, **kwargs)
    what = "a judge's verdict" if pattern is None else f"a judge's verdict by the regular expression {pattern!r}"
    return named_in_process(what, read, text, pattern, *args, **kwargs)


def _matches(verdict: re.Pattern[str], text: str, labels: Mapping[str, str]) -> Iterator[tuple[re.Match[str], str]]:
    """Matches of a verdict where one counts, each with its rule."""
    anchored = [match for match in verdict.finditer(text) if _has_anchor(match)]
    if anchored:
        yield from ((match, PATTERN) for match in anchored)
        return
    for passage in passages(text):
        match = _alone(verdict, passage.text, labels)
        if match is not None:
            yield match, passage.rule


def _has_anchor(match: re.Match[str]) -> bool:
    """Whether a match is more than the verdict in it."""
    groups = [group for group in match.groups() if group is not None]
    return bool(groups) and groups[0].strip() != match[0].strip()


def _alone(verdict: re.Pattern[str], passage: str, labels: Mapping[str, str]) -> re.Match[str] | None:
    """The verdict that a passage consists of, apart from punctuation and markup around it."""
    core = passage.strip(AROUND)
    # A full stop is taken off at the end only: in front it belongs to a number (".5").
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
    """The grade that a match names: by the whole of it, else by its first group that matched."""
    names = (match[0], *(group for group in match.groups() if group is not None))
    return next((name for name in names if name in grades), words.get(match[0].lower()))


def _number_in(match: re.Match[str]) -> float | None:
    for text in (*match.groups(), match[0]):
        if text is not None and _NUMBER.fullmatch(text.strip()):
            return float(text)
    return None
