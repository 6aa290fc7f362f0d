"""Reading of the option letter that an answer chooses, by published rules: one family with a named variant for each.

The variants look for letters in the usual forms of answers (``(A)``, ``A.``, "the answer is A"). They differ in the
forms that count, in their order, and in the mention that wins. Scores depend on this, so each variant stays as its
benchmark publishes it. The tasks of the MMMU family share one procedure: a sequence of forms, and the first one that
occurs counts. They differ in its steps and in the result if no form occurs.

The rules of VLMEvalKit's ``can_infer`` are part of the table format.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from polymeter.metrics.bounded import bounded

CHOOSE = "Please select the correct answer from the options above. \n"
_LETTERS = "ABCDEFGH"
_MARKS = (",", ".", "!", "?", ";", ":", "'")
_MARKS_AND_QUOTES = (*_MARKS, '"')
_JAPANESE_MARKS = (*_MARKS, "、", "。", "！", "？", "；", "：")
_JAPANESE = r"[\u3040-\u30FF\u4E00-\u9FFF]"
_FULL_WIDTH = {ord("Ａ") + number: ord("A") + number for number in range(26)}

# The reliability of each form of a mention; in a form, @ stands for the letter.
_START = 10
_END = 9
_NUMBERED = 8
_PHRASE = 7
_ANYWHERE = 0
_SHAPES = (("(@)", 6), ("@.", 5), ("@:", 4), ("@)", 3), ("@ ", 2))
_MORE_SHAPES = (*_SHAPES, ("@-", 1), ("@_", 1), ("@=", 1))
_PHRASE_BEFORE = re.compile(
    r"(?:the )?(?:correct |best )?answer|(?:the )?(?:correct )?(?:option|choice) is"
    r"|my (?:answer|choice) is|i (?:choose|select|pick)"
)
_MARKER = re.compile(r"(?i:answer)\s*[:：]\s*[*(\[]*([A-Z])\b")
_OPTION_LINE = re.compile(r"\s*(?:[-*・>•]\s*)?[A-Z][.)、。：:]", re.IGNORECASE)
_ANNOUNCED = re.compile(
    r"(?:answer|final|correct|solution|ans|正解(?:は)?|答え(?:は)?|解答(?:は)?)\s*[:：]?\s*[【\[(】*_-]*([A-Z])[】\])*_-]*\b",
    re.IGNORECASE,
)
_MARKED_LETTER = re.compile(r"[【\[(*]*([A-Z])[】\])*]*\b", re.IGNORECASE)
_MANY_WORDS = 5


def lettered_options(options: Mapping[str, str]) -> str:
    """Return the options by their letters, each on a line, and the instruction to choose, in VLMEvalKit's words."""
    lines = "".join(f"{letter}. {text}\n" for letter, text in options.items())
    return f"Options:\n{lines}{CHOOSE}"


@bounded
def extract_mcq_answer(response: str, choices: Sequence[str] | None = None) -> str:
    """Return the letter that an answer chooses; the empty string if none is mentioned.

    Forms are preferred in this order: a letter that begins or ends the text, one after a phrase such as "the answer
    is", ``(A)``, ``A.``, ``A:``, ``A)``, ``A`` and a space, and finally a letter anywhere. Of several letters in one
    form, the last one counts.

    Args:
        response: The answer, without reasoning.
        choices: The letters that count; A to H by default.
    """
    if not response or not response.strip():
        return ""
    letters = list(choices or _LETTERS)
    text = _stripped(response.strip(), _MARKS_AND_QUOTES)
    mentions = list(_mentions(text, letters)) or list(_shaped(text, letters, [("@", _ANYWHERE)]))
    return max(mentions, key=lambda mention: (mention.rank, mention.position)).letter if mentions else ""


@bounded
def parse_mcq(predict_str: str) -> str:
    """Return the letter A to H that a text chooses: one that begins the text, ends it, is numbered, follows "the
    answer", or is in a usual form. Of several in one form, the first counts. Return the empty string if none is
    mentioned.
    """
    if not predict_str or not predict_str.strip():
        return ""
    text = _stripped(predict_str.strip(), _MARKS_AND_QUOTES)
    mentions = list(_mentions_with_numbers(text)) or list(_shaped(text, _LETTERS, [("@", _ANYWHERE)]))
    return max(mentions, key=lambda mention: (mention.rank, -mention.position)).letter if mentions else ""


def get_multi_choice_info(options: Sequence[str], start_chr: str = "A") -> tuple[dict[str, str], list[str]]:
    """Return the options by their letters, and the letters."""
    letters = [chr(ord(start_chr) + number) for number in range(len(options))]
    return dict(zip(letters, options, strict=True)), letters


@bounded
def parse_mmmu_multi_choice_response(response: str, all_choices: Sequence[str], index2ans: Mapping[str, str]) -> str:
    """Apply MMMU's rules: the last ``Answer: X``, else the first form that occurs, else the empty string."""
    announced = [letter for letter in _MARKER.findall(response) if letter in all_choices]
    if announced:
        return str(announced[-1])
    text = _stripped(response, _MARKS)
    letters = [letter for letter in all_choices if f"({letter})" in text]
    if letters:
        return _last(text, letters, "(@)")
    letters = _with(text, all_choices, "@ ") or _with(text, all_choices, "@.")
    return _last(text, letters, " @ ") if letters else _by_text(text, index2ans) or ""


