"""Stand-in for ``lmms_eval.tasks._task_utils.mcq_extract``: the letter of a choice out of free text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from polymeter.interop.lmms_eval.shim.lmms_eval.tasks._task_utils._mentions import (
    LETTERS,
    Mention,
    after,
    shaped,
    stripped,
)

_MARKS = (",", ".", "!", "?", ";", ":", "'", '"')
_SHAPES = (("(@)", 6), ("@.", 5), ("@:", 4), ("@)", 3), ("@ ", 2))
_START, _END, _PHRASE, _ANYWHERE = 10, 9, 7, 0


def _phrases() -> Iterator[str]:
    """What announces an answer."""
    for subject, adjectives in (
        ("answer", ("", "correct ", "best ")),
        ("option", ("correct ", "best ")),
        ("choice", ("", "correct ")),
    ):
        for article, adjective in product(("the ", ""), adjectives):
            yield f"{article}{adjective}{subject} is"
    yield from ("i choose", "i select", "i pick", "my answer is", "my choice is")
    yield from ("옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは")


_PHRASES = tuple(_phrases())


def extract_mcq_answer(response: str, choices: Sequence[str] | None = None) -> str:
    """The letter that an answer chooses; the empty string when none is mentioned.

    Forms are preferred in this order: a letter that begins or ends the text, one after a phrase such as "the answer
    is", ``(A)``, ``A.``, ``A:``, ``A)``, ``A`` and a blank, and if none of these occurs a letter anywhere. Of several
    of one form the last one counts.

    Args:
        response: The answer, without reasoning.
        choices: The letters that count; A to H unless given.
    """
    if not response or not response.strip():
        return ""
    letters = list(choices or LETTERS)
    text = stripped(response.strip(), _MARKS)
    found = list(_mentions(text, letters)) or list(shaped(text, letters, [("@", _ANYWHERE)]))
    return max(found, key=lambda mention: (mention.rank, mention.position)).letter if found else ""


def _mentions(text: str, letters: Sequence[str]) -> Iterator[Mention]:
    yield from shaped(text, letters, _SHAPES)
    folded = text.lower()
    for phrase in _PHRASES:
        place = folded.find(phrase)
        if place >= 0:
            yield from after(text, letters, place + len(phrase), _PHRASE)
    core = text.strip()
    for letter in letters:
        if core.startswith(letter) and not core[1:2].isalpha():
            yield Mention(letter, 0, _START)
        if core.endswith(letter) and not core[-2:-1].isalpha():
            yield Mention(letter, len(text) - 1, _END)
