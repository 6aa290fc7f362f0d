"""Comparison of two answers to one prompt: the question to the judge, and the outcome of its verdicts in both orders.

Judges prefer the answer that they see first, or last. Each pair is therefore judged twice, with the answers exchanged.
If the verdicts contradict each other, the pair counts as a tie (Zheng et al. 2023, *Judging LLM-as-a-Judge with
MT-Bench and Chatbot Arena*, section 3.4).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polymeter.core.content import Image, Part, Text
from polymeter.core.identity import fingerprint
from polymeter.core.request import Message
from polymeter.judge.forms import TIES
from polymeter.judge.prompts import PAIR_PROMPT, PAIR_RUBRIC, prompt_version
from polymeter.judge.verdict import read_grade

Verdict = Literal["A", "B", "TIE"]
_GRADES: dict[str, Verdict] = {"A": "A", "B": "B", "TIE": "TIE"}
_WORDS = dict.fromkeys(TIES, "TIE")
_GOT: dict[Verdict, float] = {"A": 1.0, "TIE": 0.5, "B": 0.0}
_FIELDS = re.compile(r"\{(prompt|a|b|rubric|mark)\}")
_TAGS = {"prompt": "prompt", "a": "answer_A", "b": "answer_B"}
_MARK_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Preference:
    """The outcome of two verdicts on one pair.

    Attributes:
        got: The points of the first answer: 1 if both verdicts prefer it, 0 if both prefer the second, else 0.5.
        is_consistent: Whether both verdicts prefer the same answer.
        first_shown: The share of the two verdicts for the answer that was shown first, with a tie as half a verdict:
            0.5 if they are consistent.
    """

    got: float
    is_consistent: bool
    first_shown: float


def pair_messages(
    prompt: Sequence[Part], a: Sequence[Part], b: Sequence[Part], rubric: str = PAIR_RUBRIC
) -> tuple[Message, ...]:
    """Return the question to the judge: which of two answers is better?

    The tags around prompt and answers end in a mark that depends on their text, so no answer can close its own tag.

    Args:
        prompt: The prompt of both models: texts and images.
        a: The first answer.
        b: The second answer.
        rubric: The criteria for a better answer.
    """
    shown = {"prompt": prompt, "a": a, "b": b}
    mark = fingerprint([[_part_mark(part) for part in shown[name]] for name in sorted(shown)])[:_MARK_LENGTH]
    parts: list[Part] = []
    texts: list[str] = []

    def end_text() -> None:
        if text := "".join(texts):
            parts.append(Text(text))
        texts.clear()

    for number, piece in enumerate(_FIELDS.split(PAIR_PROMPT)):
        if number % 2 == 0:
            texts.append(piece)
        elif piece in ("rubric", "mark"):
            texts.append(rubric.strip() if piece == "rubric" else mark)
        else:
            texts.append(f"<{_TAGS[piece]}_{mark}>\n")
            for part in shown[piece]:
                if isinstance(part, Text):
                    texts.append(part.text)
                else:
                    end_text()
                    parts.append(part)
            texts.append(f"\n</{_TAGS[piece]}_{mark}>")
    end_text()
    return (Message("user", tuple(parts)),)


def pair_prompt_version(rubric: str = PAIR_RUBRIC) -> str:
    """Return a digest of the question's wording, which is stored with every request."""
    return prompt_version(PAIR_PROMPT, rubric)


def read_preference(text: str | None) -> Verdict:
    """Read a judge's verdict on a pair.

    Raises:
        UnscoredError: if the places that count hold no verdict, or different ones.
    """
    return _GRADES[read_grade(text, _GRADES, words=_WORDS)]


def preference(in_order: Verdict, exchanged: Verdict) -> Preference:
    """Return the outcome of the verdicts in both orders.

    Args:
        in_order: The verdict that was given with the first answer as A.
        exchanged: The verdict that was given with the first answer as B.
    """
    one, two = _GOT[in_order], 1 - _GOT[exchanged]
    is_consistent = one == two
    return Preference(one if is_consistent else 0.5, is_consistent, (_GOT[in_order] + _GOT[exchanged]) / 2)


def _part_mark(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    return part.content_hash() if isinstance(part, Image) else part.modality
