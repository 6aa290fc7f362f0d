"""Comparison of answers to questions about images, by the rules of the VQA challenge (Antol et al. 2015), and of
numbers read from charts (Methani et al. 2020).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from polymeter.core.metric import Metric
from polymeter.metrics.references import one_prediction

Number = TypeVar("Number", float, Fraction)

# Each of these is also recognised without one of its apostrophes.
_CONTRACTIONS = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've he's
how'd how'll how's I'd've I'm I've isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've needn't
not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've there're
there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's what've
when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't
wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've
"""
_NUMBERS = "zero one two three four five six seven eight nine ten"
_MOST_STOPS = 32  # the original passes re.UNICODE, which is 32, as the number of replacements


def _contractions() -> dict[str, str]:
    contractions = {
        word[:position] + word[position + 1 :]: word
        for word in _CONTRACTIONS.split()
        for position, character in enumerate(word)
        if character == "'"
    }
    # The original's table has these three in this form; the last one contains an error.
    return {**contractions, "let's": "let's", "she's": "she's", "somebody'd": "somebodyd"}


class EvalAIAnswerProcessor:
    """A normaliser of answers: lower case, no articles, number words as digits, contractions with their apostrophes,
    and punctuation removed or replaced by spaces.
    """

    CONTRACTIONS: ClassVar[dict[str, str]] = _contractions()
    NUMBER_MAP: ClassVar[dict[str, str]] = {
        "none": "0",
        **{word: str(number) for number, word in enumerate(_NUMBERS.split())},
    }
    ARTICLES: ClassVar[list[str]] = ["a", "an", "the"]
    PERIOD_STRIP: ClassVar[re.Pattern[str]] = re.compile(r"\.(?!\d)")
    COMMA_STRIP: ClassVar[re.Pattern[str]] = re.compile(r"(?<=\d),+(?=\d)")
    PUNCTUATIONS: ClassVar[list[str]] = list(';/[]"{}()=+\\_-><@`,?!')

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Accept any arguments, as the original does, and ignore them."""

    def word_tokenize(self, word: str) -> str:
        return word.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip()

    def process_punctuation(self, in_text: str) -> str:
        """Remove punctuation beside a space, or all punctuation if the text has commas between digits; replace the rest
        by spaces.
        """
        if in_text.isalnum():
            return in_text
        has_commas = self.COMMA_STRIP.search(in_text) is not None
        out = in_text
        for mark in self.PUNCTUATIONS:
            if mark not in in_text:
                continue
            is_beside_space = f"{mark} " in in_text or f" {mark}" in in_text
            out = out.replace(mark, "" if is_beside_space or has_commas else " ")
        return self.PERIOD_STRIP.sub("", out, count=_MOST_STOPS)

    def process_digit_article(self, in_text: str) -> str:
        words = (self.NUMBER_MAP.get(word, word) for word in in_text.lower().split())
        return " ".join(self.CONTRACTIONS.get(word, word) for word in words if word not in self.ARTICLES)

    def __call__(self, item: str) -> str:
        text = self.word_tokenize(item).replace("\n", " ").replace("\t", " ").strip()
        return self.process_digit_article(self.process_punctuation(text))


def vqa_accuracy(references: Sequence[str], predictions: Sequence[str]) -> float:
    """Compute the VQA challenge's accuracy: ``min(matches / 3, 1)``, averaged over leaving out each annotator in turn.

    Args:
        references: The annotators' answers; ten in the challenge.
        predictions: The answer.

    Returns:
        0 to 1. With fewer than four references it stays below 1 even for a perfect answer.
    """
    normalise = EvalAIAnswerProcessor()
    expected, answer = [normalise(text) for text in references], normalise(predictions[0])
    matches = sum(text == answer for text in expected)
    # Each annotator's answer is left out once, and the prediction is compared with those of the others.
    of_others = (matches - 1 if text == answer else matches for text in expected)
    return math.fsum(min(n / 3, 1.0) for n in of_others) / len(expected)


def vqa_match(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    """Return 1 if the answer equals a reference after the VQA challenge's normalisation of both, else 0.

    The normalisation removes articles and most signs and turns number words into digits, so ``A`` equals an empty
    answer, ``5`` equals ``-5`` and ``C`` equals ``C++``. It is meant for answers that are English words.
    """
    normalise = EvalAIAnswerProcessor()
    answer = normalise(str(one_prediction(references, predictions)))
    return float(any(normalise(str(text)) == answer for text in references))


def normalised_answer(prediction: Any) -> str:
    """Return an answer as ``vqa_match`` compares it."""
    return EvalAIAnswerProcessor()(str(prediction))


def relaxed_match(references: Sequence[str], predictions: Sequence[str], tolerance: float = 0.05) -> float:
    """Return 1 if the answer is a number within 5 % of a numeric reference, or equals the reference apart from case,
    else 0.

    This is the rule of ChartQA (Masry et al. 2022, section 5.1). ``12%`` is 0.12. A reference of 0 must match as text.
    """
    return float(any(_is_near(reference, predictions[0], tolerance) for reference in references))


def is_near_number(expected: Number, actual: Number, tolerance: Number) -> bool:
    """Check whether a number is within a relative tolerance of another."""
    return bool(abs(actual - expected) <= tolerance * abs(expected))


def _is_near(reference: str, answer: str, tolerance: float) -> bool:
    expected, actual = _as_number(reference), _as_number(answer)
    if expected and actual is not None:
        return is_near_number(expected, actual, tolerance)
    return reference.strip().lower() == answer.strip().lower()


def _as_number(text: str) -> float | None:
    stripped = text.strip()
    try:
        number = float(stripped.rstrip("%")) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


VQA_MATCH = Metric(
    "vqa_match",
    score=vqa_match,
    values={"generate_until": "1 if equal after the VQA challenge's normalisation"},
    bounds=(0.0, 1.0),
    extract=normalised_answer,
)
