"""The option that an answer names, by rules alone: those of VLMEvalKit's ``matching_util``, with the same results.

Each function takes the options as a mapping from letter to text and returns a letter, ``NO_OPTION`` for an answer that
declines to choose, or ``False`` if the rules find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from polymeter.metrics.bounded import bounded

NO_OPTION = "Z"

_FAILED = "Failed to obtain answer via API"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_MARKS = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_LAST_WORDS = 4
_LONGEST = 2
_SEQUENCE = re.compile(r"\b([A-D]{4})\b")
_ORDINALS = ("first|1st|首先|第一步", "second|2nd|其次|第二步", "third|3rd|再次|第三步", "fourth|4th|最后|第四步")
_BY_ORDINAL = tuple(re.compile(rf"(?:{words}).*?([A-D])", re.IGNORECASE) for words in _ORDINALS)
_STEP = re.compile(r"(?:step\s*[\d一二三四]+|步骤\s*[\d一二三四]+|第\s*[\d一二三四]\s*步).*?([A-D])", re.IGNORECASE)
_ORDERED = 4

_ANNOUNCED = re.compile(r"answer\s+is\s+\**([A-D])", re.IGNORECASE)
"""As in the kit: of A to D alone, in any case, and whatever follows, so that "the answer is a dog" names A."""

Inferred = str | Literal[False]


def can_infer_option(answer: str, choices: Mapping[str, Any]) -> Inferred:
    """The option whose letter is a separate word in an answer.

    It must be the only such letter, and its first occurrence must be among the last four words, so that the article of
    "A dog sits on the left" is not taken for an option.

    Args:
        answer: The answer.
        choices: The options; only their letters matter.

    Returns:
        The letter; ``NO_OPTION`` for one of four known refusals and for an answer with the word "Z"; else ``False``.
    """
    if _FAILED in answer:
        return False
    if any(refusal in answer for refusal in _REFUSALS):
        return NO_OPTION
    words = answer.translate(_MARKS).split()
    named = [letter for letter in choices if letter in words]
    if not named and NO_OPTION in words:
        return NO_OPTION
    if len(named) == 1 and words.index(named[0]) >= len(words) - _LAST_WORDS:
        return named[0]
    return False


def announced_option(answer: str, choices: Mapping[str, Any]) -> Inferred:
    """The option whose letter follows "answer is", which counts where ``can_infer_option`` finds none.

    VLMEvalKit has this rule since 2026; ULMEvalKit, and older versions, do not.
    """
    found = None if _FAILED in answer else _ANNOUNCED.search(answer)
    return found[1].upper() if found and found[1].upper() in choices else False


def can_infer_text(answer: str, choices: Mapping[str, Any]) -> Inferred:
    """The option whose text, in lower case, occurs in an answer, if exactly one does.

    An answer more than twice as long as all options together discusses them and names none.
    """
    texts = {letter: str(text).lower() for letter, text in choices.items()}
    folded = answer.lower()
    if len(folded) > _LONGEST * sum(len(str(text)) for text in choices.values()):
        return False
    named = [letter for letter, text in texts.items() if text in folded]
    return named[0] if len(named) == 1 else False


def can_infer(answer: Any, choices: Mapping[str, Any]) -> Inferred:
    """The option that an answer names by its letter, else by its text."""
    return can_infer_option(str(answer), choices) or can_infer_text(str(answer), choices)


@bounded
def can_infer_sequence(answer: str, choices: Mapping[str, Any] | None = None) -> Inferred:
    """The order in which an answer arranges the options A to D.

    Args:
        answer: The answer: four letters as one word, else a letter after each of "first", "second", "third" and
            "fourth", else a letter after each of four numbered steps; English or Chinese, in any case.
        choices: Not used.

    Returns:
        Four different letters such as ``"BACD"``, else ``False``.
    """
    text = answer.upper()
    word = _SEQUENCE.search(text)
    by_ordinal = [match[1] for match in (pattern.search(text) for pattern in _BY_ORDINAL) if match]
    candidates = ([*word[1]] if word else [], _distinct(by_ordinal), _distinct(_STEP.findall(text)[:_ORDERED]))
    for letters in candidates:
        if len(set(letters)) == _ORDERED:
            return "".join(letters)
    return False


def can_infer_lego(answer: Any, question_type: str, choices: Mapping[str, Any]) -> Inferred:
    """For the LEGO puzzles: an order if the question's type is ``sort``, else an option's letter; else by text."""
    text = str(answer)
    by_letter = can_infer_sequence(text, choices) if question_type == "sort" else can_infer_option(text, choices)
    return by_letter or can_infer_text(text, choices)


def _distinct(letters: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(letter.upper() for letter in letters))
