"""Reading of one of two verdicts: 1 or 0, yes or no, right or wrong.

The most certain place counts: JSON, then lines with nothing but a verdict, then the first word of a one-line answer,
then a sentence that states the verdict (``claims``; English only, since in other languages the words are too common).
If this place shows both verdicts, the answer has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from polymeter.judge.claims import claims, is_conditional, names_something_else
from polymeter.judge.forms import CORRECTNESS, YES_NO, folded, marked, plain
from polymeter.judge.passages import ANYWHERE, JSON, LINE, OPENING, json_verdicts, the_only, unreadable
from polymeter.metrics.bounded import bounded

# A lone 0 or 1: not part of a longer number, a fraction or a word.
_BIT = re.compile(r"(?<![\w.,/-])(?P<word>[01])(?:\.0+)?(?![\w/]|[.,]\d)")
_YES_OR_NO = re.compile(r"(?<!\w)(?P<word>yes|no)(?!\w)", re.IGNORECASE)
_ENGLISH = ("correct", "yes", "true", "1", "incorrect", "not_attempted", "no", "false", "0")
_CORRECT_OR_NOT = re.compile(
    rf"(?<![\w.])(?:(?P<negated>not|\w+n['’]t)\s+)?(?P<word>{'|'.join(_ENGLISH)})(?![\w]|\.\d)", re.IGNORECASE
)
# A line with nothing but a verdict, perhaps with markup or a name before it: "**Score: 1**".
_NAMED = re.compile(r"[^\w-]*(?:(?P<name>[\w ]{1,30}?)\s*[:=][^\w-]*)?(?P<verdict>\w[\w. ]{0,30}?)\W*")
_LONGEST_LINE = 100
"""The most characters of a line that can be a name and a verdict."""
_BITS = {"0": "0", "1": "1"}
_WHOLE_BIT = re.compile(r"([01])\.0+")
_RIGHT_OR_WRONG = {word: "yes" if is_right else "no" for word, is_right in CORRECTNESS.items()}
_NOT_AN_OPENING = frozenset(("certo",))  # as the first word, "of course"
_OPENING = re.compile(r"\W*(?P<word>\w+)\s*[,.!:;，。、！：；،؛—–]\s*(?P<rest>.*)")


@bounded
def bit(text: str) -> tuple[str, str]:
    """Return the 1 or 0 of an answer, as text, and the rule that found it."""
    return _sole(_BIT, _BITS, text)


@bounded
def yes_no(text: str) -> tuple[str, str]:
    """Return the ``yes`` or ``no`` of an answer, and the rule that found it."""
    return _sole(_YES_OR_NO, YES_NO, text)


@bounded
def correctness(text: str) -> tuple[bool, str]:
    """Return whether an answer calls another one right, and the rule that found it."""
    value, rule = _sole(_CORRECT_OR_NOT, _RIGHT_OR_WRONG, text)
    return value == "yes", rule


def _sole(verdict: re.Pattern[str], words: Mapping[str, str], text: str) -> tuple[str, str]:
    """Return the only verdict, and the rule that found it. The places are, in this order: JSON objects, lines with
    nothing but a verdict, the first word of the answer, the whole text.

    Args:
        verdict: A pattern of the English words, which may stand within a sentence.
        words: The words of all languages, in lower case, each with its verdict.
        text: The judge's answer.
    """
    for rule, found in _said(verdict, words, text):
        if found:
            return the_only(((value, rule) for value in found), text, "a verdict")
    raise unreadable(text, "a verdict")


def _said(verdict: re.Pattern[str], words: Mapping[str, str], text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the verdicts in each kind of place, the most certain kind first."""
    values = [*map(folded, json_verdicts(text, with_correct=True))]
    yield JSON, [said for value in values for said in _in_value(verdict, words, value)]
    yield LINE, [words[word] for line in text.splitlines() if (word := _bare(line)) in words]
    yield OPENING, [words[word]] if (word := _opening(text)) in words and not verdict.fullmatch(word) else []
    yield ANYWHERE, _in_sentence(verdict, words, folded(text))


def _in_value(verdict: re.Pattern[str], words: Mapping[str, str], value: str) -> list[str]:
    word = _bit_or_word(plain(value))
    return [words[word]] if word in words else _in_sentence(verdict, words, value)


def _opening(text: str) -> str:
    """Return the first word of a one-line answer ("はい、正しいです。") in lower case. Return an empty text if it is
    not set off from the rest, or depends on it.
    """
    opened = _OPENING.fullmatch(folded(text))
    if opened is None or is_conditional(opened["rest"]) or opened["word"].lower() in _NOT_AN_OPENING:
        return ""
    return opened["word"].lower()


def _in_sentence(verdict: re.Pattern[str], words: Mapping[str, str], text: str) -> list[str]:
    return [_of_claim(match, words) for match in claims(verdict, text)]


def _of_claim(match: re.Match[str], words: Mapping[str, str]) -> str:
    said = words[match["word"].lower()]
    if match.groupdict().get("negated"):
        return "no" if said == "yes" else "yes"
    return said


def _bare(line: str) -> str:
    """Return the verdict of a line with nothing else but markup and a name, in lower case. Return an empty text if the
    line contains more, or the name is that of something else ("Reference answer: no").
    """
    following = marked(line)
    if following is not None:
        return _bit_or_word(plain(following))
    said = plain(line)
    named = _NAMED.fullmatch(said) if len(said) <= _LONGEST_LINE else None
    if named is None or (named["name"] and names_something_else(named["name"])):
        return ""
    return _bit_or_word(named["verdict"])


def _bit_or_word(text: str) -> str:
    return _WHOLE_BIT.sub(r"\1", text).lower()