def parse_jmmmu_multi_choice_response(response: str, all_choices: Sequence[str], index2ans: Mapping[str, str]) -> str:
    """Apply JMMMU's rules: the first form that occurs, with Japanese marks and neighbours, else a random letter."""
    text = _stripped(response, _JAPANESE_MARKS)
    letters = _with(text, all_choices, "(@)")
    if letters:
        return _last(text, letters, "(@)")
    letters = (
        _with(text, all_choices, "@ ")
        or [letter for letter in all_choices if re.search(f"{_JAPANESE}{letter}{_JAPANESE}", text)]
        or _with(text, all_choices, "@.")
    )
    if letters:
        return _last(text, letters, " @ ")
    return _by_text(text, index2ans) or random.choice(all_choices)


@bounded
def parse_videommmu_multi_choice_response(
    response: str, all_choices: Sequence[str], index2ans: Mapping[str, str]
) -> str:
    """Apply Video-MMMU's rules: ``A.`` and ``A:`` before the other forms. An empty response counts as a failed
    request.
    """
    if response in ("API Error", ""):
        return "API Error"
    text = _stripped(response, _MARKS)
    dotted, with_colon = _with(text, all_choices, "@."), _with(text, all_choices, "@:")
    if dotted or with_colon:
        return _last(text, [*dotted, *with_colon], "@." if dotted else "@:")
    letters = _with(text, all_choices, "(@)")
    if letters:
        return _last(text, letters, "(@)")
    letters = _with(text, all_choices, "@ ")
    return _last(text, letters, " @ ") if letters else _by_text(text, index2ans) or "No Answer Found."


@bounded
def parse_jmmmu_pro_multi_choice_response(response: str, all_choices: Sequence[str]) -> str:
    """Apply JMMMU-Pro's rules: a letter that the first line, else any line, announces; else the last one outside option
    lines; else X.
    """
    lines = [line.strip() for line in (response or "").translate(_FULL_WIDTH).splitlines() if line.strip()]
    if not lines:
        return "X"
    announced = _ANNOUNCED.search(lines[0]) or _ANNOUNCED.search(response.translate(_FULL_WIDTH))
    if announced:
        letter = announced.group(1)
    else:
        marked = [mark for line in lines if not _OPTION_LINE.match(line) for mark in _MARKED_LETTER.findall(line)]
        letter = marked[-1] if marked else "X"
    return letter.upper() if letter.upper() in all_choices else "X"


class _Mention(NamedTuple):
    """A letter, its position, and the reliability of its form (higher is more reliable)."""

    letter: str
    position: int
    rank: int


def _stripped(text: str, marks: Iterable[str]) -> str:
    """Return the text between two spaces, without marks around it, which are removed one kind after the other."""
    for mark in marks:
        text = text.strip(mark)
    return f" {text} "


def _shaped(text: str, letters: Sequence[str], shapes: Iterable[tuple[str, int]]) -> Iterator[_Mention]:
    """Yield the last mention of each letter in each form; in a form, ``@`` stands for the letter."""
    for shape, rank in shapes:
        for letter in letters:
            position = text.rfind(shape.replace("@", letter))
            if position >= 0:
                yield _Mention(letter, position, rank)


def _after(text: str, letters: Sequence[str], start: int, rank: int) -> Iterator[_Mention]:
    """Yield the first mention of each letter from a position on, in any form."""
    for letter in letters:
        position = text.find(letter, start)
        if position >= 0:
            yield _Mention(letter, position, rank)


def _phrases() -> Iterator[str]:
    """Yield the phrases that announce an answer."""
    for subject, adjectives in (
        ("answer", ("", "correct ", "best ")),
        ("option", ("correct ", "best ")),
        ("choice", ("", "correct ")),
    ):
        for article, adjective in product(("the ", ""), adjectives):
            yield f"{article}{adjective}{subject} is"
    yield from ("i choose", "i select", "i pick", "my answer is", "my choice is")
    yield from ("옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは")


def _mentions(text: str, letters: Sequence[str]) -> Iterator[_Mention]:
    yield from _shaped(text, letters, _SHAPES)
    folded = text.lower()
    for phrase in _PHRASES:
        position = folded.find(phrase)
        if position >= 0:
            yield from _after(text, letters, position + len(phrase), _PHRASE)
    core = text.strip()
    for letter in letters:
        if core.startswith(letter) and not core[1:2].isalpha():
            yield _Mention(letter, 0, _START)
        if core.endswith(letter) and not core[-2:-1].isalpha():
            yield _Mention(letter, len(text) - 1, _END)


def _mentions_with_numbers(text: str) -> Iterator[_Mention]:
    yield from _shaped(text, _LETTERS, _MORE_SHAPES)
    announced = _PHRASE_BEFORE.search(text.lower())
    if announced:
        yield from _after(text, _LETTERS, announced.start(), _PHRASE)
    core = text.strip()
    for number, letter in enumerate(_LETTERS, 1):
        if core.startswith(letter):
            yield _Mention(letter, 0, _START)
        if core.endswith(letter):
            yield _Mention(letter, len(text) - 1, _END)
        yield from _shaped(text, letter, [(f"{number}. @", _NUMBERED)])


def _with(text: str, letters: Sequence[str], shape: str) -> list[str]:
    return [letter for letter in letters if shape.replace("@", letter) in text]


def _last(text: str, letters: Sequence[str], shape: str) -> str:
    """Return, of several letters, the one that occurs last in a form, or the first letter if none occurs in that
    form.
    """
    return max(letters, key=lambda letter: text.rfind(shape.replace("@", letter)))


def _by_text(text: str, index2ans: Mapping[str, str]) -> str | None:
    """Return the letter of the option that comes last in a text of more than five words."""
    if len(text.split()) <= _MANY_WORDS:
        return None
    folded = text.lower()
    letters = [letter for letter, option in index2ans.items() if option.lower() in folded]
    return max(letters, key=lambda letter: folded.rfind(index2ans[letter].lower())) if letters else None


_PHRASES = tuple(_phrases())
