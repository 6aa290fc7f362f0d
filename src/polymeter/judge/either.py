"""Reading which of two verdicts a judge gave: 1 or 0, yes or no, right or wrong.

The surest place counts: JSON, then lines that are nothing but a verdict, then the first word of an answer of one line,
then a sentence that says it (``claims``; English only, since in other languages the words are too common). If the place
shows both verdicts, there is none.
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
# A line that is nothing but a verdict, perhaps marked up, perhaps with a name in front: "**Score: 1**".
_NAMED = re.compile(r"[^\w-]*(?:(?P<name>[\w ]{1,30}?)\s*[:=][^\w-]*)?(?P<verdict>\w[\w. ]{0,30}?)\W*")
_LONGEST_LINE = 100
"""Characters of a line that may be a name and a verdict."""
_BITS = {"0": "0", "1": "1"}
_WHOLE_BIT = re.compile(r"([01])\.0+")
_RIGHT_OR_WRONG = {word: "yes" if is_right else "no" for word, is_right in CORRECTNESS.items()}
_NOT_AN_OPENING = frozenset(("certo",))  # as the first word, "of course"
_OPENING = re.compile(r"\W*(?P<word>\w+)\s*[,.!:;，。、！：；،؛—–]\s*(?P<rest>.*)")


@bounded
def bit(text: str) -> tuple[str, str]:
    """The 1 or 0, as text, that an answer gives, and its rule."""
    return _sole(_BIT, _BITS, text)


@bounded
def yes_no(text: str) -> tuple[str, str]:
    """The ``yes`` or ``no`` that an answer gives, and its rule."""
    return _sole(_YES_OR_NO, YES_NO, text)


@bounded
def correctness(text: str) -> tuple[bool, str]:
    """Whether an answer calls another one right, and its rule."""
    value, rule = _sole(_CORRECT_OR_NOT, _RIGHT_OR_WRONG, text)
    return value == "yes", rule


def _sole(verdict: re.Pattern[str], words: Mapping[str, str], text: str) -> tuple[str, str]:
    """The only verdict, and its rule: of JSON objects, else from the lines that are nothing but one, else the first
    word of the answer, else from the whole text.

    Args:
        verdict: A pattern of the English words, which may stand within a sentence.
        words: The words of all languages, in lower case, each with what it says.
        text: The judge's answer.
    """
    for rule, found in _said(verdict, words, text):
        if found:
            return the_only(((value, rule) for value in found), text, "a verdict")
    raise unreadable(text, "a verdict")


def _said(verdict: re.Pattern[str], words: Mapping[str, str], text: str) -> Iterator[tuple[str, list[str]]]:
    """What stands in each kind of place, the surest first."""
    values = [*map(folded, json_verdicts(text, with_correct=True))]
    yield JSON, [said for value in values for said in _in_value(verdict, words, value)]
    yield LINE, [words[word] for line in text.splitlines() if (word := _bare(line)) in words]
    yield OPENING, [words[word]] if (word := _opening(text)) in words and not verdict.fullmatch(word) else []
    yield ANYWHERE, _in_sentence(verdict, words, folded(text))


def _in_value(verdict: re.Pattern[str], words: Mapping[str, str], value: str) -> list[str]:
    word = _bit_or_word(plain(value))
    return [words[word]] if word in words else _in_sentence(verdict, words, value)


def _opening(text: str) -> str:
    """The first word of an answer of one line ("はい、正しいです。"), in lower case, if it is set off from the rest and
    does not depend on it; else empty.
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
    """The verdict that a line consists of, in lower case, apart from markup and a name in front; empty if it is more,
    or if its name is that of something else ("Reference answer: no").
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
